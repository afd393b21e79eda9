"""Our own detached processes: started, found again and stopped by pid and start time, so that a reused pid is never taken for ours."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import psutil

from comporta.words.errors import DamagedState, Setup

# A start is told in ticks of a hundredth of a second.
_SAME_START_SECONDS = 0.05
REAPED_SECONDS = 3
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Note:
    """What a pid file says. Seconds since the boot, and which boot: these stay when somebody sets the clock."""

    pid: int
    create_time: float
    since_boot: float
    boot: str

    @classmethod
    def of(cls, process: psutil.Process) -> "Note":
        created = process.create_time()
        boot = _BOOT.read_text(encoding="ascii").strip() if _BOOT.exists() else ""
        return cls(pid=process.pid, create_time=created, since_boot=created - psutil.boot_time(), boot=boot)


def start(
    home: Path, name: str, command: Sequence[str], *, output: Path, environ: Mapping[str, str], folder: Path | None = None
) -> psutil.Process:
    """Start a process that outlives us, with its output in a file, and note its pid."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as sink:
        child = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=dict(environ),
            cwd=folder,
        )
    child.returncode = 0  # it is not ours to wait for: without this, Popen warns when it is forgotten while alive
    write_pid(home, name, child.pid)
    return psutil.Process(child.pid)


def write_pid(home: Path, name: str, pid: int | None = None) -> None:
    """Note that `pid`, or this process, is NAME of this home."""
    process = psutil.Process(pid)
    path = _pid_file(home, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_privately(path, json.dumps(asdict(Note.of(process))))


def forget(home: Path, name: str) -> None:
    _pid_file(home, name).unlink(missing_ok=True)


def noted(home: Path, name: str) -> Note | None:
    """What the pid file says, be it true or stale; a file cut short by a crash says nothing."""
    try:
        content = json.loads(_pid_file(home, name).read_text(encoding="utf-8"))
        return Note(int(content["pid"]), float(content["create_time"]), float(content["since_boot"]), str(content["boot"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def names(home: Path) -> list[str]:
    """Everything that has a pid file here, youngest first: the order in which to stop."""
    found = {path.stem: noted(home, path.stem) for path in (home / "run").glob("*.pid")}
    created = {name: note.create_time if note else 0.0 for name, note in found.items()}
    return sorted(created, key=lambda name: -created[name])


def running(home: Path, name: str) -> psutil.Process | None:
    """The process NAME of this home, if it lives: the same pid and the same start, and no zombie."""
    note = noted(home, name)
    return alive(note) if note else None


def alive(note: Note) -> psutil.Process | None:
    try:
        process = psutil.Process(note.pid)
        now = Note.of(process)
        same = now.boot == note.boot and abs(now.since_boot - note.since_boot) < _SAME_START_SECONDS
        return process if same and not has_ended(process) else None
    except psutil.Error:
        return None


def has_ended(process: psutil.Process) -> bool:
    """Gone, or a zombie that only waits for its parent to look."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def stop(home: Path, name: str, patience: float, how: signal.Signals = signal.SIGTERM) -> bool:
    """Ask NAME to end, after `patience` seconds end it; True if it was running. Never touches a process that is not ours."""
    process = running(home, name)
    if process is not None:
        _end(process, patience, how)
    forget(home, name)
    return process is not None


def _end(process: psutil.Process, patience: float, how: signal.Signals) -> None:
    send(process, how)
    if _ends_within(process, patience):
        return
    send(process, signal.SIGKILL)
    if not _ends_within(process, patience):
        raise DamagedState(f"pid {process.pid} does not end, not even when killed", do="look at what it waits for: its disk or memory")


def send(process: psutil.Process, how: signal.Signals) -> None:
    """A signal to a process that may have ended by now."""
    try:
        process.send_signal(how)
    except psutil.NoSuchProcess:
        return
    except psutil.AccessDenied:
        raise Setup(f"pid {process.pid} belongs to another user", do="stop it as the user who started it") from None


def _ends_within(process: psutil.Process, seconds: float) -> bool:
    deadline, pause = time.monotonic() + seconds, threading.Event()
    while not has_ended(process):
        if time.monotonic() > deadline:
            return False
        pause.wait(0.02)
    _reap(process.pid)
    # Its entry in the list of processes goes when its parent looks, which after our end is the machine's first process.
    deadline = time.monotonic() + REAPED_SECONDS
    while process.is_running() and time.monotonic() < deadline:
        pause.wait(0.02)
    return True


def _reap(pid: int) -> None:
    """If it was our own child, take note of its end, or it stays a zombie for as long as we live."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def until(ready: Callable[[], bool], process: psutil.Process, seconds: float) -> Literal["ready", "ended", "late"]:
    """Wait until a process that was just started is ready for work, or cannot be any more."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not ready():
        if has_ended(process):
            _reap(process.pid)
            return "ended"
        if time.monotonic() > deadline:
            return "late"
        pause.wait(0.1)
    return "ready"


def tail(path: Path, wanted: Callable[[str], bool]) -> str | None:
    """The last line of a file that is of the wanted kind; what is indented only goes on with the line before it, as a stack trace does."""
    if not path.exists():
        return None
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line for line in reversed(lines) if wanted(line) and not line[:1].isspace()), None)


def inside(folder: Path) -> list[psutil.Process]:
    """The living processes whose current folder this is."""
    return [process for process in psutil.process_iter(["cwd"]) if process.info["cwd"] == str(folder) and not has_ended(process)]


def adopt(home: Path, name: str, arguments: Sequence[str]) -> psutil.Process | None:
    """Find NAME again when its pid file is gone: the process in whose command line `arguments` stand one after another."""
    wanted = list(arguments)
    for process in psutil.process_iter(["cmdline"]):
        line = process.info["cmdline"] or []
        if any(line[at : at + len(wanted)] == wanted for at in range(len(line))) and process.pid != os.getpid():
            write_pid(home, name, process.pid)
            return process
    return None


def listener(port: int) -> str | None:
    """Who listens on a TCP port of this machine, as far as it can be seen."""
    try:
        connections = psutil.net_connections(kind="tcp")
    except psutil.Error:
        return None
    for connection in connections:
        if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port:
            return _describe(connection.pid)
    return None


def _describe(pid: int | None) -> str:
    if pid is None:
        return "another user's process"
    try:
        return f"{psutil.Process(pid).name()}, pid {pid}"
    except psutil.Error:
        return f"pid {pid}"


def write_privately(path: Path, text: str) -> None:
    """Write a small file whole or not at all, for its owner's eyes only."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        raise Setup(
            f"cannot be written: {error.strerror}", where=str(path), do="free the disk or set COMPORTA_HOME to a folder of yours"
        ) from None


def read_json(path: Path) -> dict[str, object]:
    """A small file of ours; nothing when it is not there."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except PermissionError:
        raise Setup(
            "belongs to another user", where=str(path), do="run as the user who started it, or choose another COMPORTA_HOME"
        ) from None
    except (OSError, ValueError) as error:
        raise DamagedState(f"cannot be read: {type(error).__name__}", where=str(path)) from None
    return content if isinstance(content, dict) else {}


def _pid_file(home: Path, name: str) -> Path:
    return home / "run" / f"{name}.pid"
