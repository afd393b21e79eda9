"""Numbers as people read them."""

import pytest

from comporta.dashboard import phrases
from comporta.dashboard.phrases import UNKNOWN


@pytest.mark.parametrize(
    ("number", "told"),
    [(None, UNKNOWN), (0, "0"), (7, "7"), (1_234, "1,234"), (9_999_999, "9,999,999"), (12_345_678, "12.35 M"), (1_234_567_890, "1.23 bn")],
)
def test_a_count_has_its_digits_in_groups_and_becomes_millions_only_when_it_is_long(number: int | None, told: str) -> None:
    assert phrases.count(number) == told


@pytest.mark.parametrize(
    ("per_second", "told"),
    [
        (None, UNKNOWN),
        (0.0, "0"),
        (0.04, "< 0.1"),
        (6.24, "6.2"),
        (9.97, "10"),
        (203.4, "203"),
        (999.6, "1,000"),
        (12_439.0, "12,400"),
        (1e6, "1,000,000"),
    ],
)
def test_a_rate_has_the_digits_that_mean_something(per_second: float | None, told: str) -> None:
    assert phrases.rate(per_second) == told


@pytest.mark.parametrize(
    ("cents", "told"),
    [
        (None, UNKNOWN),
        (0, "R$ 0.00"),
        (123_456, "R$ 1,234.56"),
        (99_999_999, "R$ 999,999.99"),
        (1_234_567_800, "R$ 12.35 M"),
        (10**12, "R$ 10.00 bn"),
    ],
)
def test_a_sum_of_money_keeps_its_cents_while_it_is_small(cents: int | None, told: str) -> None:
    assert phrases.money(cents) == told


@pytest.mark.parametrize(
    ("cents", "currency", "told"),
    [
        (5, "BRL", "R$ 0.05"),
        (9_007_199_254_740_993, "BRL", "R$ 90,071,992,547,409.93"),
        (1_200, "JPY", "JPY 12.00"),
        (1_200, None, "12.00 (currency unknown)"),
    ],
)
def test_a_payment_is_told_to_the_cent_in_its_own_currency(cents: int, currency: str | None, told: str) -> None:
    assert phrases.exact_money(cents, currency) == told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (None, UNKNOWN),
        (0.0, "0 s"),
        (-0.2, "0 s"),
        (0.44, "0.4 s"),
        (9.97, "10 s"),
        (59.7, "1 min 0 s"),
        (200.0, "3 min 20 s"),
        (7_500.0, "2 h 5 min"),
        (273_600.0, "3 d 4 h"),
    ],
)
def test_a_span_of_time_has_two_units_at_most(seconds: float | None, told: str) -> None:
    assert phrases.span(seconds) == told


@pytest.mark.parametrize(
    ("part", "whole", "told"), [(0, 0, UNKNOWN), (0, 10, "0.0 %"), (1, 3, "33.3 %"), (1, 100_000, "< 0.1 %"), (10, 10, "100.0 %")]
)
def test_a_share_of_nothing_is_unknown(part: int, whole: int, told: str) -> None:
    assert phrases.share(part, whole) == told
