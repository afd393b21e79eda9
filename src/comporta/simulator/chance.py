"""Where the simulator's chance comes from: one seed. Only sums, products and integers, so that every machine draws the same."""

import random
from collections.abc import Callable
from math import frexp  # exact: it takes a float apart

_MASK = 0xFFFFFFFFFFFFFFFF
_STEPS = 1024
_LN2 = 0.6931471805599453

Draw = Callable[[], float]


def draws(seed: int) -> Draw:
    """A source of numbers in [0, 1). Python promises that random() gives the same sequence for a seed in every version."""
    return random.Random(seed).random  # noqa: S311 - a simulation wants to be repeatable, not secret


def mix(number: int, salt: int) -> int:
    """64 bits that look like chance but belong to (number, salt) for ever: what is drawn here need not be remembered."""
    bits = (number * 0x9E3779B97F4A7C15 + salt * 0xD1B54A32D192ED03 + 0x2545F4914F6CDD1D) & _MASK
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & _MASK
    return bits ^ bits >> 31


def _ln(value: float) -> float:
    """Natural logarithm without the C library's, whose last bit differs between machines; for 0 < value ≤ 1."""
    fraction, halvings = frexp(value)
    ratio = (fraction - 1) / (fraction + 1)
    square, power, total = ratio * ratio, ratio, 0.0
    for odd in range(1, 40, 2):
        total += power / odd
        power *= square
    return 2 * total + halvings * _LN2


def _waits() -> tuple[float, ...]:
    raw = [-_ln((step + 0.5) / _STEPS) for step in range(_STEPS)]
    mean = sum(raw) / _STEPS
    return tuple(wait / mean for wait in raw)


# Quantiles of the exponential distribution with mean 1: the waits between events that do not know of each other.
WAITS = _waits()


def wait(draw: Draw) -> float:
    """A wait with mean 1."""
    return WAITS[int(draw() * _STEPS)]
