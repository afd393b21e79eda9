"""Half up on the decimal text of a double: at, beside and far from the halves."""

import math
from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comporta.judging.scoring import half_up


def slow(value: float, decimals: int) -> float:
    """As a person would: write the double down, round what is written."""
    if not math.isfinite(value):
        return value
    written = Decimal(repr(value))
    return float(written.quantize(Decimal(1).scaleb(-decimals), context=Context(prec=400, rounding=ROUND_HALF_UP))) + 0.0


def same(one: float, other: float) -> bool:
    return np.float64(one).tobytes() == np.float64(other).tobytes() or (math.isnan(one) and math.isnan(other))


KNOWN = [
    (1.005, 1.01),  # the double is a little below 1.005, the decimal is not
    (2.675, 2.68),
    (1.115, 1.12),
    (0.285, 0.29),
    (79.995, 80.0),
    (79.99499999999999, 79.99),
    (-1.005, -1.01),
    (-0.004, 0.0),
    (-0.0, 0.0),
    (0.005, 0.01),
    (0.004999999999999999, 0.0),
    (1e300, 1e300),
    (4503599627370495.5, 4503599627370495.5),
    (9007199254740993.0, 9007199254740992.0),
    (70368744177663.985, 70368744177663.98),
    (5e-324, 0.0),
    (math.inf, math.inf),
    (-math.inf, -math.inf),
]


@pytest.mark.parametrize(("value", "rounded"), KNOWN)
def test_a_half_goes_away_from_zero_as_it_is_written(value: float, rounded: float) -> None:
    assert same(half_up(np.array([value]), 2)[0], rounded)


def test_what_is_not_a_number_stays_so() -> None:
    assert np.isnan(half_up(np.array([math.nan]), 2)[0])


def beside(value: float) -> st.SearchStrategy[float]:
    return st.sampled_from([value, math.nextafter(value, math.inf), math.nextafter(value, -math.inf)])


HALVES = st.integers(-20_000_000, 20_000_000).map(lambda thousandths: (10 * thousandths + 5) / 1000).flatmap(beside)
LARGE_HALVES = st.integers(-(2**52), 2**52).map(lambda number: number / 1000).flatmap(beside)


@settings(max_examples=200, deadline=None)
@given(st.lists(HALVES | LARGE_HALVES | st.floats(), max_size=20), st.integers(0, 6))
def test_rounding_equals_that_of_the_written_decimal(values: list[float], decimals: int) -> None:
    rounded = half_up(np.array(values, dtype=np.float64), decimals)
    assert all(same(one, slow(value, decimals)) for one, value in zip(rounded.tolist(), values, strict=True))
