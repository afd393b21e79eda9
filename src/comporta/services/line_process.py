"""The line as a process of this home: its name, its log, what it says of itself, and how it is started in the background."""

import json
import os
import sys
import time
from pathlib import Path

import psutil

from comporta.services import processes
from comporta.settings import Settings
from comporta.words.errors import ComportaError, ProcessDied

# Spark's JVM takes five seconds, a first fetch of the artifacts a minute.
START_SECONDS = 180.0
# How every command begins the line that says what went wrong.
SPOKEN = "comporta: "


def name(settings: Settings) -> str:
    """What the line's process is called among those of this home."""
    return f"line-{settings.line.name}"


def log(settings: Settings) -> Path:
    return settings.home / "logs" / f"{name(settings)}.log"


def say(settings: Settings, **facts: object) -> None:
    """Note this process as the line's, with what others may want to know of it."""
    processes.write_pid(settings.home, name(settings))
    processes.write_privately(_facts(settings), json.dumps({"pid": os.getpid()} | facts))


def said(settings: Settings) -> dict[str, object]:
    """What the line has said of itself, if it lives."""
    process = processes.running(settings.home, name(settings))
    facts = processes.read_json(_facts(settings))
    return facts if process is not None and facts.get("pid") == process.pid else {}


def forget(settings: Settings) -> None:
    """The line of this process has ended; what its successor has noted stays."""
    note = processes.noted(settings.home, name(settings))
    if note is not None and note.pid == os.getpid():
        processes.forget(settings.home, name(settings))
        _facts(settings).unlink(missing_ok=True)


def start(settings: Settings) -> psutil.Process:
    """Start `comporta stream` detached, with this process's settings, and wait until it owns its topic."""
    output = settings.home / "logs" / f"{name(settings)}.out"
    command = [sys.executable, "-m", "comporta.commands.main", "stream"]
    environ = os.environ | {"COMPORTA_HOME": str(settings.home), "COMPORTA_CACHE": str(settings.cache)}
    process = processes.start(settings.home, name(settings), command, output=output, environ=environ)
    deadline = time.monotonic() + START_SECONDS
    while said(settings).get("pid") != process.pid:
        if time.monotonic() > deadline:
            processes.stop(settings.home, name(settings), 0)
            raise ProcessDied(f"the line did not own its topic within {START_SECONDS:.0f} s", where=str(output), do="read there why")
        try:
            code = process.wait(timeout=0.1)
        except psutil.TimeoutExpired:
            continue
        raise _why_it_ended(code, output)
    return process


def _why_it_ended(code: int | None, output: Path) -> ComportaError:
    """What the process said last, with the exit code that goes with it."""
    lines = output.read_text(encoding="utf-8", errors="replace").splitlines()
    said_last = next((line.removeprefix(SPOKEN) for line in reversed(lines) if line.startswith(SPOKEN)), None)
    kind = next((kind for kind in ComportaError.__subclasses__() if kind.exit_code == code), None)
    if kind is None or said_last is None:
        return ProcessDied(f"the line ended at once with status {code}", where=str(output), do="read there why")
    return kind(said_last)


def _facts(settings: Settings) -> Path:
    return settings.home / "run" / f"{name(settings)}.json"
