"""Kafka and PostgreSQL of this COMPORTA_HOME: up in order, down in reverse, and how they fare."""

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import psutil
import structlog

from comporta.services import broker, database, ports, processes
from comporta.settings import Settings
from comporta.words.errors import Setup

_log = structlog.get_logger()

# A process that is younger than this and does not answer yet is starting; older, it is degraded.
STARTING_SECONDS = 90
# A line that is asked to end finishes its batch first; to cut it off after this is safe, only slower to make good.
USER_PATIENCE_SECONDS = 60
# Both may be silent, and `status` has to answer within 15 seconds.
EXTERNAL_SECONDS = 5


class State(StrEnum):
    EXTERNAL = "external"
    STARTING = "starting"
    UP = "up"
    DEGRADED = "degraded"
    DOWN = "down"
    FAILED = "failed"


@dataclass(frozen=True)
class Service:
    """How one service fares. `address` may hold a password, so it stays out of its repr."""

    name: str
    state: State
    address: str | None = field(default=None, repr=False)
    # Whether it answered just now.
    answers: bool = False
    pid: int | None = None
    port: int | None = None
    memory_bytes: int | None = None
    since: float | None = None
    note: str | None = None


@dataclass(frozen=True)
class Report:
    kafka: Service
    postgres: Service
    started: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Embedded:
    name: str
    find: Callable[[Path], psutil.Process | None]
    start: Callable[[Settings], None]
    stop: Callable[[Path], bool]


# In the order of their start.
_POSTGRES = _Embedded(database.NAME, database.find, database.start, database.stop)
_KAFKA = _Embedded(broker.NAME, broker.find, broker.start, broker.stop)


def up(settings: Settings) -> Report:
    """Start what is embedded and not running, one after the other. When one fails, those that were started with it are stopped again."""
    started: list[_Embedded] = []
    with _alone(settings.home):
        try:
            for service in _wanted(settings):
                if service.find(settings.home) is None:
                    started.append(service)
                    _start(settings, service)
        except BaseException:
            for service in reversed(started):
                service.stop(settings.home)
            raise
        database.forget_old_logs(settings.home)
        report = status(settings)
    return Report(kafka=report.kafka, postgres=report.postgres, started=tuple(service.name for service in started))


def _wanted(settings: Settings) -> list[_Embedded]:
    return [service for service, external in ((_POSTGRES, settings.postgres.dsn), (_KAFKA, settings.kafka.bootstrap)) if not external]


def _start(settings: Settings, service: _Embedded) -> None:
    if processes.noted(settings.home, service.name):
        _log.warning("found_dead", service=service.name, answer="starting it again")
    begun = time.monotonic()
    _log.info("starting", service=service.name)
    service.start(settings)
    _log.info("started", service=service.name, seconds=round(time.monotonic() - begun, 1))


def down(settings: Settings, *, delete_data: bool = False) -> tuple[str, ...]:
    """Stop what this home started: first whoever uses the embedded services, then these, in reverse. What is external is not touched."""
    home = settings.home
    if not home.exists():
        return ()
    stopped: list[str] = []
    with _alone(home):
        users = [name for name in processes.names(home) if name not in {broker.NAME, database.NAME}] if _wanted(settings) else []
        stopped += [name for name in users if processes.stop(home, name, USER_PATIENCE_SECONDS)]
        for service in (_KAFKA, _POSTGRES):
            if service.stop(home):
                stopped.append(service.name)
                _log.info("stopped", service=service.name)
        if delete_data:
            for place in ("kafka", "postgres", "checkpoints", "spark", "logs"):
                shutil.rmtree(home / place, ignore_errors=True)
    return tuple(stopped)


def status(settings: Settings) -> Report:
    """How both fare, asked of both at once: bounded in time, also when nothing answers."""
    with ThreadPoolExecutor(2) as both:
        kafka, postgres = both.submit(_kafka, settings), both.submit(_postgres, settings)
        return Report(kafka=kafka.result(), postgres=postgres.result())


def _kafka(settings: Settings) -> Service:
    if settings.kafka.bootstrap:
        answers = broker.answers_as_kafka(settings.kafka.bootstrap, EXTERNAL_SECONDS)
        return _external(broker.NAME, settings.kafka.bootstrap, answers=answers)
    port = broker.port(settings.home)
    process = broker.find(settings.home)
    if process is None or port is None:
        return _absent(settings.home, broker.NAME)
    return _present(broker.NAME, process, f"{ports.LOOPBACK}:{port}", port, answers=broker.is_ready(port))


def _postgres(settings: Settings) -> Service:
    if settings.postgres.dsn:
        dsn = settings.postgres.dsn.get_secret_value()
        return _external(database.NAME, dsn, answers=database.answers(dsn, EXTERNAL_SECONDS))
    port = database.port(settings.home)
    process = database.find(settings.home)
    if process is None or port is None:
        return _absent(settings.home, database.NAME)
    address = database.dsn(settings.home, database.WRITER)
    return _present(database.NAME, process, address, port, answers=database.answers(address))


def _external(name: str, address: str, *, answers: bool) -> Service:
    note = None if answers else "it does not answer as it should from here; see: comporta doctor"
    return Service(name=name, state=State.EXTERNAL, address=address, answers=answers, note=note)


def _absent(home: Path, name: str) -> Service:
    if processes.noted(home, name):
        return Service(
            name=name, state=State.FAILED, note=f"its process is gone; start it again with: comporta up, or see: comporta logs {name}"
        )
    return Service(name=name, state=State.DOWN)


def _present(name: str, process: psutil.Process, address: str, port: int, *, answers: bool) -> Service:
    try:
        since, memory = process.create_time(), process.memory_info().rss
    except psutil.Error:
        return Service(name=name, state=State.FAILED, note="its process ended just now")
    young = time.time() - since < STARTING_SECONDS
    state = State.UP if answers else State.STARTING if young else State.DEGRADED
    note = None if answers else f"its process runs but does not answer; see: comporta logs {name}"
    return Service(name, state, address, answers=answers, pid=process.pid, port=port, memory_bytes=memory, since=since, note=note)


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Two `up` or `down` of one home take turns."""
    if home.exists() and os.geteuid() not in {0, home.stat().st_uid}:
        raise Setup("belongs to another user", where=str(home), do="run as that user, or choose another COMPORTA_HOME")
    try:
        (home / "run").mkdir(parents=True, exist_ok=True)
        lock = (home / "run" / "services.lock").open("w")
    except OSError as error:
        raise Setup(f"cannot be written: {error.strerror}", where=str(home), do="set COMPORTA_HOME to a folder of yours") from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
