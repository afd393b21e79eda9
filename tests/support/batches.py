"""What tests of the commit share: small batches made by hand, as the line would give them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

import psycopg
import pyarrow as pa
from psycopg.rows import TupleRow

from comporta.postgres import migrate, ownership
from comporta.postgres.control import DEDUPE_WINDOW, ControlEvent
from comporta.postgres.ownership import Owner
from comporta.services.addresses import Addresses
from comporta.words.batches import Accumulate, Append, Batch, PartitionStep, TableWrite
from comporta.words.tables import DEAD_LETTERS, DECISIONS, DUPLICATES, IDENTITIES, METRICS_MINUTE

TOPIC_ID = UUID("6f1c0a52-8a53-4c8e-9d0a-5f6f7c1d2e3f")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SPACE = UUID("00000000-0000-0000-0000-00000000c0de")
SUMS = ("transactions", "amount_cents", "alerts", "alert_amount_cents")

# A value for every column that must have one; a test names those it is about.
DEFAULTS: dict[str, Any] = {
    "append_time": NOON,
    "event_time": NOON,
    "clock": NOON,
    "minute": NOON,
    "first_seen_at": NOON,
    "transaction_id": "T1",
    "customer_id": "C1",
    "utc_offset_minutes": -180,
    "type": "PIX",
    "direction": "OUT",
    "amount_cents": 1050,
    "score": 12.5,
    "level": "NORMAL",
    "action": "ACCEPT",
    "alert": False,
    "reasons": '[{"rule": "is_high_value",  "points": 15}]',
    "pack": "classic-v1",
    "pack_version": 1,
    "invalid_fields": [],
    "ahead_of_log": False,
    "topic": "transactions",
    "size": 3,
    "reason": "JSON_SYNTAX",
    "detail": "column 3",
    "first_offset": 0,
    "dimension": "total",
    "value": "",
    "transactions": 1,
    "max_amount_cents": 1050,
    "alerts": 0,
    "alert_amount_cents": 0,
}


def fill(schema: pa.Schema, rows: int, **columns: Any) -> pa.Table:
    """A table of so many rows; a column is a list of values, or one value for all of them."""
    arrays = []
    for field in schema:
        given = columns.get(field.name, DEFAULTS.get(field.name))
        values = given if field.name in columns and isinstance(given, list) else [given] * rows
        arrays.append(pa.array(values, field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def identity(name: object) -> bytes:
    """Sixteen bytes that stand for a name."""
    return uuid5(SPACE, str(name)).bytes


def decisions(offsets: Iterable[int], partition: int = 0, **columns: Any) -> pa.Table:
    """One decision per offset, with its own transaction id."""
    numbers = list(offsets)
    given = {"transaction_id": [f"T{partition}-{number}" for number in numbers]} | columns
    return fill(DECISIONS, len(numbers), partition=partition, offset=numbers, **given)


def identities(offsets: Iterable[int], partition: int = 0, **columns: Any) -> pa.Table:
    """One identity per offset."""
    numbers = list(offsets)
    given = {"identity": [identity(number) for number in numbers]} | columns
    return fill(IDENTITIES, len(numbers), partition=partition, offset=numbers, **given)


def dead_letters(offsets: Iterable[int], partition: int = 0, **columns: Any) -> pa.Table:
    """One dead letter per offset."""
    numbers = list(offsets)
    return fill(DEAD_LETTERS, len(numbers), partition=partition, offset=numbers, **columns)


def duplicates(offsets: Iterable[int], partition: int = 0, **columns: Any) -> pa.Table:
    """One duplicate of offset 0 per offset."""
    numbers = list(offsets)
    return fill(DUPLICATES, len(numbers), partition=partition, offset=numbers, **({"identity": identity(0)} | columns))


def metrics(**columns: Any) -> pa.Table:
    """One row per element of the longest column."""
    rows = max((len(values) for values in columns.values() if isinstance(values, list)), default=1)
    return fill(METRICS_MINUTE, rows, **columns)


def step(start: int, end: int, partition: int = 0, **changes: Any) -> PartitionStep:
    """All offsets are transactions, unless changed."""
    values: dict[str, Any] = {
        "transactions": end - start,
        "dead_letters": 0,
        "duplicates": 0,
        "tombstones": 0,
        "clock_us": int(NOON.timestamp()) * 1_000_000,
        "last_offset": end - 1,
        "last_hash": identity(end - 1),
    }
    return PartitionStep(partition, start, end, **(values | changes))


def batch(*steps: PartitionStep, writes: Sequence[TableWrite], number: int = 0, topic_id: UUID = TOPIC_ID, line: str = "line") -> Batch:
    """The value that a commit is given."""
    return Batch(topic_id, line, number, tuple(steps), tuple(writes))


def plain(start: int, end: int, *, number: int = 0) -> Batch:
    """Nothing but transactions of partition 0, with their identities and metrics."""
    return batch(
        step(start, end),
        writes=[
            TableWrite("decisions", decisions(range(start, end)), Append(), digest=True),
            TableWrite("identities", identities(range(start, end)), Append()),
            metrics_write(metrics(transactions=end - start)),
        ],
        number=number,
    )


def metrics_write(rows: pa.Table) -> TableWrite:
    """As the line writes minute metrics."""
    return TableWrite("metrics_minute", rows, Accumulate(("minute", "dimension", "value"), SUMS, ("max_amount_cents",)))


@dataclass(frozen=True)
class Ready:
    """A migrated database and how to look into it."""

    at: Addresses

    def rows(self, query: str, *parameters: object) -> list[TupleRow]:
        with psycopg.connect(self.at.owner_dsn, autocommit=True) as connection:
            connection.execute("set timezone = 'UTC'")
            return connection.execute(query.encode(), parameters or None).fetchall()

    def value(self, query: str, *parameters: object) -> Any:
        return self.rows(query, *parameters)[0][0]

    def act(self, statement: str, *parameters: object, as_writer: bool = False) -> None:
        with psycopg.connect(self.at.writer_dsn if as_writer else self.at.owner_dsn, autocommit=True) as connection:
            connection.execute(statement.encode(), parameters or None)

    def own(self, line: str = "line", *, first: dict[int, int] | None = None, days: int = 14) -> Owner:
        """The owner of a line that has begun; `first` are its first offsets, by default partition 0 at 0."""
        owner = ownership.take(self.at.writer_dsn, TOPIC_ID, "transactions", line)
        if owner.ledger:
            return owner
        first = {0: 0} if first is None else first
        return ownership.start_line(owner, first, [ControlEvent(DEDUPE_WINDOW, {"days": days}, first, "test")])


def ready(at: Addresses) -> Ready:
    """Migrated, with nothing in it."""
    migrate.ensure(at.owner_dsn, at.writer_dsn, at.reader_dsn)
    return Ready(at)


def later(**difference: float) -> datetime:
    """Some time after noon."""
    return NOON + timedelta(**difference)


def microseconds(instant: datetime) -> int:
    """Since 1970."""
    return (instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
