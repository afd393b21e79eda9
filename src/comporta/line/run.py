"""A run of the line: sessions of one streaming query each, every one planned anew from the ledger, until it is told to stop.

The checkpoint is scratch. The only position is the ledger, which moves in the same transaction as the rows.
"""

import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import structlog
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_random_exponential

from comporta.line import task
from comporta.line.accounts import planned_steps, settle
from comporta.line.crash import Hook, Point
from comporta.line.offsets import planned_ends, starting_offsets
from comporta.line.reconcile import LogView, reconcile
from comporta.line.session import death_of_jvm
from comporta.words.batches import Accumulate, Append, Batch, LedgerRow, PartitionStep, TableWrite
from comporta.words.errors import Bug, ComportaError, ProcessDied, Setup, Unreachable
from comporta.words.tables import DEAD_LETTERS, DECISIONS, DUPLICATES, IDENTITIES, METRICS_MINUTE

log = structlog.get_logger()

# How long a dependency may be away before the first commit of a run; later line.patience counts.
PATIENCE_BEFORE_FIRST_COMMIT = timedelta(seconds=15)
# What a call into a JVM that dies may raise, by how far it has died.
JVM_IS_SILENT = (Py4JError, OSError)
# How often a running line reads its last record and the topic id again.
WATCH_EVERY = timedelta(minutes=1)


@dataclass(frozen=True)
class Owner:
    """What the line knows of its ownership: the token of this session, and where the ledger stood when it was drawn."""

    topic_id: UUID
    token: UUID
    installation: UUID
    ledger: Mapping[int, LedgerRow]


@dataclass(frozen=True)
class LineParts:
    """All that a line is made of; whatever touches Kafka or PostgreSQL is a function handed in."""

    line: str
    topic: str
    bootstrap: str
    max_offsets: int
    trigger: timedelta
    patience: timedelta
    checkpoint: str
    drain: bool
    start_spark: Callable[[], SparkSession]
    take_ownership: Callable[[], Owner]
    still_owned: Callable[[], bool]
    look: Callable[[Mapping[int, LedgerRow]], LogView]
    topic_id: Callable[[], UUID]
    commit: Callable[[Batch], Mapping[str, float]]
    mirror: Callable[[Owner, Mapping[int, int]], None]
    task_parts: Callable[[Owner, Mapping[int, LedgerRow]], task.TaskParts]
    crash: Hook
    on_commit: Callable[["Totals"], None]
    close: Callable[[], None]


@dataclass
class Totals:
    """What a run has done so far; `seconds` are the stages of its batches, summed over tasks."""

    rows: int = 0
    batches: int = 0
    transactions: int = 0
    dead_letters: int = 0
    duplicates: int = 0
    tombstones: int = 0
    first_batch_at: float | None = None
    last_commit_at: float | None = None
    stages: dict[str, float] = field(default_factory=dict)

    def add(self, steps: tuple[PartitionStep, ...], stages: Mapping[str, float], began: float, ended: float) -> None:
        """Book one committed batch."""
        self.batches += 1
        self.rows += sum(step.to_offset - step.from_offset for step in steps)
        for name in ("transactions", "dead_letters", "duplicates", "tombstones"):
            setattr(self, name, getattr(self, name) + sum(getattr(step, name) for step in steps))
        for stage, seconds in stages.items():
            self.stages[stage] = self.stages.get(stage, 0.0) + seconds
        self.first_batch_at = began if self.first_batch_at is None else self.first_batch_at
        self.last_commit_at = ended


