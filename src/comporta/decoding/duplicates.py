"""Which copies of a transaction are the first. Decided on the partition's own clock, so that neither the batch nor the hour of reading matters.

The clock of a partition is the largest append time seen in it, whatever the record was. A copy whose clock is at most `window` after the clock of the
first copy is a duplicate of it; a later one is a first copy again and takes the old one's place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa
import pyarrow.compute as pc

from comporta.words.tables import DUPLICATES, IDENTITIES, IDENTITY, INSTANT


@dataclass(frozen=True)
class Resolved:
    """`identities` holds each identity at most once, by its latest first copy; those in `expired` have an older row stored, to be overwritten."""

    first_copies: pa.Table
    duplicates: pa.Table
    identities: pa.Table
    expired: pa.Array


def running_clock(records: pa.Table, start: int | None) -> list[int]:
    """The partition's clock at each record (RECORDS, in offset order), in microseconds; `start` is where the ledger left it, None at the beginning."""
    clock = -(2**63) if start is None else start
    clocks = []
    for instant in records.column("timestamp").cast(pa.int64()).to_pylist():
        clock = max(clock, instant)
        clocks.append(clock)
    return clocks


def at_transactions(clocks: Sequence[int], records: pa.Table, transactions: pa.Table) -> list[int]:
    """Of the clocks of all records, those of the records that became transactions."""
    places = pc.index_in(transactions.column("offset"), value_set=records.column("offset").combine_chunks())
    return [clocks[place] for place in places.to_pylist()]


def resolve(transactions: pa.Table, known: pa.Table, clock: Sequence[int], window: timedelta) -> Resolved:
    """Parts the `transactions` of one partition, in offset order, with the `clock` at each of them, into first copies and duplicates.

    `known` (identity, offset, clock) holds what is stored of these identities; more rows, or none for one that expired and was pruned, change nothing.
    """
    window_us = window // timedelta(microseconds=1)
    stored = dict(
        zip(_identities(known), zip(known.column("offset").to_pylist(), _microseconds(known.column("clock")), strict=True), strict=True)
    )
    seen = dict(stored)
    first: list[int] = []
    copies: list[int] = []
    first_offsets: list[int] = []
    offsets = transactions.column("offset").to_pylist()
    for row, (mark, offset, now) in enumerate(zip(_identities(transactions), offsets, clock, strict=True)):
        before = seen.get(mark)
        if before is not None and now - before[1] <= window_us:
            copies.append(row)
            first_offsets.append(before[0])
        else:
            seen[mark] = (offset, now)
            first.append(row)
    fresh = dict(sorted(((mark, place) for mark, place in seen.items() if stored.get(mark) != place), key=lambda entry: entry[1]))
    return Resolved(
        first_copies=transactions if not copies else transactions.take(pa.array(first, pa.int64())),
        duplicates=_duplicates(transactions, copies, first_offsets),
        identities=_stored_form(transactions, fresh),
        expired=pa.array([mark for mark in fresh if mark in stored], IDENTITY),
    )


def _identities(table: pa.Table) -> list[bytes]:
    column = table.column("identity").combine_chunks()
    # What comes from PostgreSQL is a uuid, the same sixteen bytes under another name.
    marks: list[bytes] = (column.storage if isinstance(column, pa.ExtensionArray) else column).to_pylist()
    return marks


def _microseconds(column: pa.ChunkedArray) -> list[int]:
    instants: list[int] = column.cast(INSTANT).cast(pa.int64()).to_pylist()
    return instants


def _duplicates(transactions: pa.Table, rows: list[int], first_offsets: list[int]) -> pa.Table:
    copies = transactions.select(["partition", "offset", "append_time", "identity", "transaction_id"]).take(pa.array(rows, pa.int64()))
    return copies.append_column("first_offset", pa.array(first_offsets, pa.int64())).cast(DUPLICATES)


def _stored_form(transactions: pa.Table, fresh: dict[bytes, tuple[int, int]]) -> pa.Table:
    partition = transactions.column("partition")[0].as_py() if transactions.num_rows else 0
    return pa.Table.from_arrays(
        [
            pa.array([partition] * len(fresh), pa.int32()),
            pa.array(fresh, IDENTITY),
            pa.array([offset for offset, _ in fresh.values()], pa.int64()),
            pa.array([clock for _, clock in fresh.values()], INSTANT),
        ],
        schema=IDENTITIES,
    )
