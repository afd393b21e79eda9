"""The demo as a person types it: all of it at once, and afterwards nothing of it left but the data."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from comporta.services import embedded
from comporta.services.addresses import addresses
from comporta.services.embedded import State
from comporta.settings import Settings, load
from support.lines import rows

START_SECONDS = 200
FREE = {"COMPORTA_KAFKA_PORT": "0", "COMPORTA_POSTGRES_PORT": "0"}


@dataclass
class Demo:
    """A running `comporta demo --json` and what it has said so far."""

    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)

    def listen(self) -> None:
        assert self.process.stderr is not None
        self.said.extend(self.process.stderr)

    def wait_for(self, words: str) -> None:
        deadline, pause = time.monotonic() + START_SECONDS, threading.Event()
        while not any(words in line for line in list(self.said)):
            assert self.process.poll() is None, "".join(self.said)
            assert time.monotonic() < deadline, "".join(self.said)
            pause.wait(0.2)

    def end(self) -> dict[str, object]:
        """The document on its stdout, and nothing else is there."""
        assert self.process.stdout is not None
        document = json.loads(self.process.stdout.read())
        self.process.wait(120)
        assert isinstance(document, dict)
        return document


@dataclass
class Place:
    """A home of its own: its Kafka and PostgreSQL take free ports, its page the default one."""

    settings: Settings
    demos: list[Demo] = field(default_factory=list)

    def demo(self, *arguments: str, **more: str) -> Demo:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("COMPORTA_")}
        environ |= {"COMPORTA_HOME": str(self.settings.home), "COMPORTA_SPARK_MASTER": "local[2]"} | FREE | more
        command = [sys.executable, "-m", "comporta.commands.main", "demo", "--json", *arguments]
        demo = Demo(
            subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.settings.home.parent)
        )
        threading.Thread(target=demo.listen, daemon=True).start()
        self.demos.append(demo)
        return demo

    def left(self) -> list[str]:
        """The processes of this home."""
        found = []
        for process in psutil.process_iter(["pid", "cmdline", "environ"]):
            environ, command = process.info["environ"] or {}, process.info["cmdline"] or []
            if environ.get("COMPORTA_HOME") == str(self.settings.home) or any(str(self.settings.home) in word for word in command):
                found.append(" ".join(command[:6]))
        return found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(load(home=tmp_path / "home", environ=FREE))
    yield made
    for demo in made.demos:
        if demo.process.poll() is None:
            demo.process.kill()
    embedded.down(made.settings, delete_data=True)


@pytest.fixture
def page_port_is_taken() -> Iterator[None]:
    """By us, unless somebody else has it already."""
    with socket.socket() as other:
        try:
            other.bind(("127.0.0.1", 8080))
            other.listen()
        except OSError:
            pass
        yield


def read(url: str) -> int:
    with urllib.request.urlopen(url, timeout=20) as answer:  # noqa: S310 - our own page
        return int(answer.status)


@pytest.mark.usefixtures("page_port_is_taken")
def test_the_demo_shows_everything_ends_on_ctrl_c_and_comes_out_even_and_kept_it_goes_on(place: Place) -> None:
    first = place.demo("--for", "10m")
    first.wait_for("The page: http://127.0.0.1:")
    first.wait_for("Port 8080 is taken")
    first.wait_for("transactions/s")
    first.process.send_signal(signal.SIGINT)
    document = first.end()
    assert first.process.returncode == 0, first.said
    assert document["unsent"] == 0
    assert document["lag"] == 0
    assert document["produced"] == document["acknowledged"] == document["transactions"] != 0
    assert document["running"] == []
    assert len(document["next"]) == 3  # type: ignore[arg-type]  # a list
    assert place.left() == []
    judged = document["transactions"]

    # Kept, it goes on; and what was there before is there still, and not counted as its own.
    second = place.demo("--for", "2s", "--keep")
    document = second.end()
    assert second.process.returncode == 0, second.said
    assert document["produced"] == document["transactions"] != 0
    assert sorted(document["running"]) == ["kafka", "line", "page", "postgres"]  # type: ignore[call-overload]  # a list
    at = addresses(place.settings)
    assert rows(at.reader_dsn, "select count(*) from decisions") == [(judged + document["transactions"],)]  # type: ignore[operator]  # numbers
    alerts = rows(at.reader_dsn, "select transaction_id from decisions where alert order by score desc limit 1")
    tops = [alert["transaction_id"] for alert in document["top_alerts"]]  # type: ignore[attr-defined]  # a list of objects
    assert not alerts or tops, "an alert is told with its reasons"
    assert read(str(document["url"])) == 200
    assert (embedded.status(place.settings).kafka.state, embedded.status(place.settings).postgres.state) == (State.UP, State.UP)
    embedded.down(place.settings)
    assert place.left() == []


def test_a_part_that_fails_is_named_with_its_log_and_what_ran_before_runs_on(place: Place) -> None:
    embedded.up(place.settings)
    before = len(place.left())
    demo = place.demo("--for", "10m", COMPORTA_LINE_PACK="no-such-pack")
    document = demo.end()
    assert demo.process.returncode == 71
    error = document["error"]
    assert isinstance(error, dict)
    assert "line has ended: comporta: unknown pack 'no-such-pack'" in error["message"]
    assert str(place.settings.home / "logs" / "line-line.out") in error["message"]
    assert len(place.left()) == before, "only what the demo started was stopped"


@pytest.mark.parametrize(
    ("arguments", "more", "code", "words"),
    [
        (("--for", "soon"), {}, 2, "'soon' is no length of a demo"),
        (("--for", "0s"), {}, 2, "from 1s to 168h"),
        ((), {"COMPORTA_KAFKA_BOOTSTRAP": "broker:9092"}, 3, "services of its own"),
        ((), {"COMPORTA_POSTGRES_DSN": "postgresql://someone@host/db"}, 3, "services of its own"),
    ],
)
def test_what_the_demo_refuses_it_refuses_at_once(
    place: Place, arguments: tuple[str, ...], more: dict[str, str], code: int, words: str
) -> None:
    demo = place.demo(*arguments, **more)
    error = demo.end()["error"]
    assert isinstance(error, dict)
    assert words in error["message"]
    assert demo.process.returncode == code
    assert place.left() == []