class Line:
    """One run: owns the Spark session, the stop signal and the totals; a session is one query with its own token."""

    def __init__(self, parts: LineParts) -> None:
        self.parts = parts
        self.totals = Totals()
        self._stop = threading.Event()
        self._batch = threading.Lock()
        self._closing = False
        self._failure: ComportaError | None = None
        self._session_began: float | None = None
        self._committed = False
        self._trouble_since: float | None = None
        self._spark: SparkSession | None = None
        self._ledger: dict[int, LedgerRow] = {}

    @property
    def stopping(self) -> bool:
        """Whether it has been asked to end."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask the line to end after the running batch."""
        self._stop.set()

    def run(self) -> Totals:
        """Sessions until the end of the backlog (drain) or until stopped; a bad moment is met with patience, everything else ends the run."""
        try:
            for attempt in Retrying(
                retry=retry_if_exception_type(Unreachable),
                stop=self._patience_is_over,
                wait=wait_random_exponential(multiplier=0.5, max=10),
                sleep=self._pause,
                reraise=True,
                before_sleep=lambda state: log.warning("waiting", why=str(state.outcome.exception() if state.outcome else "")),
            ):
                with attempt:
                    if not self._stop.is_set():
                        self._session()
            return self.totals
        finally:
            log.info("line_ended", line=self.parts.line, batches=self.totals.batches, rows=self.totals.rows)
            self.parts.close()
            if self._spark is not None:
                _quietly(self._spark.stop)

    def _patience_is_over(self, _state: RetryCallState) -> bool:
        """Patience counts from when the trouble began: a session that has worked for a while, or committed, has ended the one before."""
        now = time.monotonic()
        worked = self._session_began is not None and now - self._session_began > PATIENCE_BEFORE_FIRST_COMMIT.total_seconds()
        if self._trouble_since is None or worked or self._committed:
            self._trouble_since = now
        patience = self.parts.patience if self.totals.batches else PATIENCE_BEFORE_FIRST_COMMIT
        return now - self._trouble_since > patience.total_seconds()

    def _pause(self, seconds: float) -> None:
        """Between attempts; a stop signal ends it."""
        self._stop.wait(seconds)

    def _session(self) -> None:
        self._session_began, self._committed = None, False
        owner = self.parts.take_ownership()
        self._ledger = dict(owner.ledger)
        view = self.parts.look(self._ledger)
        problem = reconcile(owner.topic_id, self._ledger, view)
        if problem:
            raise problem
        for partition in sorted(set(view.latest) - set(self._ledger)):
            log.warning(
                "partition_added", partition=partition, note="the order per key changes, the memory of its customers starts anew there"
            )
        if self._spark is None:
            self._spark = self.parts.start_spark()
        checkpoint = f"{self.parts.checkpoint}/{owner.token}"
        if "://" not in checkpoint and Path(checkpoint).exists():
            raise Setup("the scratch checkpoint exists already", where=checkpoint, do="start again: a new one is drawn")
        self._failure, self._closing = None, False
        positions = dict.fromkeys(view.latest, 0) | {partition: row.next_offset for partition, row in self._ledger.items()}
        query = self._start_query(self._spark, owner, checkpoint, positions)
        log.info("session_started", line=self.parts.line, token=str(owner.token), positions=positions, cap=self.parts.max_offsets)
        self._session_began = time.monotonic()
        try:
            self._watch(query, owner)
        except JVM_IS_SILENT:
            # The JVM is gone, or going: `_raise_failure` says which.
            log.debug("jvm_does_not_answer", exc_info=True)
        finally:
            # Wait for the running batch, refuse the next; stopping under the lock would wait for a batch that waits for the lock.
            with self._batch:
                self._closing = True
            _quietly(query.stop)
        self._raise_failure(owner, query)

    def _start_query(self, spark: SparkSession, owner: Owner, checkpoint: str, positions: Mapping[int, int]) -> StreamingQuery:
        stream = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.parts.bootstrap)
            .option("kafka.isolation.level", "read_committed")
            .option("subscribe", self.parts.topic)
            .option("startingOffsets", starting_offsets(self.parts.topic, dict(positions)))
            .option("failOnDataLoss", "true")
            .option("maxOffsetsPerTrigger", self.parts.max_offsets)
            .option("groupIdPrefix", f"comporta-{self.parts.line}-spark")
            .load()
            .select("partition", "offset", "timestamp", "key", "value")
        )
        writer = stream.writeStream.foreachBatch(partial(self._on_batch, owner, checkpoint)).option("checkpointLocation", checkpoint)
        return (writer.trigger(availableNow=True) if self.parts.drain else writer.trigger(processingTime="0 seconds")).start()

    def _watch(self, query: StreamingQuery, owner: Owner) -> None:
        """Wait for the query's end or the stop signal; every minute make sure that the log is still the same."""
        next_look = time.monotonic() + WATCH_EVERY.total_seconds()
        while query.isActive and not self._stop.is_set():
            self._stop.wait(0.1)
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + WATCH_EVERY.total_seconds()
                # A copy is enough: batches may go on while we look, the records that it speaks of stay.
                ledger = dict(self._ledger)
                problem = reconcile(owner.topic_id, ledger, self.parts.look(ledger))
                if problem:
                    raise problem
                if not self.parts.still_owned():
                    raise Unreachable(
                        "the session that holds the line's lock is gone", do="the line takes the lock again, unless another has it"
                    )

    def _raise_failure(self, owner: Owner, query: StreamingQuery) -> None:
        """Why the query ended, from what we know ourselves; Spark's text is never read."""
        if self._failure is not None:
            raise self._failure
        assert self._spark is not None  # noqa: S101 - a session without Spark has raised before
        died = death_of_jvm(self._spark)
        if died:
            raise died
        try:
            ended_well = self._stop.is_set() or query.exception() is None
        except JVM_IS_SILENT:
            raise ProcessDied("Spark's JVM stopped answering", do="see the log above it") from None
        if ended_well:
            return
        problem = reconcile(owner.topic_id, self._ledger, self.parts.look(self._ledger))
        if problem:
            raise problem
        log.warning("query_failed", cause=_java_cause(query))
        raise Unreachable(
            "Spark could not read from Kafka", where=self.parts.bootstrap, do="see the broker's log; the line waits and tries again"
        )

    def _on_batch(self, owner: Owner, checkpoint: str, frame: DataFrame, number: int) -> None:
        """What `foreachBatch` calls. Whatever fails here is kept as our own error before Spark wraps it."""
        with self._batch:
            if self._closing or self._stop.is_set() or self._failure is not None:
                raise _Stopped
            try:
                rows = self._judge_and_commit(owner, checkpoint, frame, number)
            except ComportaError as error:
                self._failure = error
                raise
            except (*JVM_IS_SILENT, PySparkException) as error:
                self._failure = self._why_spark_failed(owner, error)
                raise
            except Exception as error:
                self._failure = Bug(f"the line failed: {type(error).__name__}", do="run it again with -v and report it")
                log.debug("bug", exc_info=True)
                raise
        if not self.parts.drain and rows < self.parts.max_offsets:
            self._stop.wait(self.parts.trigger.total_seconds())

    def _judge_and_commit(self, owner: Owner, checkpoint: str, frame: DataFrame, number: int) -> int:
        parts, clock = self.parts, time.perf_counter()
        planned = planned_steps(self._ledger, planned_ends(frame.sparkSession, checkpoint, number, parts.topic))
        planned_at = time.perf_counter()
        judge = partial(task.run, parts.task_parts(owner, self._ledger))
        answers = frame.mapInArrow(judge, task.RESULT_DDL).toArrow()
        fetched_at = time.perf_counter()
        tables = _tables(answers)
        accounts = tables[task.ACCOUNTS].to_pylist() if task.ACCOUNTS in tables else []
        parts.crash(Point.AFTER_FETCH)
        if parts.topic_id() != owner.topic_id:
            problem = reconcile(owner.topic_id, self._ledger, parts.look(self._ledger))
            raise problem or Unreachable("the topic changed while the batch was read", where=parts.topic, do="the line tries again")
        steps = settle(parts.topic, self._ledger, planned, accounts)
        batch = Batch(owner.topic_id, parts.line, number, steps, _writes(tables))
        settled_at = time.perf_counter()
        commit_stages = parts.commit(batch)
        committed_at = time.perf_counter()
        self._ledger |= {step.partition: _after(self._ledger.get(step.partition), step) for step in steps}
        parts.mirror(owner, {partition: row.next_offset for partition, row in self._ledger.items()})
        stages = {
            "plan": planned_at - clock,
            "spark_job": fetched_at - planned_at,
            "settle": settled_at - fetched_at,
            "commit": committed_at - settled_at,
        }
        stages |= {f"commit_{stage}": seconds for stage, seconds in commit_stages.items()}
        for account in accounts:
            for stage, seconds in account["seconds"]:
                stages[f"task_{stage}"] = stages.get(f"task_{stage}", 0.0) + seconds
        self._committed = True
        self.totals.add(steps, stages, clock, committed_at)
        rows = sum(step.to_offset - step.from_offset for step in steps)
        log.info("batch_committed", batch=number, rows=rows, seconds=round(committed_at - clock, 3))
        if number == 0:
            _remove_old_checkpoints(parts.checkpoint, keep=str(owner.token))
        parts.on_commit(self.totals)
        return rows

    def _why_spark_failed(self, owner: Owner, error: Exception) -> ComportaError:
        """A Spark job of ours failed without a word from its tasks: the JVM, the log, Kafka, or a worker that was killed."""
        assert self._spark is not None  # noqa: S101 - it runs this batch
        died = death_of_jvm(self._spark)
        if died:
            return died
        try:
            problem = reconcile(owner.topic_id, self._ledger, self.parts.look(self._ledger))
        except ComportaError as trouble:
            return trouble
        if problem:
            return problem
        causes = _java_classes(error)
        log.warning("job_failed", causes=causes)
        if any(cause.startswith("org.apache.kafka.") for cause in causes):
            return Unreachable("Kafka did not answer a task", where=self.parts.bootstrap, do="the line waits and tries again")
        return ProcessDied(
            "a Python worker or a task of Spark's died", do="look for the kernel's out-of-memory killer; lower line.max_offsets"
        )


