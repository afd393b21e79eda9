"""One owner per topic and database: an advisory lock for the living, epoch and token for those who wake, and how to take over."""

import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from typing import Self
from uuid import UUID, uuid4

import psycopg
from psycopg.rows import class_row

from comporta.postgres import control
from comporta.postgres.connections import Connection, connect, is_open
from comporta.postgres.control import ControlEvent
from comporta.postgres.failures import place, told
from comporta.words.errors import AnotherOwner, Bug, DataLoss, Setup

# How long a new owner waits for what sessions of the last one still hold, and how long one attempt waits.
# The sessions of a process that was just killed are gone a moment later; those of a host that vanished, after the keepalives.
PATIENCE_SECONDS = 30
ATTEMPT = b"set lock_timeout = '2s'"

OWNER_COLUMNS = (
    """topic_id, topic, line, epoch, token, pid, host, since, backend_pid, backend_start, commit_backend_pid, commit_backend_start"""
)
LEDGER_COLUMNS = "partition, next_offset, epoch, token, clock, last_offset, last_hash, pruned_to, committed_at"


@dataclass(frozen=True)
class LedgerRow:
    """The position of one partition; `clock` is the largest append time seen in it, `last_hash` the fingerprint of the last record committed."""

    partition: int
    next_offset: int
    epoch: int
    token: UUID
    clock: datetime | None
    last_offset: int | None
    last_hash: bytes | None
    pruned_to: datetime | None
    committed_at: datetime


@dataclass(frozen=True)
class OwnerRow:
    """What the database knows of the last owner."""

    topic_id: UUID
    topic: str
    line: str
    epoch: int
    token: UUID
    pid: int
    host: str
    since: datetime
    backend_pid: int
    backend_start: datetime
    commit_backend_pid: int | None
    commit_backend_start: datetime | None

    def __str__(self) -> str:
        return f"pid {self.pid} on {self.host} since {self.since:%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True)
class Owner:
    """The right to write for a topic, as long as its session lives and nobody took over."""

    # It may hold a password.
    dsn: str = field(repr=False)
    topic_id: UUID
    topic: str
    line: str
    epoch: int
    token: UUID
    installation: UUID
    ledger: dict[int, LedgerRow]
    session: Connection = field(repr=False)

    def still_held(self) -> bool:
        """Whether the session lives and has the lock; false is final."""
        try:
            return is_open(self.session) and _holds(self.session, lock_key(self.topic_id))
        except psycopg.Error:
            return False

    def close(self) -> None:
        self.session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def take(writer_dsn: str, topic_id: UUID, topic: str, line: str, *, take_over: bool = False) -> Owner:
    """Become the owner, or say who is. With `take_over` the sessions of the present owner are ended first."""
    session = connect(writer_dsn, owner_session(topic_id))
    try:
        with told(writer_dsn):
            session.execute(ATTEMPT)
            _refuse_pooler(session, writer_dsn)
            _refuse_other_names(session, writer_dsn, topic_id, topic, line)
            _lock(session, writer_dsn, topic_id, take_over=take_over)
            return _enter(session, writer_dsn, topic_id, topic, line, end_stuck=take_over)
    except BaseException:
        session.close()
        raise


def renew(owner: Owner) -> Owner:
    """A new epoch and token for the next start of a query; asked through the session that holds the lock, so a lost lock cannot renew."""
    with told(owner.dsn):
        if not _holds(owner.session, lock_key(owner.topic_id)):
            raise _another(owner.session, owner.dsn, owner.topic_id)
        # Who holds the lock may end a commit session that is stuck: it is one's own, or of somebody who is the owner no longer.
        return _enter(owner.session, owner.dsn, owner.topic_id, owner.topic, owner.line, end_stuck=True)


