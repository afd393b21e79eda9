"""What a batch is when it reaches the database: steps of the ledger and tables to write, as plain values."""

from dataclasses import dataclass, field
from uuid import UUID

import pyarrow as pa


@dataclass(frozen=True)
class LedgerRow:
    """Where the line stands in one partition, and what it last saw there."""

    next_offset: int
    clock_us: int | None = None
    last_offset: int | None = None
    last_hash: bytes | None = None


@dataclass(frozen=True)
class PartitionStep:
    """What one batch did to one partition: every offset of [from_offset, to_offset) is in exactly one of the counts; ranges are half open."""

    partition: int
    from_offset: int
    to_offset: int
    transactions: int
    dead_letters: int
    duplicates: int
    tombstones: int
    tombstone_offsets: tuple[tuple[int, int], ...] = ()
    gaps: tuple[tuple[int, int], ...] = ()
    clock_us: int | None = None
    last_offset: int | None = None
    last_hash: bytes | None = None


@dataclass(frozen=True)
class Append:
    """New rows; a key that is there already means that the stored state is damaged.

    `stale` holds the keys of rows that have outlived their window and give way first.
    """

    stale: pa.Table | None = None


@dataclass(frozen=True)
class Accumulate:
    """Rows to add to what is there: sums are added, maxima kept."""

    keys: tuple[str, ...]
    sums: tuple[str, ...]
    maxima: tuple[str, ...] = ()


@dataclass(frozen=True)
class Overwrite:
    """New rows that take the place of the row with the same key."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class TableWrite:
    """Rows for one table; `digest` says that the ledger's history keeps a digest of them per partition."""

    table: str
    rows: pa.Table
    how: Append | Accumulate | Overwrite = field(default_factory=Append)
    digest: bool = False


@dataclass(frozen=True)
class Batch:
    """All that one commit makes visible, at once or not at all."""

    topic_id: UUID
    line: str
    number: int
    steps: tuple[PartitionStep, ...]
    writes: tuple[TableWrite, ...]
