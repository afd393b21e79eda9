"""Every offset of a batch is in exactly one class, or the batch is refused."""

from typing import Any

import pyarrow as pa
import pytest

from comporta.postgres.accounting import account, by_partition, length
from comporta.postgres.digests import digest
from comporta.words.batches import PartitionStep
from comporta.words.errors import Bug


def rows(*places: tuple[int, int]) -> pa.Table:
    return pa.table({"partition": pa.array([p for p, _ in places], pa.int32()), "offset": pa.array([o for _, o in places], pa.int64())})


def step(partition: int, start: int, end: int, **counts: Any) -> PartitionStep:
    zero: dict[str, Any] = {"transactions": 0, "dead_letters": 0, "duplicates": 0, "tombstones": 0}
    return PartitionStep(partition, start, end, **(zero | counts))


def test_all_classes_together_cover_the_range() -> None:
    steps = [
        step(
            0, 10, 20, transactions=3, dead_letters=2, duplicates=1, tombstones=3, tombstone_offsets=((12, 14), (19, 20)), gaps=((15, 16),)
        ),
        step(3, 0, 1, transactions=1),
        step(4, 7, 7),
    ]
    tables = {
        "decisions": rows((3, 0), (0, 10), (0, 18), (0, 11)),
        "dead_letters": rows((0, 14), (0, 16)),
        "duplicates": rows((0, 17)),
    }
    digests = account(steps, tables)
    assert set(digests[0]) == {"decisions", "dead_letters", "duplicates"}
    assert digests[3] == {"decisions": digest(rows((3, 0))).hex()}
    assert digests[4] == {}
    assert digests[0]["decisions"] == digest(rows((0, 10), (0, 11), (0, 18))).hex()


@pytest.mark.parametrize(
    ("steps", "tables", "complaint"),
    [
        pytest.param([step(0, 0, 3, transactions=3)], {"decisions": rows((0, 0), (0, 2))}, "claims", id="a row is missing"),
        pytest.param(
            [step(0, 0, 3, transactions=2)], {"decisions": rows((0, 0), (0, 2))}, "spans 3 offsets.* 2, 2", id="an offset is nowhere"
        ),
        pytest.param(
            [step(0, 0, 2, transactions=2)],
            {"decisions": rows((0, 0), (0, 0))},
            "name 2, 1 of them distinct",
            id="an offset is there twice",
        ),
        pytest.param(
            [step(0, 0, 2, transactions=2, dead_letters=1)],
            {"decisions": rows((0, 0), (0, 1)), "dead_letters": rows((0, 1))},
            "spans 2 offsets.* 3, 2",
            id="an offset is in two classes",
        ),
        pytest.param([step(0, 0, 2, transactions=2)], {"decisions": rows((0, 0), (0, 2))}, "spans", id="a row lies outside"),
        pytest.param([step(0, 0, 1, dead_letters=1)], {"decisions": rows((0, 0))}, "claims", id="a row is in the wrong class"),
        pytest.param(
            [step(0, 0, 1, transactions=1)], {"decisions": rows((0, 0), (1, 0))}, "does not name", id="a partition that was not planned"
        ),
        pytest.param([step(0, 0, 1), step(0, 1, 2)], {}, "twice", id="a partition is named twice"),
        pytest.param(
            [step(0, 0, 2, tombstones=1, tombstone_offsets=((0, 2),))], {}, "1 tombstones and names 2", id="tombstones do not agree"
        ),
        pytest.param([step(0, 5, 3)], {}, "backwards", id="a range that runs backwards"),
        pytest.param([step(0, 0, 1, gaps=((0, 1),), last_offset=0)], {}, "go together", id="a last record without its hash"),
        pytest.param([step(0, 0, 1, gaps=((0, 1),), last_offset=1, last_hash=b"x")], {}, "outside", id="a last record beyond the end"),
    ],
)
def test_a_batch_that_does_not_account_for_every_offset_once_is_refused(
    steps: list[PartitionStep], tables: dict[str, pa.Table], complaint: str
) -> None:
    with pytest.raises(Bug, match=complaint):
        account(steps, tables)


def test_rows_are_parted_by_partition_in_the_order_of_their_offsets() -> None:
    parted = {partition: table.column("offset").to_pylist() for partition, table in by_partition(rows((1, 5), (0, 3), (1, 4), (0, 1)))}
    assert parted == {0: [1, 3], 1: [4, 5]}
    assert list(by_partition(rows())) == []


def test_the_length_of_ranges_counts_offsets() -> None:
    assert length(((2, 5), (9, 10))) == 4
