"""Decimal text to integers, exactly: half a cent goes away from zero, and no double is ever in between."""


def scaled_half_up(number: str, places: int) -> int:
    """The JSON number as an integer of units of 10 ** -places, rounded HALF_UP on its decimal text; the number must be finite as a double."""
    mantissa, _, exponent = number.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = int(whole + fraction)
    if not digits:
        return 0
    shift = int(exponent or 0) + places - len(fraction)
    if shift >= 0:
        return digits * _power(shift)
    if -shift > len(mantissa):
        return 0
    unit = _power(-shift)
    rounded = (abs(digits) + unit // 2) // unit
    return -rounded if digits < 0 else rounded


def exact_integer(number: str) -> int | None:
    """The number when it is whole, however it is written (`12`, `12.0`, `1.2e1`), else None; it must be finite as a double."""
    mantissa, _, exponent = number.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = int(whole + fraction)
    if not digits:
        return 0
    shift = int(exponent or 0) - len(fraction)
    if shift >= 0:
        return digits * _power(shift)
    if -shift > len(mantissa):
        return None
    quotient, rest = divmod(abs(digits), _power(-shift))
    if rest:
        return None
    return -quotient if digits < 0 else quotient


def _power(exponent: int) -> int:
    ten: int = 10**exponent
    return ten
