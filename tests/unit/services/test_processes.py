"""Processes of ours are told from everybody else's by pid and start."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import psutil
import pytest

from comporta.services import processes
from comporta.services.processes import Note
from comporta.words.errors import Setup

SLEEPER = [sys.executable, "-c", "import threading; threading.Event().wait(60)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, threading; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); threading.Event().wait(60)",
]


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process that is not ours."""
    with subprocess.Popen(SLEEPER) as process:
        yield process
        process.kill()


def begin(home: Path, command: list[str]) -> psutil.Process:
    return processes.start(home, "sleeper", command, output=home / "output.log", environ={"PATH": "/usr/bin:/bin"})


def note_of(home: Path, **changes: object) -> None:
    """Change what the pid file says."""
    found = processes.noted(home, "sleeper")
    assert found is not None
    (home / "run" / "sleeper.pid").write_text(json.dumps(asdict(replace(found, **changes))), encoding="utf-8")  # type: ignore[arg-type]  # by name


def test_a_process_that_was_started_is_found_again_and_stopped(tmp_path: Path) -> None:
    started = begin(tmp_path, SLEEPER)
    found = processes.running(tmp_path, "sleeper")
    assert found is not None
    assert found.pid == started.pid
    assert processes.stop(tmp_path, "sleeper", patience=10)
    assert not psutil.pid_exists(started.pid)
    assert processes.noted(tmp_path, "sleeper") is None
    assert not processes.stop(tmp_path, "sleeper", patience=10)


def test_a_process_that_does_not_listen_is_killed_when_patience_ends(tmp_path: Path) -> None:
    started = begin(tmp_path, STUBBORN)
    assert processes.until(lambda: b"deaf" in (tmp_path / "output.log").read_bytes(), started, 10) == "ready"
    assert processes.stop(tmp_path, "sleeper", patience=0.2)
    assert not psutil.pid_exists(started.pid)


def test_a_killed_process_is_no_longer_running_but_still_noted(tmp_path: Path) -> None:
    started = begin(tmp_path, SLEEPER)
    started.send_signal(signal.SIGKILL)
    assert processes.until(lambda: False, started, 10) == "ended"
    assert processes.running(tmp_path, "sleeper") is None
    assert processes.noted(tmp_path, "sleeper") is not None


@pytest.mark.parametrize("changes", [{"since_boot": 1.0}, {"boot": "another boot"}])
def test_a_reused_pid_is_not_taken_for_ours_and_never_stopped(
    tmp_path: Path, stranger: subprocess.Popen[bytes], changes: dict[str, object]
) -> None:
    processes.write_pid(tmp_path, "sleeper", stranger.pid)
    note_of(tmp_path, **changes)
    assert processes.running(tmp_path, "sleeper") is None
    assert not processes.stop(tmp_path, "sleeper", patience=1)
    assert stranger.poll() is None


def test_a_clock_that_was_set_does_not_hide_a_process(tmp_path: Path, stranger: subprocess.Popen[bytes]) -> None:
    processes.write_pid(tmp_path, "sleeper", stranger.pid)
    note_of(tmp_path, create_time=1.0)
    assert processes.running(tmp_path, "sleeper") is not None


@pytest.mark.parametrize("content", ["", '{"pid": 1', "17", '{"pid": "x"}', "[]"])
def test_a_pid_file_cut_short_by_a_crash_says_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "sleeper.pid").write_text(content, encoding="utf-8")
    assert processes.noted(tmp_path, "sleeper") is None
    assert not processes.stop(tmp_path, "sleeper", patience=1)


def test_a_process_whose_pid_file_is_lost_is_found_by_its_command_line(tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")
    started = begin(tmp_path, [*SLEEPER, "mark", mark])
    processes.forget(tmp_path, "sleeper")
    try:
        assert processes.adopt(tmp_path, "sleeper", ["mark", mark + "s"]) is None
        found = processes.adopt(tmp_path, "sleeper", ["mark", mark])
        assert found is not None
        assert found.pid == started.pid
    finally:
        processes.stop(tmp_path, "sleeper", patience=10)


def test_the_youngest_comes_first(tmp_path: Path) -> None:
    processes.write_pid(tmp_path, "elder", 1)
    processes.write_pid(tmp_path, "younger")
    assert processes.names(tmp_path) == ["younger", "elder"]


def test_a_small_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "secret.json"
    processes.write_privately(path, '{"a": 1}')
    assert path.stat().st_mode & 0o777 == 0o600
    assert processes.read_json(path) == {"a": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["secret.json"]


def test_a_small_file_that_cannot_be_written_is_told_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(Setup, match="cannot be written"):
        processes.write_privately(tmp_path / "none" / "secret.json", "{}")


def test_a_note_tells_this_very_process(tmp_path: Path) -> None:
    processes.write_pid(tmp_path, "me")
    found = processes.noted(tmp_path, "me")
    assert found is not None
    assert abs(found.since_boot - Note.of(psutil.Process()).since_boot) < 0.01