class _Stopped(Exception):
    """Ends a query that began another batch after it was told to stop."""


def _tables(answers: pa.Table) -> dict[str, pa.Table]:
    """The tasks' tables by name, in the order of partitions; a failure that a task has sent is raised."""
    pieces: dict[str, list[pa.Table]] = {}
    for row in sorted(answers.to_pylist(), key=lambda row: row["partition"]):
        if row["name"] == task.FAILURE:
            raise task.read_failure(row["data"])
        pieces.setdefault(row["name"], []).append(task.read_table(row["data"]))
    return {name: pa.concat_tables(tables) for name, tables in pieces.items()}


def _writes(tables: Mapping[str, pa.Table]) -> tuple[TableWrite, ...]:
    """Where each table of a batch goes; the one list of what this line stores."""
    sums = ("transactions", "amount_cents", "alerts", "alert_amount_cents")
    return (
        TableWrite("decisions", tables.get("decisions", DECISIONS.empty_table()), Append(), digest=True),
        TableWrite("dead_letters", tables.get("dead_letters", DEAD_LETTERS.empty_table()), Append(), digest=True),
        TableWrite("duplicates", tables.get("duplicates", DUPLICATES.empty_table()), Append(), digest=True),
        TableWrite("identities", tables.get("identities", IDENTITIES.empty_table()), Append(stale=tables.get("expired_identities"))),
        TableWrite(
            "metrics_minute",
            tables.get("metrics_minute", METRICS_MINUTE.empty_table()),
            Accumulate(keys=("minute", "dimension", "value"), sums=sums, maxima=("max_amount_cents",)),
        ),
    )


