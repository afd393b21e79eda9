"""How far behind the line is said to be."""

from dataclasses import replace

import pytest

from comporta.dashboard.lags import line_lag, stands_still, without_lag
from comporta.dashboard.panels import lag
from comporta.dashboard.phrases import UNKNOWN
from comporta.dashboard.recent import Recent
from comporta.dashboard.snapshot import Ends, Health, Snapshot
from support.snapshots import NOON, NOW, before, healthy


def test_a_lag_is_the_distance_from_the_position_to_the_end_of_the_log() -> None:
    snapshot = healthy(positions={0: 90, 1: 7}, ends={0: (0, 100), 1: (0, 7)})
    shown = lag.view(snapshot, NOW)
    assert [(row.partition, row.position, row.end, row.lag) for row in shown.partitions] == [(0, "90", "100", "10"), (1, "7", "7", "0")]


def test_while_kafka_is_away_the_lag_is_unknown_and_not_zero() -> None:
    shown = lag.view(replace(healthy(), kafka=Health(NOW - 10, "no answer")), NOW)
    assert [(row.position, row.end, row.lag, row.behind, row.tone) for row in shown.partitions] == [
        ("100", UNKNOWN, UNKNOWN, UNKNOWN, "unknown")
    ]


def test_while_postgresql_is_away_the_lag_is_unknown_and_not_zero() -> None:
    snapshot = replace(healthy(), database=Health(NOW - 10, "no answer"), kafka=Health(NOW))
    assert line_lag(snapshot, NOW).messages is None


def test_a_partition_that_the_ledger_does_not_know_is_unread_from_its_beginning() -> None:
    assert line_lag(healthy(positions={0: 100}, ends={0: (0, 100), 1: (0, 40)}), NOW).messages == 40


def test_the_end_of_the_log_is_compared_with_the_positions_of_its_own_moment_not_with_later_ones() -> None:
    snapshot = replace(healthy(positions={0: 105}), ends=Ends({0: (0, 100)}, places={0: 90}))
    assert line_lag(snapshot, NOW).messages == 10


def test_a_log_that_was_asked_before_any_line_was_known_says_nothing_of_a_lag() -> None:
    assert line_lag(replace(healthy(), ends=Ends({0: (0, 100)}, places=None)), NOW).messages is None


def test_a_log_that_ends_before_the_position_is_said_to_be_cut() -> None:
    (row,) = lag.view(healthy(positions={0: 105}, ends={0: (0, 100)}), NOW).partitions
    assert (row.lag, row.tone, row.note) == (UNKNOWN, "bad", "the log ends before the line's position")


def test_messages_deleted_unread_are_counted() -> None:
    (row,) = lag.view(healthy(positions={0: 10}, ends={0: (60, 100)}), NOW).partitions
    assert (row.tone, row.note) == ("bad", "50 were deleted unread")


@pytest.mark.parametrize(
    ("messages", "tone"),
    [(0, "good"), (9_999, "good"), (10_000, "note"), (50_000, "note"), (50_001, "warn"), (500_000, "warn"), (500_001, "bad")],
)
def test_the_bands_are_notes_beside_the_lag(messages: int, tone: str) -> None:
    assert lag.view(healthy(positions={0: 0}, ends={0: (0, messages)}), NOW).tone == tone


@pytest.mark.parametrize(
    ("messages", "width"), [(0, 0.0), (1, 0.0), (10, 1 / 6), (10_000, 4 / 6), (100_000, 5 / 6), (10**6, 1.0), (10**9, 1.0)]
)
def test_the_bar_grows_by_a_sixth_with_every_digit(messages: int, width: float) -> None:
    (row,) = lag.view(healthy(positions={0: 0}, ends={0: (0, messages)}), NOW).partitions
    assert row.width == pytest.approx(width, abs=1e-4)


def test_with_many_partitions_the_worst_are_shown_and_the_rest_is_counted() -> None:
    snapshot = healthy(positions=dict.fromkeys(range(40), 0), ends={number: (0, number) for number in range(40)})
    shown = lag.view(snapshot, NOW)
    assert [row.partition for row in shown.partitions] == list(range(28, 40))
    assert shown.more == "and 28 partitions with less"


def test_seconds_behind_count_from_the_last_record_judged_or_from_when_there_was_no_lag() -> None:
    behind = healthy(positions={0: 90})
    assert line_lag(behind, NOW).seconds == 30.0  # the clock of the partition, see healthy()
    assert line_lag(replace(behind, no_lag_at={0: before(2)}), NOW).seconds == 2.0


def test_a_partition_seen_without_lag_is_noted_with_the_time() -> None:
    snapshot = replace(healthy(positions={0: 100, 1: 5}, ends={0: (0, 100), 1: (0, 9)}), no_lag_at={1: before(8)})
    assert without_lag(snapshot, NOW) == {0: NOON, 1: before(8)}


def waiting(moved: float, no_lag: float | None, ends: int = 100) -> Snapshot:
    snapshot = healthy(positions={0: 90}, ends={0: (0, ends)})
    memory = snapshot.memory
    assert isinstance(memory, Recent)
    return replace(snapshot, memory=replace(memory, moved_at=before(moved)), no_lag_at={} if no_lag is None else {0: before(no_lag)})


def test_a_line_that_does_not_move_while_messages_wait_stands_still() -> None:
    assert stands_still(waiting(moved=42, no_lag=None), NOW) == 42.0


def test_a_line_that_was_idle_until_a_message_came_does_not_stand_still() -> None:
    assert stands_still(waiting(moved=600, no_lag=1), NOW) is None
    assert stands_still(waiting(moved=600, no_lag=20), NOW) == 20.0


def test_a_line_without_anything_to_do_does_not_stand_still() -> None:
    assert stands_still(waiting(moved=600, no_lag=None, ends=90), NOW) is None
