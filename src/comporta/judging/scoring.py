"""Doubles rounded half up on the decimal text of the double, as Spark's `round` does: the shortest decimal that reads back as the double is rounded."""

from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np
from numpy.typing import NDArray

# Below this magnitude, x * 10^n differs from the decimal of x, shifted, by less than _NEAR, so only what lies that near to a half needs its decimal.
_SURE_BELOW = 2.0**32
_NEAR = 1e-5
# Doubles from here on are whole numbers.
_WHOLE_FROM = 2.0**53
_WIDE = Context(prec=60, rounding=ROUND_HALF_UP)


def half_up(values: NDArray[np.float64], decimals: int) -> NDArray[np.float64]:
    """Each value rounded to `decimals`, halves away from zero; what is not finite stays as it is."""
    scale = float(10**decimals)
    magnitudes = np.abs(values)
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = magnitudes * scale
        rounded = np.copysign(np.floor(scaled + 0.5) / scale, values)
        sure = (scaled < _SURE_BELOW) & (np.abs(scaled - np.floor(scaled) - 0.5) > _NEAR)
    for row in np.flatnonzero(~sure):
        rounded[row] = half_up_exact(float(values[row]), decimals)
    # A decimal has no negative zero.
    return rounded + 0.0


def half_up_exact(value: float, decimals: int) -> float:
    """One value, by its decimal text."""
    if not abs(value) < _WHOLE_FROM:
        return value
    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-decimals), context=_WIDE))
