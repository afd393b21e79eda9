"""Transactions and alerts per second, from the times of the commits."""

from dataclasses import replace

import pytest

from comporta.dashboard.panels import rates
from comporta.dashboard.panels.rates import STEP, STEPS, per_second, rates_now
from comporta.dashboard.recent import WINDOW
from comporta.dashboard.snapshot import Health
from support.snapshots import NOON, NOW, before, commit, healthy


def test_nothing_of_a_batch_is_lost_or_doubled_when_it_is_spread_over_steps() -> None:
    batches = tuple(commit(200 - 1.7 * number, 100, HIGH=7) for number in range(100))
    rows, alarms = per_second(batches, NOON)
    assert sum(rows) * STEP.total_seconds() == pytest.approx(100 * 100)
    assert sum(alarms) * STEP.total_seconds() == pytest.approx(100 * 7)


def test_a_batch_counts_evenly_for_the_time_since_the_one_before() -> None:
    rows, _ = per_second((commit(10, 1), commit(4, 600)), NOON)
    assert rows[-5:-2] == [100.0, 100.0, 100.0]
    assert rows[-2:] == [0.0, 0.0]


def test_after_a_long_pause_a_batch_stands_in_its_own_step() -> None:
    rows, _ = per_second((commit(100, 1), commit(2, 600)), NOON)
    assert rows[-2] == 300.0
    assert sum(rows[-49:-2]) == 0.0


def test_a_batch_of_two_partitions_is_spread_once() -> None:
    rows, _ = per_second((commit(4, 1, batch=1), commit(2, 30, batch=2), commit(2, 70, batch=2, partition=1)), NOON)
    assert rows[-2] == 50.0


def test_while_the_next_batch_may_be_under_way_the_rates_end_at_the_last_commit() -> None:
    shown = rates.view(healthy(commits=(commit(8, 200), commit(4, 800))), NOW)
    assert shown.end_ms == round(before(4).timestamp() * 1000)
    assert shown.transactions[-1] == 200.0


def test_a_line_that_has_nothing_to_do_falls_to_zero() -> None:
    snapshot = healthy(commits=(commit(30, 200), commit(29, 200)))
    assert rates_now(snapshot, NOW) == (0.0, 0.0)
    assert rates.view(snapshot, NOW).transactions[-1] == 0.0


def test_what_was_before_the_first_look_is_unknown_and_not_zero() -> None:
    shown = rates.view(healthy(commits=(commit(20, 200),), known_since=before(60)), NOW)
    assert len(shown.transactions) == STEPS
    assert shown.transactions[: STEPS - 30] == (None,) * (STEPS - 30)
    assert None not in shown.transactions[STEPS - 30 :]


def test_while_the_database_is_away_the_rates_of_now_are_unknown() -> None:
    snapshot = healthy(commits=(commit(2, 200), commit(0, 200)))
    assert rates_now(snapshot, NOW + 4) == (None, None)
    later = NOW + 20
    assert rates_now(snapshot, later) == (None, None)
    shown = rates.view(snapshot, later)
    assert shown.transactions[-10:] == (None,) * 10
    assert shown.transactions[-11] is not None


def test_nothing_known_is_nothing_shown() -> None:
    shown = rates.view(replace(healthy(), reading=None, memory=None, database=Health(None, "no answer")), NOW)
    assert (shown.end_ms, shown.transactions, shown.summary) == (None, (), "Nothing is known yet.")


def test_the_summary_tells_in_words_what_the_picture_shows() -> None:
    batches = tuple(commit(WINDOW.total_seconds() - 2 * number, 400, CRITICAL=4) for number in range(150))
    assert rates.view(healthy(commits=batches), NOW).summary == (
        "Committed per second over the last five minutes: now 200 transactions and 2.0 alerts; at most 200 transactions."
    )
