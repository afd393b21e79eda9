"""Every offset of a batch in exactly one class, counted from the rows themselves; a pure check before anything is written."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from comporta.postgres.digests import digest
from comporta.words.batches import PartitionStep
from comporta.words.errors import Bug

Ranges = tuple[tuple[int, int], ...]

# Tables whose rows stand for offsets that are no transactions; the rows of every other such table are transactions.
OTHER_CLASSES = {"dead_letters": "dead_letters", "duplicates": "duplicates"}


@dataclass
class _Found:
    """What the tables hold of one partition."""

    counts: dict[str, int] = field(default_factory=lambda: {"transactions": 0, "dead_letters": 0, "duplicates": 0})
    offsets: list[npt.NDArray[np.int64]] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)


def account(steps: Sequence[PartitionStep], tables: Mapping[str, pa.Table]) -> dict[int, dict[str, str]]:
    """The digests (hex) per partition and table of `tables`, whose rows stand for one offset each; Bug if an offset is missing or there twice."""
    found = {step.partition: _Found() for step in steps}
    if len(found) < len(steps):
        raise Bug("a batch names a partition twice")
    for name, table in tables.items():
        for partition, rows in by_partition(table):
            if partition not in found:
                raise Bug(f"{rows.num_rows} rows of a partition that the batch does not name", where=f"{name}, partition {partition}")
            found[partition].counts[OTHER_CLASSES.get(name, "transactions")] += rows.num_rows
            found[partition].offsets.append(rows.column("offset").to_numpy())
            found[partition].digests[name] = digest(rows).hex()
    for step in steps:
        _check(step, found[step.partition])
    return {partition: of.digests for partition, of in found.items()}


def by_partition(table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each partition in the order of their offsets."""
    if table.num_rows == 0:
        return
    partitions, offsets = (table.column(name).to_numpy() for name in ("partition", "offset"))
    order = np.lexsort((offsets, partitions))
    ordered = table if bool((order[1:] > order[:-1]).all()) else table.take(pa.array(order))
    names, starts = np.unique(partitions[order], return_index=True)
    for name, start, end in zip(names, starts, [*starts[1:], len(order)], strict=True):
        yield int(name), ordered.slice(int(start), int(end - start))


def length(ranges: Ranges) -> int:
    """How many offsets lie in half-open ranges."""
    return sum(end - start for start, end in ranges)


def _check(step: PartitionStep, found: _Found) -> None:
    where = f"partition {step.partition}, offsets {step.from_offset} to {step.to_offset}"
    if step.to_offset < step.from_offset:
        raise Bug("the batch runs backwards", where=where)
    claimed = {"transactions": step.transactions, "dead_letters": step.dead_letters, "duplicates": step.duplicates}
    if claimed != found.counts:
        raise Bug(f"the batch claims {claimed}, its tables hold {found.counts}", where=where)
    if step.tombstones != length(step.tombstone_offsets):
        raise Bug(f"the batch claims {step.tombstones} tombstones and names {length(step.tombstone_offsets)}", where=where)
    ranges = [np.arange(start, end, dtype=np.int64) for start, end in (*step.tombstone_offsets, *step.gaps)]
    seen = np.sort(np.concatenate([*found.offsets, *ranges, np.empty(0, np.int64)]))
    if not np.array_equal(seen, np.arange(step.from_offset, step.to_offset)):
        span = step.to_offset - step.from_offset
        raise Bug(
            f"the batch spans {span} offsets, its rows and ranges name {len(seen)}, {len(np.unique(seen))} of them distinct", where=where
        )
    if (step.last_offset is None) != (step.last_hash is None):
        raise Bug("offset and hash of the last record go together", where=where)
    if step.last_offset is not None and not step.from_offset <= step.last_offset < step.to_offset:
        raise Bug(f"the last record {step.last_offset} lies outside of the batch", where=where)
