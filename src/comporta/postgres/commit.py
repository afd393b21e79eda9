"""The exactly-once commit: rows and the ledger's step in one transaction, for whoever holds the token. It knows nothing of fraud."""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from adbc_driver_manager import Error as AdbcError

from comporta.postgres import migrate
from comporta.postgres.accounting import Ranges, account, length
from comporta.postgres.control import DEDUPE_WINDOW
from comporta.postgres.digests import DIGEST_VERSION
from comporta.postgres.failures import answer, is_connection_lost, place, sqlstate_of
from comporta.postgres.ownership import Owner, commit_session
from comporta.postgres.writing import Writer
from comporta.words.batches import Batch, PartitionStep
from comporta.words.errors import AnotherOwner, Bug, DamagedState, DataLoss, Setup, Unreachable

# A lost reply is asked after at once; when the answer is lost as well, the caller's patience decides.
ATTEMPTS = 3
LOCK_NOT_AVAILABLE = "55P03"
# How long a session of ours whose fate is unknown may hold the rows before it is ended.
IN_DOUBT = "set local lock_timeout = '2s'"
# The one table that is pruned, and how far a partition's clock has to move before it is pruned again.
IDENTITIES = "identities"
PRUNE_EVERY = timedelta(hours=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

OWNER = """select epoch, token::text, line, topic, pid, host, to_char(since, 'YYYY-MM-DD HH24:MI:SS'), (select max(version) from schema_migrations)
           from line_owner where topic_id = $1::uuid for update"""

LEDGER = """select partition, next_offset, token::text, committed_at, pruned_to, clock
            from line_ledger where topic_id = $1::uuid order by partition for update"""

STORED_DIGESTS = """select partition, to_offset, digests::text from ledger_history
                    where topic_id = $1::uuid and (partition, from_offset) in (
                        select partition, from_offset from jsonb_to_recordset($2::jsonb) as step (partition integer, from_offset bigint))"""

BACKEND = """update line_owner set commit_backend_pid = activity.pid, commit_backend_start = activity.backend_start
             from pg_stat_activity as activity where activity.pid = pg_backend_pid() and topic_id = $1::uuid
             returning commit_backend_pid, commit_backend_start::text"""

WINDOW = """select (value ->> 'days')::integer from control_events
            where topic_id = $1::uuid and kind = $2::text order by id desc limit 1"""

# The ledger's step and its history in one statement. clock_timestamp(), for now() is the start of the transaction.
STEP = """
with given as materialized (
    select * from jsonb_to_recordset($6::jsonb) as step (
        partition integer, from_offset bigint, to_offset bigint,
        transactions bigint, dead_letters bigint, duplicates bigint, tombstones bigint, gaps bigint,
        tombstone_offsets int8multirange, gap_offsets int8multirange,
        clock timestamptz, last_offset bigint, last_hash text, digests jsonb, pruned_to timestamptz
    )
), moment as materialized (
    select clock_timestamp() as committed_at
), moved as (
    insert into line_ledger as old (topic_id, partition, next_offset, epoch, token, clock, last_offset, last_hash, pruned_to, committed_at)
    select $1::uuid, partition, to_offset, $2::bigint, $3::uuid, clock, last_offset, decode(last_hash, 'hex'), pruned_to, committed_at
    from given, moment
    on conflict (topic_id, partition) do update set
        next_offset = excluded.next_offset, epoch = excluded.epoch, token = excluded.token,
        clock = greatest(old.clock, excluded.clock),
        last_offset = coalesce(excluded.last_offset, old.last_offset),
        last_hash = coalesce(excluded.last_hash, old.last_hash),
        pruned_to = greatest(old.pruned_to, excluded.pruned_to),
        committed_at = excluded.committed_at
), noted as (
    insert into ledger_history (
        topic_id, partition, from_offset, to_offset, batch, epoch, token, transactions, dead_letters, duplicates, tombstones, gaps,
        tombstone_offsets, gap_offsets, digest_version, digests, committed_at
    )
    select $1::uuid, partition, from_offset, to_offset, $4::bigint, $2::bigint, $3::uuid,
        transactions, dead_letters, duplicates, tombstones, gaps, tombstone_offsets, gap_offsets, $5::smallint, digests, committed_at
    from given, moment
    where to_offset > from_offset
)
select committed_at from moment
"""

Digests = dict[int, dict[str, str]]


@dataclass(frozen=True)
class Committed:
    """What is stored now. `again`: it was found to be stored already, after a reply that never came."""

    rows: dict[str, int]
    next_offsets: dict[int, int]
    committed_at: datetime
    again: bool
    seconds: dict[str, float]


@dataclass(frozen=True)
class _Position:
    """A row of the ledger as it stands under our lock."""

    next_offset: int
    token: str
    committed_at: datetime
    pruned_to: datetime | None
    clock: datetime | None


class _ReplyLost(Exception):
    """COMMIT was sent, and nothing came back."""


class _Stopwatch:
    """Seconds per stage, since the last lap."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name], self._last = self.seconds.get(name, 0.0) + now - self._last, now


def _no_crash(_point: str) -> None:
    """Outside of tests nothing happens at a crash point."""


class Committer:
    """Commits batches over one connection that is made when it is needed and kept.

    `hook` is called with the name of each crash point: after_locks, after_copy, after_commit.
    """

    def __init__(self, dsn: str, *, hook: Callable[[str], None] = _no_crash) -> None:
        self._dsn = dsn
        self._where = place(dsn)
        self._hook = hook
        self._writer: Writer | None = None
        # For whom the connection is noted in the owner row, which backend it is, and the window for which identities are kept.
        self._registered: Owner | None = None
        self._backend: tuple[int, str] | None = None
        self._window: timedelta | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection; the next commit makes another."""
        writer, self._writer, self._registered = self._writer, None, None
        if writer is not None:
            writer.close()

    def commit(self, owner: Owner, batch: Batch) -> Committed:
        """All of the batch or nothing. The same batch given twice, after an Unreachable for instance, is stored once."""
        self._check_names(owner, batch)
        watch = _Stopwatch()
        digests = account(batch.steps, {write.table: write.rows for write in batch.writes if write.digest})
        watch.lap("accounting")
        for _ in range(ATTEMPTS):
            try:
                return self._attempt(owner, batch, digests, watch)
            except _ReplyLost:
                self.close()
        raise Unreachable("replies to COMMIT are lost again and again", where=self._where, do="the same batch may be given again")

    def _check_names(self, owner: Owner, batch: Batch) -> None:
        if batch.line != owner.line:
            raise Bug(f"a batch of the line {batch.line!r} was given to the line {owner.line!r}")
        if batch.topic_id != owner.topic_id:
            raise DataLoss(
                f"the batch was read from a topic with the id {batch.topic_id}, the ledger was written for {owner.topic_id}",
                where=owner.topic,
                do="nothing was written; the topic was deleted and made again",
            )

    def _attempt(self, owner: Owner, batch: Batch, digests: Digests, watch: _Stopwatch) -> Committed:
        try:
            return self._transaction(self._connected(owner), owner, batch, digests, watch)
        except AdbcError as error:
            self._undo(lost=is_connection_lost(error))
            failure = answer(error, self._where)
        except BaseException:
            self._undo(lost=False)
            raise
        # Raised outside of the handler: no row that PostgreSQL quoted may hang on as the context.
        raise failure

    def _transaction(self, writer: Writer, owner: Owner, batch: Batch, digests: Digests, watch: _Stopwatch) -> Committed:
        stands = self._lock(writer, owner)
        watch.lap("locks")
        again = self._committed_before(writer, owner, batch, digests, stands)
        if again is not None:
            writer.rollback()
            return Committed(_row_counts(batch), _next_offsets(stands), again, again=True, seconds=watch.seconds)
        _check_start(owner, batch, stands)
        self._hook("after_locks")
        for write in batch.writes:
            writer.write(write, batch.topic_id, batch.line)
            watch.lap(write.table)
        pruned_to = self._prune(writer, batch, stands)
        watch.lap("prune")
        self._hook("after_copy")
        steps = json.dumps([_as_json(step, digests[step.partition], pruned_to.get(step.partition)) for step in batch.steps])
        stored = writer.execute(STEP, str(batch.topic_id), owner.epoch, str(owner.token), batch.number, DIGEST_VERSION, steps)
        watch.lap("ledger")
        _send_commit(writer)
        watch.lap("commit")
        self._hook("after_commit")
        moved = {step.partition: step.to_offset for step in batch.steps}
        return Committed(_row_counts(batch), _next_offsets(stands) | moved, stored[0][0], again=False, seconds=watch.seconds)

    def _lock(self, writer: Writer, owner: Owner) -> dict[int, _Position]:
        """Owner first, ledger second, as everyone does it; whoever is not the owner any more gets no further."""
        topic_id = str(owner.topic_id)
        owners = writer.execute(OWNER, topic_id)
        if not owners:
            raise DamagedState("the owner row is gone", where=self._where, do="nothing was written; was a backup restored?")
        epoch, token, line, topic, pid, host, since, version = owners[0]
        if version != migrate.LATEST:
            raise Setup(
                f"the database has version {version}, this Comporta needs {migrate.LATEST}",
                where=self._where,
                do="nothing was written; start the line with the Comporta that fits",
            )
        if (epoch, token) != (owner.epoch, str(owner.token)):
            raise AnotherOwner(
                f"the line {line!r} on topic {topic} is owned by pid {pid} on {host} since {since} UTC",
                where=self._where,
                do="nothing was written; this process is the owner no longer",
            )
        return {row[0]: _Position(*row[1:]) for row in writer.execute(LEDGER, topic_id)}

    def _committed_before(
        self, writer: Writer, owner: Owner, batch: Batch, digests: Digests, stands: dict[int, _Position]
    ) -> datetime | None:
        """When this very batch was committed, if it was: the ledger stands at every planned end by this token, and the history has the same digests."""
        steps = [step for step in batch.steps if step.to_offset > step.from_offset]
        ends = {step.partition: (step.to_offset, str(owner.token)) for step in steps}
        found = {partition: (row.next_offset, row.token) for partition, row in stands.items() if partition in ends}
        if not steps or found != ends:
            return None
        starts = json.dumps([{"partition": step.partition, "from_offset": step.from_offset} for step in steps])
        stored = {row[0]: (row[1], json.loads(row[2])) for row in writer.execute(STORED_DIGESTS, str(owner.topic_id), starts)}
        if stored != {step.partition: (step.to_offset, digests[step.partition]) for step in steps}:
            raise DamagedState(
                "other rows than these are committed for the same offsets by this very owner",
                where=self._where,
                do="nothing was written; keep database and logs, and report it",
            )
        return max(stands[step.partition].committed_at for step in steps)

    def _prune(self, writer: Writer, batch: Batch, stands: dict[int, _Position]) -> dict[int, datetime]:
        """Only where the partition's clock has moved on by an hour since the last time, and only by that clock."""
        if self._window is None or all(write.table != IDENTITIES for write in batch.writes):
            return {}
        pruned = {}
        for step in batch.steps:
            row = stands.get(step.partition)
            clock = _latest((_instant(step.clock_us), row.clock if row else None))
            last = row.pruned_to if row else None
            if clock is None or (last is not None and clock - self._window - last < PRUNE_EVERY):
                continue
            pruned[step.partition] = clock - self._window
            writer.prune(IDENTITIES, batch.topic_id, step.partition, pruned[step.partition])
        return pruned

    def _connected(self, owner: Owner) -> Writer:
        writer = self._writer or Writer(self._dsn, commit_session(owner.topic_id))
        self._writer = writer
        if self._registered is None or self._registered.token != owner.token:
            self._register(writer, owner)
            self._registered = owner
        return writer

    def _register(self, writer: Writer, owner: Owner) -> None:
        """Note this session in the owner row, in a transaction of its own, so that a take-over finds it while we are stuck in the next one."""
        try:
            if self._backend is not None:
                writer.execute(IN_DOUBT)
            self._lock(writer, owner)
        except AdbcError as error:
            if sqlstate_of(error) != LOCK_NOT_AVAILABLE or self._backend is None:
                raise
            # Our last session, which a COMMIT may never have reached, still holds the rows: nobody will ever finish it.
            writer.rollback()
            writer.execute(
                """select pg_terminate_backend(pid, 5000) from pg_stat_activity
                   where pid = $1::integer and backend_start = $2::timestamptz and pid <> pg_backend_pid()""",
                *self._backend,
            )
            self._lock(writer, owner)
        pid, start = writer.execute(BACKEND, str(owner.topic_id))[0]
        windows = writer.execute(WINDOW, str(owner.topic_id), DEDUPE_WINDOW)
        writer.connection.commit()
        self._backend = (pid, start)
        self._window = timedelta(days=windows[0][0]) if windows else None

    def _undo(self, *, lost: bool) -> None:
        if self._writer is not None and not lost:
            try:
                self._writer.rollback()
            except AdbcError:
                lost = True
        if lost:
            self.close()


def _send_commit(writer: Writer) -> None:
    try:
        writer.connection.commit()
    except AdbcError as error:
        if not is_connection_lost(error):
            raise
    else:
        return
    raise _ReplyLost


def _check_start(owner: Owner, batch: Batch, stands: dict[int, _Position]) -> None:
    """Every partition begins where the ledger stands; one that is new begins at its first offset."""
    for step in batch.steps:
        stand = stands[step.partition].next_offset if step.partition in stands else 0
        if stand != step.from_offset:
            raise DamagedState(
                f"the ledger stands at {stand}, the batch begins at {step.from_offset}",
                where=f"{owner.topic}-{step.partition}",
                do="nothing was written; start the line again, it begins where the ledger stands",
            )


def _row_counts(batch: Batch) -> dict[str, int]:
    counts: dict[str, int] = {}
    for write in batch.writes:
        counts[write.table] = counts.get(write.table, 0) + write.rows.num_rows
    return counts


def _next_offsets(stands: dict[int, _Position]) -> dict[int, int]:
    return {partition: row.next_offset for partition, row in stands.items()}


def _latest(instants: Iterable[datetime | None]) -> datetime | None:
    return max((instant for instant in instants if instant is not None), default=None)


def _instant(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else EPOCH + timedelta(microseconds=microseconds)


def _as_json(step: PartitionStep, digests: dict[str, str], pruned_to: datetime | None) -> dict[str, Any]:
    clock = _instant(step.clock_us)
    return {
        "partition": step.partition,
        "from_offset": step.from_offset,
        "to_offset": step.to_offset,
        "transactions": step.transactions,
        "dead_letters": step.dead_letters,
        "duplicates": step.duplicates,
        "tombstones": step.tombstones,
        "gaps": length(step.gaps),
        "tombstone_offsets": _multirange(step.tombstone_offsets),
        "gap_offsets": _multirange(step.gaps),
        "clock": clock.isoformat() if clock else None,
        "last_offset": step.last_offset,
        "last_hash": step.last_hash.hex() if step.last_hash else None,
        "digests": digests,
        "pruned_to": pruned_to.isoformat() if pruned_to else None,
    }


def _multirange(ranges: Ranges) -> str:
    return "{" + ",".join(f"[{start},{end})" for start, end in ranges) + "}"