def start_line(owner: Owner, first_offsets: dict[int, int], control_events: Sequence[ControlEvent]) -> Owner:
    """Write a new line's first positions, and those control events that change something; all of it or nothing."""
    if first_offsets and owner.ledger:
        raise Bug("a line that has a ledger was given first offsets", where=place(owner.dsn))
    with told(owner.dsn), owner.session.transaction():
        row = owner_row(owner.session, owner.topic_id, lock=True)
        if row is None or (row.epoch, row.token) != (owner.epoch, owner.token):
            raise _another(owner.session, owner.dsn, owner.topic_id)
        for partition, offset in sorted(first_offsets.items()):
            owner.session.execute(
                """insert into line_ledger (topic_id, partition, next_offset, epoch, token, committed_at)
                   values (%s, %s, %s, %s, %s, clock_timestamp())""",
                (owner.topic_id, partition, offset, owner.epoch, owner.token),
            )
        control.record_changes(owner.session, owner.topic_id, control_events)
        ledger = ledger_rows(owner.session, owner.topic_id)
    return replace(owner, ledger=ledger)


def ledger_rows(connection: Connection, topic_id: UUID) -> dict[int, LedgerRow]:
    with connection.cursor(row_factory=class_row(LedgerRow)) as cursor:
        cursor.execute(
            f"select {LEDGER_COLUMNS} from line_ledger where topic_id = %s order by partition".encode(),  # noqa: S608 - our own names
            (topic_id,),
        )
        return {row.partition: row for row in cursor.fetchall()}


def owner_row(connection: Connection, topic_id: UUID, *, lock: bool = False) -> OwnerRow | None:
    with connection.cursor(row_factory=class_row(OwnerRow)) as cursor:
        cursor.execute(
            f"select {OWNER_COLUMNS} from line_owner where topic_id = %s {'for update' if lock else ''}".encode(),  # noqa: S608 - our own names
            (topic_id,),
        )
        return cursor.fetchone()


def lock_key(topic_id: UUID) -> int:
    """A signed number of 64 bits, equal for all who mean the same topic; PostgreSQL itself keeps the locks of its databases apart."""
    return int.from_bytes(blake2b(topic_id.bytes, digest_size=8, person=b"comporta owner").digest(), "big", signed=True)


def owner_session(topic_id: UUID) -> str:
    """The application name of the session that holds the lock."""
    return f"comporta owner {topic_id}"


def commit_session(topic_id: UUID) -> str:
    """The application name of the session that commits."""
    return f"comporta commit {topic_id}"


# PostgreSQL shows a 64-bit advisory lock as two unsigned halves.
HOLDERS = """select pid from pg_locks where locktype = 'advisory' and granted and objsubid = 1
             and database = (select oid from pg_database where datname = current_database())
             and classid::bigint = (%(key)s::bigint >> 32) & 4294967295 and objid::bigint = %(key)s::bigint & 4294967295"""

# Whoever holds the lock; the sessions in the owner row, unless their pid is someone else's by now; and sessions that bear the line's name
# and had no time yet to be written there. Only those of our own role: a name can be borrowed, and another's session is not ours to end.
END_SESSIONS = f"""
select pg_terminate_backend(pid, 5000) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and (
    pid in ({HOLDERS})
    or (pid, backend_start) in (
        select backend_pid, line_owner.backend_start from line_owner where topic_id = %(topic_id)s
        union all
        select commit_backend_pid, commit_backend_start from line_owner where topic_id = %(topic_id)s
    )
    or (usename = current_user and application_name = any(%(names)s))
)"""  # noqa: S608 - our own names


def holder(connection: Connection, topic_id: UUID) -> int | None:
    """The backend that holds the lock now, so: whether a line is alive."""
    found = connection.execute(HOLDERS, {"key": lock_key(topic_id)}).fetchone()
    return int(found[0]) if found else None


def _holds(session: Connection, key: int) -> bool:
    found = session.execute(HOLDERS + " and pid = pg_backend_pid()", {"key": key}).fetchone()
    return found is not None


def _refuse_pooler(session: Connection, dsn: str) -> None:
    """A transaction pooler lends one backend to whoever speaks next: it shows when a second connection holds a transaction open."""
    first = _backend(session)
    with connect(dsn, "comporta owner", autocommit=False) as second:
        shared = _backend(second) == first
        if shared or _backend(session) != first:
            raise Setup(
                "a transaction pooler stands before PostgreSQL, and the line's lock needs a session of its own",
                where=place(dsn),
                do="give postgres.dsn the address of PostgreSQL itself, or of a pool in session mode",
            )


def _backend(connection: Connection) -> int:
    row = connection.execute("select pg_backend_pid()").fetchone()
    return int(row[0]) if row else 0


