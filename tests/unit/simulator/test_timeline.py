"""When a run begins, where nobody has said so."""

from datetime import UTC, datetime
from itertools import islice

import pytest

from comporta.simulator.life import messages
from comporta.simulator.timeline import SEEDED_START, history, microseconds, steady

NOW = microseconds(datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC))
DAY = 86_400 * 1_000_000


@pytest.mark.parametrize(("count", "customers", "span"), [(1, None, None), (500, None, None), (3_000, 40, None), (3_000, None, 3_600.0)])
def test_a_past_that_ends_now_is_over_before_now(count: int, customers: int | None, span: float | None) -> None:
    for seed in range(5):
        plan = history(seed, count, end_us=NOW, customers=customers, span_seconds=span)
        *_, last = islice(messages(plan), count)
        assert plan.start_us < last.at_us < NOW


def test_a_run_with_a_seed_begins_on_the_same_day_whenever_it_runs() -> None:
    assert history(7, 1_000).start_us == microseconds(SEEDED_START)


def test_a_start_that_was_given_stands() -> None:
    assert history(7, 1_000, start_us=NOW).start_us == NOW


@pytest.mark.parametrize(("count", "customers"), [(20_000, 1_000), (132_088, 2_202), (3_000_000, 50_000)])
def test_a_longer_run_has_more_customers_and_not_busier_ones(count: int, customers: int) -> None:
    plan = history(7, count)
    assert plan.customers == customers
    assert plan.per_second == pytest.approx(customers * 3 / 86_400)


def test_no_history_is_longer_than_a_month() -> None:
    plan = history(7, 1_000_000, customers=1)
    assert 1_000_000 / plan.per_second * 1_000_000 <= 30 * DAY + 1


def test_a_span_spreads_the_messages_over_just_that() -> None:
    *_, last = islice(messages(history(7, 5_000, span_seconds=3_600.0)), 5_000)
    assert last.at_us - microseconds(SEEDED_START) == pytest.approx(3_600_000_000, rel=0.1)


def test_a_faster_bank_is_a_larger_one_up_to_a_bound() -> None:
    def customers(rate: float) -> int:
        return steady(7, NOW, rate, customers=None, fraud_rate=0.01, leak=False).customers

    assert [customers(rate) for rate in (0.01, 1.0, 10_000.0)] == [1_000, 28_800, 2_000_000]
