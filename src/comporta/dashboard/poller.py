"""The one that asks: a thread for the database and one for the log, whoever reads and however many they are."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import structlog

from comporta.dashboard.lags import without_lag
from comporta.dashboard.recent import MARGIN, WINDOW, remember
from comporta.dashboard.snapshot import Ends, Health, Snapshot
from comporta.postgres import page_queries
from comporta.postgres.connections import Connection
from comporta.words.errors import ComportaError, Unreachable

_log = structlog.get_logger()

DATABASE_EVERY = 0.5
LOG_EVERY = 1.0
ALERTS_PER_LEVEL = 30


@dataclass(frozen=True)
class Sources:
    """Where the page looks. Both are asked again after every failure, for a service may come back elsewhere."""

    line: str
    topic: str
    reader_dsn: Callable[[], str]
    ends: Callable[[], Mapping[int, tuple[int, int]]]


class Poller:
    """Holds the newest snapshot and tells `changed` of every new one, from a thread of its own."""

    def __init__(self, sources: Sources, changed: Callable[[], None] = lambda: None) -> None:
        self._sources = sources
        self._changed = changed
        self._snapshot = Snapshot(line=sources.line, topic=sources.topic)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._ask_database, name="page-database", daemon=True),
            threading.Thread(target=self._ask_log, name="page-log", daemon=True),
        ]

    @property
    def snapshot(self) -> Snapshot:
        """What is known now; a value that never changes."""
        return self._snapshot

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ask both threads to end; one that waits for an answer ends with it."""
        self._stop.set()

    def _ask_database(self) -> None:
        while not self._stop.is_set():
            connection: Connection | None = None
            try:
                dsn = self._sources.reader_dsn()
                connection = page_queries.open_reader(dsn)
                while not self._stop.is_set():
                    self._look(connection, dsn)
                    self._stop.wait(DATABASE_EVERY)
            except Exception as error:  # noqa: BLE001 - a page that dies of a surprise helps nobody; it says so and goes on
                self._failed("database", error)
            finally:
                if connection is not None:
                    connection.close()
            self._stop.wait(LOG_EVERY)

    def _look(self, connection: Connection, dsn: str) -> None:
        memory = self._snapshot.memory
        seen = memory.seen if memory else None
        reading = page_queries.look(connection, page_queries.Wanted(dsn, self._sources.line, WINDOW + MARGIN, ALERTS_PER_LEVEL), seen)
        now = time.monotonic()
        with self._lock:
            known = self._snapshot
            known = replace(
                known,
                database=Health(answered_at=now),
                reading=reading,
                read_at=now,
                memory=remember(memory, reading),
                alerts=known.alerts if reading.alerts is None else reading.alerts,
            )
            self._snapshot = replace(known, no_lag_at=without_lag(known, now))
        self._changed()

    def _ask_log(self) -> None:
        while not self._stop.is_set():
            places = self._snapshot.places
            try:
                self._heard(Ends(self._sources.ends(), places))
            except Exception as error:  # noqa: BLE001 - as above
                self._failed("kafka", error)
            self._stop.wait(LOG_EVERY)

    def _heard(self, ends: Ends) -> None:
        now = time.monotonic()
        with self._lock:
            known = replace(self._snapshot, kafka=Health(answered_at=now), ends=ends)
            self._snapshot = replace(known, no_lag_at=without_lag(known, now))
        self._changed()

    def _failed(self, source: str, error: Exception) -> None:
        with self._lock:
            before: Health = getattr(self._snapshot, source)
            if not before.trouble:
                _log.warning(
                    "page_source_failed", source=source, error=str(error) if isinstance(error, ComportaError) else type(error).__name__
                )
            health = _health(before, error)
            self._snapshot = replace(self._snapshot, database=health) if source == "database" else replace(self._snapshot, kafka=health)
        self._changed()


def _health(before: Health, error: Exception) -> Health:
    if isinstance(error, ComportaError):
        return Health(before.answered_at, error.what, refused=not isinstance(error, Unreachable))
    return Health(before.answered_at, f"something that nobody expected ({type(error).__name__})", refused=True)