def _refuse_other_names(session: Connection, dsn: str, topic_id: UUID, topic: str, line: str) -> None:
    found = session.execute(
        "select topic_id, topic, line from line_owner where topic_id = %s or topic = %s or line = %s", (topic_id, topic, line)
    ).fetchall()
    for known_id, known_topic, known_line in found:
        if known_id == topic_id and known_line != line:
            raise Setup(
                f"topic {topic} ({topic_id}) belongs to the line {known_line!r} in this database",
                where=place(dsn),
                do=f"set line.name = {known_line!r}, or give the line {line!r} a database of its own",
            )
        if known_id != topic_id and known_topic == topic:
            raise DataLoss(
                f"topic {topic} now has the id {topic_id}, the ledger was written for {known_id}: it was deleted and made again, or this is another cluster",
                where=place(dsn),
                do="nothing was read; decide what becomes of the old topic's rows, or use a fresh database",
            )
        if known_id != topic_id:
            raise Setup(
                f"the line {line!r} reads topic {known_topic} ({known_id}) in this database, not {topic}",
                where=place(dsn),
                do="choose another line.name for this topic",
            )


def _lock(session: Connection, dsn: str, topic_id: UUID, *, take_over: bool) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        if take_over:
            _end_sessions(session, topic_id)
        try:
            session.execute("select pg_advisory_lock(%s)", (lock_key(topic_id),))
        except psycopg.errors.LockNotAvailable:
            if take_over and time.monotonic() < deadline:
                continue
            raise _another(session, dsn, topic_id) from None
        return


def _end_sessions(session: Connection, topic_id: UUID) -> None:
    names = [owner_session(topic_id), commit_session(topic_id)]
    session.execute(END_SESSIONS, {"key": lock_key(topic_id), "topic_id": topic_id, "names": names})


def _enter(session: Connection, dsn: str, topic_id: UUID, topic: str, line: str, *, end_stuck: bool) -> Owner:
    """Epoch + 1 and a new token under the row lock. A session of the last owner may still hold the rows: it is about to end, or has to be ended."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return _write_owner(session, dsn, topic_id, topic, line)
        except psycopg.errors.LockNotAvailable:
            if time.monotonic() > deadline:
                raise _another(session, dsn, topic_id) from None
            if end_stuck:
                _end_sessions(session, topic_id)
        except psycopg.errors.UniqueViolation:
            # Someone took the name of this line in the moment since we looked.
            _refuse_other_names(session, dsn, topic_id, topic, line)
            raise


def _write_owner(session: Connection, dsn: str, topic_id: UUID, topic: str, line: str) -> Owner:
    token = uuid4()
    with session.transaction():
        written = session.execute(
            """insert into line_owner as old (topic_id, topic, line, epoch, token, pid, host, since, backend_pid, backend_start)
               select %s, %s, %s, 1, %s, %s, %s, clock_timestamp(), pid, backend_start from pg_stat_activity where pid = pg_backend_pid()
               on conflict (topic_id) do update set
                   epoch = old.epoch + 1, token = excluded.token, pid = excluded.pid, host = excluded.host,
                   since = case when old.backend_start = excluded.backend_start then old.since else excluded.since end,
                   backend_pid = excluded.backend_pid, backend_start = excluded.backend_start,
                   commit_backend_pid = null, commit_backend_start = null
               returning epoch""",
            (topic_id, topic, line, token, os.getpid(), socket.gethostname()),
        ).fetchone()
        session.execute("select 1 from line_ledger where topic_id = %s order by partition for update", (topic_id,))
        installation = session.execute("select id from installation").fetchone()
        ledger = ledger_rows(session, topic_id)
    if written is None or installation is None:
        raise Bug("the owner row could not be written", where=place(dsn))
    return Owner(dsn, topic_id, topic, line, int(written[0]), token, installation[0], ledger, session)


def _another(session: Connection, dsn: str, topic_id: UUID) -> AnotherOwner:
    row = owner_row(session, topic_id)
    if row is None:
        return AnotherOwner("another process is about to own this line", where=place(dsn), do="wait for it, or stop it")
    return AnotherOwner(
        f"the line {row.line!r} on topic {row.topic} is owned by {row}",
        where=place(dsn),
        do=f"stop that one, or `comporta stream --take-over {row.line}` if it is stuck",
    )
