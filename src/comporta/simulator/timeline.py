"""When a run begins, how busy it is, and how many customers it has, where the person who asks for it has not said so."""

from datetime import UTC, datetime
from math import ceil, sqrt

from comporta.simulator.life import RHYTHM, ZONE, Plan

SECOND = 1_000_000
_HOUR = 3600 * SECOND
_DAY_SECONDS = 86_400
PER_CUSTOMER_AND_DAY = 3
_FEWEST_CUSTOMERS = 1_000
_MOST_CUSTOMERS = 2_000_000  # each one seen costs memory: half a kilobyte
_MESSAGES_PER_CUSTOMER = 60
_LONGEST_DAYS = 30
_RHYTHM_FROM_DAYS = 2

# A run with a seed begins here unless told otherwise, so that its records are the same whenever it runs: a Monday, long past.
SEEDED_START = datetime(2025, 3, 10, tzinfo=ZONE)


def microseconds(instant: datetime) -> int:
    """Since 1970, in UTC."""
    return round((instant - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * SECOND)


def steady(seed: int, start_us: int, rate: float, *, customers: int | None, fraud_rate: float, leak: bool) -> Plan:
    """Events `rate` in a second, by day and by night, as when they happen now; a bank large enough for that, if none is given."""
    large = int(rate * _DAY_SECONDS / PER_CUSTOMER_AND_DAY)
    return Plan(
        seed=seed,
        start_us=start_us,
        customers=customers or min(max(large, _FEWEST_CUSTOMERS), _MOST_CUSTOMERS),
        per_second=rate,
        fraud_rate=fraud_rate,
        leak=leak,
        rhythm=False,
    )


def history(
    seed: int,
    count: int,
    *,
    start_us: int | None = None,
    end_us: int | None = None,
    customers: int | None = None,
    span_seconds: float | None = None,
    fraud_rate: float = 0.01,
    leak: bool = False,
) -> Plan:
    """A past: from `start_us`, or so that `count` events are over before `end_us`. Three a customer and day, more if it would take over a month."""
    people = customers or max(_FEWEST_CUSTOMERS, ceil(count / _MESSAGES_PER_CUSTOMER))
    per_second = PER_CUSTOMER_AND_DAY * people / _DAY_SECONDS
    rhythm = True
    if span_seconds is None:
        per_second = max(per_second, count / (_LONGEST_DAYS * _DAY_SECONDS))
    else:
        per_second = count / span_seconds
        rhythm = span_seconds >= _RHYTHM_FROM_DAYS * _DAY_SECONDS
    if start_us is None:
        start_us = microseconds(SEEDED_START) if end_us is None else _start_before(end_us, count, per_second, rhythm=rhythm)
    return Plan(seed, start_us, people, per_second, fraud_rate, leak, rhythm)


def _start_before(end_us: int, count: int, per_second: float, *, rhythm: bool) -> int:
    """Early enough that `count` events and what chance may add to their waits fit before the end."""
    needed = count + 4 * sqrt(count) + 10
    if not rhythm:
        return end_us - int(needed / per_second * SECOND)
    at = end_us
    while needed > 0:
        at -= _HOUR
        needed -= per_second * 3600 * RHYTHM[datetime.fromtimestamp(at // SECOND, ZONE).hour]
    return at
