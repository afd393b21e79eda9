"""The processes that a demo is made of: started in order, looked after, stopped in reverse; none is touched that the demo did not start."""

import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from comporta.commands.dashboard import NAME as PAGE
from comporta.commands.dashboard import page_url
from comporta.commands.up import prepare
from comporta.services import artifacts, broker, database, embedded, line_process, ports, processes
from comporta.settings import Settings
from comporta.words.errors import ProcessDied

RATE = 200
# Enough of it that nobody has to wait for an alert.
FRAUD_RATE = 0.05
SIMULATOR = "simulator"
PATIENCE_SECONDS = 60.0


def with_free_ports(settings: Settings) -> tuple[Settings, list[str]]:
    """Where a default port is taken by someone else, any free one; what was chosen by a person stays chosen."""
    moved = []
    for section, label, is_ours in (
        ("kafka", "Kafka", broker.find(settings.home) is not None),
        ("postgres", "PostgreSQL", database.find(settings.home) is not None),
        ("dashboard", "the page", processes.running(settings.home, PAGE) is not None),
    ):
        chosen = getattr(settings, section)
        if settings.origins.get(f"{section}.port") != "default" or is_ours or ports.is_free(chosen.port):
            continue
        who = processes.listener(chosen.port)
        moved.append(f"Port {chosen.port} is taken{f' by {who}' if who else ''}: {label} listens on a free one.")
        settings = settings.model_copy(update={section: chosen.model_copy(update={"port": 0})})
    return settings, moved


@dataclass(frozen=True)
class _Part:
    """What a demo needs alive, how it is found, and where it writes."""

    name: str
    find: Callable[[], psutil.Process | None]
    output: Path


class Parts:
    """The parts of one demo. At the end of the `with` everything that it started is stopped, unless it was told to keep it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stops = ExitStack()
        self._needed: dict[str, _Part] = {}
        self._started: list[str] = []
        self.others: tuple[str, ...] = ()
        self.line_output = settings.home / "logs" / f"{line_process.name(settings)}.out"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        """Nobody who is impatient now may interrupt this: it is bounded, and what was started has to end."""
        before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            self._stops.close()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def start_page(self) -> str:
        """The page's address; whoever comes before its process is ready waits a moment."""
        running = page_url(self._settings)
        if running is not None:
            self.others += ("page",)
            return running
        port = self._settings.dashboard.port or ports.free()
        self._start("page", PAGE, self._settings.home / "logs" / f"{PAGE}.out", "dashboard", "--port", str(port))
        return f"http://{ports.LOOPBACK}:{port}/"

    def start_services(self) -> None:
        """PostgreSQL and Kafka. What the line will need is fetched here as well, where a person sees how much it is."""
        home = self._settings.home
        artifacts.ensure(self._settings.cache, "spark-connectors")
        started = embedded.up(self._settings).started
        if started:
            self._stops.callback(embedded.down, self._settings)
        self._need(_Part(database.NAME, lambda: database.find(home), database.output_file(home)), started=database.NAME in started)
        self._need(_Part(broker.NAME, lambda: broker.find(home), broker.output_file(home)), started=broker.NAME in started)
        prepare(self._settings)

    def start_simulator(self) -> None:
        """Transactions from now on, until it is stopped."""
        processes.stop(self._settings.home, SIMULATOR, PATIENCE_SECONDS)  # one that a killed demo has left
        self._start(
            SIMULATOR, SIMULATOR, self._simulator_output, "simulate", "--rate", str(RATE), "--fraud-rate", str(FRAUD_RATE), "--json"
        )

    def start_line(self) -> None:
        """The line, unless it runs already; it needs a while to begin."""
        if processes.running(self._settings.home, line_process.name(self._settings)) is not None:
            self._need(self._part("line", line_process.name(self._settings), line_process.log(self._settings)), started=False)
        else:
            self._start("line", line_process.name(self._settings), self.line_output, "stream")

    def check(self) -> None:
        """Everything that is needed lives; else which part ended, with its last words and where the others stand."""
        for part in self._needed.values():
            if part.find() is None:
                raise ProcessDied(f"{part.name} has ended{_last_words(part.output)}", where=str(part.output), do="read there why")

    def stop_simulator(self) -> dict[str, Any]:
        """What it has sent, by its own account."""
        del self._needed[SIMULATOR]
        processes.stop(self._settings.home, SIMULATOR, PATIENCE_SECONDS)
        lines = self._simulator_output.read_text("utf-8", errors="replace").splitlines()
        told = [line for line in lines if line.startswith("{")]
        return dict(json.loads(told[-1])) if told else {}

    def keep(self) -> tuple[str, ...]:
        """Leave it all running; says what runs then."""
        self._stops.pop_all()
        return tuple(dict.fromkeys((*self.others, *self._needed)))

    @property
    def _simulator_output(self) -> Path:
        return self._settings.home / "logs" / f"{SIMULATOR}.out"

    def _part(self, label: str, name: str, output: Path) -> _Part:
        return _Part(label, lambda: processes.running(self._settings.home, name), output)

    def _need(self, part: _Part, *, started: bool) -> None:
        self._needed[part.name] = part
        if not started:
            self.others += (part.name,)

    def _start(self, label: str, name: str, output: Path, *arguments: str) -> None:
        home, cache = self._settings.home, self._settings.cache
        environ = os.environ | {"COMPORTA_HOME": str(home), "COMPORTA_CACHE": str(cache), "PYTHONUNBUFFERED": "1"}
        processes.start(home, name, [sys.executable, "-m", "comporta.commands.main", *arguments], output=output, environ=environ)
        self._stops.callback(processes.stop, home, name, PATIENCE_SECONDS)
        self._need(self._part(label, name, output), started=True)


def _last_words(output: Path) -> str:
    try:
        lines = output.read_text("utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    return f": {lines[-1].strip()}" if lines else ""