def _after(row: LedgerRow | None, step: PartitionStep) -> LedgerRow:
    """The ledger's row after a step, as the database now has it."""
    if step.last_offset is None:
        return LedgerRow(step.to_offset) if row is None else LedgerRow(step.to_offset, row.clock_us, row.last_offset, row.last_hash)
    return LedgerRow(step.to_offset, step.clock_us, step.last_offset, step.last_hash)


def _remove_old_checkpoints(base: str, keep: str) -> None:
    """Scratch of earlier sessions; only folders named by a token are ours."""
    if "://" in base:
        return
    for folder in Path(base).iterdir():
        if folder.name != keep and _is_token(folder.name):
            shutil.rmtree(folder, ignore_errors=True)


def _is_token(name: str) -> bool:
    try:
        UUID(name)
    except ValueError:
        return False
    return True


def _java_classes(error: Exception) -> list[str]:
    """The classes of a Java exception and its causes, outermost first."""
    found: list[str] = []
    cause: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while cause is not None and len(found) < 10:  # noqa: PLR2004 - a chain that long goes in circles
        found.append(str(cause.getClass().getName()))
        cause = cause.getCause()
    return found


def _java_cause(query: StreamingQuery) -> str:
    """The condition that Spark gives its failure, for the log."""
    failure = query.exception()
    return str(failure.getCondition()) if failure else ""


def _quietly(act: Callable[[], Any]) -> None:
    """Ending what may be dead already must not hide why it died."""
    try:
        act()
    except Exception as error:  # noqa: BLE001 - see above
        log.debug("ignored_at_the_end", kind=type(error).__name__)
