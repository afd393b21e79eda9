"""The line as a process of this home: its name, its log, what it says of itself, and how it is started in the background."""

import json
import os
import sys
import threading
import time
from pathlib import Path

import psutil

from comporta.services import processes
from comporta.settings import Settings
from comporta.words.errors import ProcessDied

# Spark's JVM takes five seconds, a first fetch of the artifacts a minute.
START_SECONDS = 180.0


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
    deadline, pause = time.monotonic() + START_SECONDS, threading.Event()
    while said(settings).get("pid") != process.pid:
        if processes.has_ended(process) or time.monotonic() > deadline:
            raise ProcessDied("the line did not start", where=str(output), do="read there why")
        pause.wait(0.1)
    return process


def _facts(settings: Settings) -> Path:
    return settings.home / "run" / f"{name(settings)}.json"
