"""Decimal text to cents: exact, half a cent away from zero."""

from decimal import ROUND_HALF_UP, Context, Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comporta.decoding.money import exact_integer, scaled_half_up

CENTS = [
    ("0", 0),
    ("-0.0", 0),
    ("1", 100),
    ("1.1", 110),
    ("10.25", 1025),
    ("0.005", 1),
    ("0.0049999999999999999999999", 0),
    ("1.005", 101),  # as a double it is 1.00499999999999989…
    ("2.675", 268),
    ("5000.004", 500000),
    ("5000.005", 500001),
    ("-1.005", -101),
    ("1e2", 10000),
    ("1.5E+1", 1500),
    ("12345e-5", 12),
    ("5e-3", 1),
    ("4e-3", 0),
    ("1e-400", 0),
    ("1e-999999999999999999999", 0),
    ("0e999999999999999999999", 0),
    ("0.1000000000000000055511151231257827021181583404541015625", 10),
]


@pytest.mark.parametrize(("text", "cents"), CENTS)
def test_cents_are_rounded_half_up_on_the_decimal_text(text: str, cents: int) -> None:
    assert scaled_half_up(text, 2) == cents


NUMBERS = st.from_regex(r"\A-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,2})?\Z")


@settings(deadline=None)
@given(NUMBERS)
def test_cents_equal_those_of_decimal_arithmetic(text: str) -> None:
    exact = Decimal(text).quantize(Decimal("0.01"), context=Context(prec=300, rounding=ROUND_HALF_UP))
    assert scaled_half_up(text, 2) == int(exact * 100)


@settings(deadline=None)
@given(NUMBERS)
def test_a_number_is_whole_when_decimal_arithmetic_says_so(text: str) -> None:
    exact = Decimal(text)
    assert exact_integer(text) == (int(exact) if exact == exact.to_integral_value() else None)
