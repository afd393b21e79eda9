"""Lag is the distance between position and end; what is not known is not zero."""

import pytest

from comporta.gate.bands import Band
from comporta.gate.lag import PartitionLag, lag, partition_lag

NOW = 1_000_000_000


@pytest.mark.parametrize(
    ("sentence", "place", "readable", "oldest", "expected"),
    [
        ("at the end nothing waits", 5, (0, 5), None, (0, 0.0, 0)),
        ("an empty log that was read has no lag", 0, (0, 0), None, (0, 0.0, 0)),
        ("behind the end, the oldest unread message says how long", 2, (0, 5), NOW - 7_500_000, (3, 7.5, 0)),
        ("without the age of the oldest, the seconds are unknown and not zero", 2, (0, 5), None, (3, None, 0)),
        ("a message from a clock ahead of ours is not negative seconds old", 2, (0, 5), NOW + 1, (3, 0.0, 0)),
        ("without a position nothing is known", None, (0, 5), NOW, (None, None, 0)),
        ("without the log nothing is known", 5, None, NOW, (None, None, 0)),
        ("a log that ends before the position says nothing of the lag", 9, (0, 5), NOW, (None, None, 0)),
        ("what the log let go before it was read is counted", 2, (4, 9), NOW - 1_000_000, (7, 1.0, 2)),
    ],
)
def test_a_partition(
    sentence: str, place: int | None, readable: tuple[int, int] | None, oldest: int | None, expected: tuple[int | None, float | None, int]
) -> None:
    end = None if readable is None else readable[1]
    assert partition_lag(0, place, readable, oldest, NOW) == PartitionLag(0, place, end, *expected), sentence


def test_messages_add_up_and_the_oldest_partition_gives_the_seconds() -> None:
    found = lag({0: 1, 1: 2}, {0: (0, 4), 1: (0, 10)}, {0: NOW - 2_000_000, 1: NOW - 1_000_000}, NOW)
    assert (found.messages, found.seconds, found.band) == (11, 2.0, Band.SMALL)


def test_one_unknown_partition_makes_the_sum_unknown() -> None:
    found = lag({0: 4}, {0: (0, 4), 1: (0, 10)}, {}, NOW)
    assert (found.messages, found.seconds, found.band) == (None, None, Band.UNKNOWN)
    assert [part.messages for part in found.partitions] == [0, None]


def test_a_partition_that_only_the_reader_knows_is_shown_as_unknown() -> None:
    found = lag({0: 4, 3: 2}, {0: (0, 4)}, {}, NOW)
    assert [(part.partition, part.messages) for part in found.partitions] == [(0, 0), (3, None)]
    assert found.messages is None


def test_no_partitions_at_all_are_unknown_and_not_zero() -> None:
    found = lag({}, {}, {}, NOW)
    assert (found.messages, found.seconds, found.band) == (None, None, Band.UNKNOWN)
