"""Which copies are the first: within the window, after it, at its edge, and however the log is cut into batches."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from comporta.decoding.duplicates import Resolved, at_transactions, resolve, running_clock
from comporta.words.tables import DUPLICATES, IDENTITIES, IDENTITY, INSTANT, RECORDS, TRANSACTIONS

WINDOW = timedelta(microseconds=10)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Seen(NamedTuple):
    """A record as these tests write it: what it is a copy of (None: no transaction at all), and when it was appended."""

    what: int | None
    at: int


def tables(log: Sequence[Seen], first: int) -> tuple[pa.Table, pa.Table]:
    """The records of a piece of the log that begins at offset `first`, and the transactions among them."""
    offsets = list(range(first, first + len(log)))
    size = len(log)
    filled = {
        "partition": [0] * size,
        "offset": offsets,
        "timestamp": [seen.at for seen in log],
        "key": [None] * size,
        "value": [b""] * size,
    }
    records = pa.table([pa.array(filled[field.name], field.type) for field in RECORDS], schema=RECORDS)
    good = [(offset, seen) for offset, seen in zip(offsets, log, strict=True) if seen.what is not None]
    known = {
        "partition": [0] * len(good),
        "offset": [offset for offset, _ in good],
        "append_time": [seen.at for _, seen in good],
        "identity": [identity(seen.what) for _, seen in good],
        "transaction_id": [f"T{seen.what}" for _, seen in good],
    }
    columns = [pa.array(known.get(field.name, [None] * len(good)), field.type) for field in TRANSACTIONS]
    return records, pa.table(columns, names=TRANSACTIONS.names)


def identity(what: int | None) -> bytes:
    return f"{what:>16}".encode()


class Stored:
    """What the database would hold: identities, and the ledger's clock."""

    def __init__(self) -> None:
        self.identities: dict[bytes, tuple[int, int]] = {}
        self.clock: int | None = None
        self.next = 0
        self.first: list[int] = []
        self.duplicates: list[tuple[int, int]] = []

    def known(self, prune: bool) -> pa.Table:
        clock = self.clock or 0
        kept = {mark: at for mark, at in self.identities.items() if not prune or clock - at[1] <= WINDOW / timedelta(microseconds=1)}
        columns = [
            pa.array(kept, IDENTITY),
            pa.array([at[0] for at in kept.values()], pa.int64()),
            pa.array([at[1] for at in kept.values()], INSTANT),
        ]
        return pa.table(columns, names=["identity", "offset", "clock"])

    def take(self, log: Sequence[Seen], prune: bool = False) -> Resolved:
        records, transactions = tables(log, self.next)
        clocks = running_clock(records, self.clock)
        resolved = resolve(transactions, self.known(prune), at_transactions(clocks, records, transactions), WINDOW)
        self.first += resolved.first_copies["offset"].to_pylist()
        self.duplicates += zip(resolved.duplicates["offset"].to_pylist(), resolved.duplicates["first_offset"].to_pylist(), strict=True)
        rows = zip(*(resolved.identities.column(name).to_pylist() for name in ("identity", "offset")), strict=True)
        written = resolved.identities["clock"].cast(pa.int64()).to_pylist()
        fresh = {mark: (offset, clock) for (mark, offset), clock in zip(rows, written, strict=True)}
        stored = set(self.known(prune)["identity"].to_pylist())
        assert set(resolved.expired.to_pylist()) == stored & set(fresh), "only what is stored may be overwritten, and nothing else can be"
        self.identities |= fresh
        self.clock = clocks[-1] if clocks else self.clock
        self.next += len(log)
        return resolved


def test_a_second_copy_within_the_batch_is_a_duplicate_of_the_first() -> None:
    resolved = Stored().take([Seen(1, 0), Seen(2, 1), Seen(1, 2)])
    assert resolved.first_copies["offset"].to_pylist() == [0, 1]
    [duplicate] = resolved.duplicates.to_pylist()
    assert duplicate == {
        "partition": 0,
        "offset": 2,
        "append_time": EPOCH + timedelta(microseconds=2),
        "identity": identity(1),
        "transaction_id": "T1",
        "first_offset": 0,
    }
    assert (resolved.duplicates.schema, resolved.identities.schema) == (DUPLICATES, IDENTITIES)
    assert resolved.identities["offset"].to_pylist() == [0, 1]


def test_a_second_copy_in_a_later_batch_is_a_duplicate_of_what_is_stored() -> None:
    stored = Stored()
    stored.take([Seen(1, 0)])
    resolved = stored.take([Seen(1, 5), Seen(1, 6)])
    assert resolved.first_copies.num_rows == 0
    assert resolved.identities.num_rows == 0
    assert stored.duplicates == [(1, 0), (2, 0)]


def test_at_the_edge_of_the_window_it_is_still_a_duplicate_and_after_it_a_first_copy_again() -> None:
    stored = Stored()
    stored.take([Seen(1, 0)])
    stored.take([Seen(1, 10)])
    assert stored.duplicates == [(1, 0)]
    resolved = stored.take([Seen(1, 11)])
    assert resolved.first_copies["offset"].to_pylist() == [2]
    assert resolved.expired.to_pylist() == [identity(1)]
    stored.take([Seen(1, 12)])
    assert stored.duplicates == [(1, 0), (3, 2)]


def test_the_clock_never_goes_back_and_every_record_moves_it() -> None:
    stored = Stored()
    stored.take([Seen(1, 0), Seen(None, 11), Seen(1, 3)])
    assert stored.first == [0, 2]
    assert stored.identities[identity(1)] == (2, 11)


def test_a_copy_that_is_first_again_within_one_batch_is_stored_once_as_the_latest() -> None:
    resolved = Stored().take([Seen(1, 0), Seen(1, 20), Seen(1, 40), Seen(1, 41)])
    assert resolved.first_copies["offset"].to_pylist() == [0, 1, 2]
    assert resolved.identities["offset"].to_pylist() == [2]
    assert resolved.duplicates["first_offset"].to_pylist() == [2]


def test_identities_read_as_uuids_are_the_same_sixteen_bytes() -> None:
    _, transactions = tables([Seen(1, 5)], first=7)
    known = pa.table(
        [pa.ExtensionArray.from_storage(pa.uuid(), pa.array([identity(1)], IDENTITY)), pa.array([0], pa.int64()), pa.array([0], INSTANT)],
        names=["identity", "offset", "clock"],
    )
    assert resolve(transactions, known, [5], WINDOW).duplicates["first_offset"].to_pylist() == [0]


def test_nothing_in_gives_nothing_out() -> None:
    resolved = Stored().take([])
    assert [table.num_rows for table in (resolved.first_copies, resolved.duplicates, resolved.identities)] == [0, 0, 0]
    assert len(resolved.expired) == 0


LOG = st.lists(st.builds(Seen, st.none() | st.integers(0, 3), st.integers(0, 40)), max_size=25)


@settings(deadline=None)
@given(LOG, st.lists(st.integers(1, 24), max_size=6), st.booleans())
def test_any_cut_of_the_log_into_batches_gives_the_same(log: list[Seen], cuts: list[int], prune: bool) -> None:
    whole = Stored()
    whole.take(log)
    pieces = Stored()
    edges = sorted({0, len(log), *(cut for cut in cuts if cut < len(log))})
    for start, end in pairwise(edges):
        pieces.take(log[start:end], prune)
    assert pieces.first == whole.first
    assert pieces.duplicates == whole.duplicates
    assert pieces.identities == whole.identities
    assert pieces.clock == whole.clock
    assert len(whole.first) + len(whole.duplicates) == sum(seen.what is not None for seen in log)
