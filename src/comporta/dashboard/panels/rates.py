"""Transactions and alerts per second over the last minutes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from comporta.dashboard import phrases
from comporta.dashboard.recent import WINDOW, Recent, pulses
from comporta.dashboard.snapshot import Snapshot
from comporta.postgres.page_queries import Commit, Reading

STEP = timedelta(seconds=2)
STEPS = int(WINDOW / STEP)
_NOW = 5
# A batch took the time since the one before; after a longer pause nobody knows, and it stands in a step of its own.
_SPREAD = timedelta(seconds=10)
# For so long after a commit the next batch may be under way, and what it brings will count for that time.
_UNDER_WAY = timedelta(seconds=6)


@dataclass(frozen=True)
class Rates:
    """Per step of time what was committed in it, per second; null is unknown. The last step ends at `end_ms`."""

    end_ms: int | None
    step_ms: int
    transactions: tuple[float | None, ...]
    alerts: tuple[float | None, ...]
    summary: str


@dataclass(frozen=True)
class _Steps:
    end: datetime
    transactions: tuple[float | None, ...]
    alerts: tuple[float | None, ...]


def view(snapshot: Snapshot, now: float) -> Rates:
    steps = _steps(snapshot, now)
    milliseconds = int(STEP.total_seconds() * 1000)
    if steps is None:
        return Rates(None, milliseconds, (), (), "Nothing is known yet.")
    transactions, alerts = rates_now(snapshot, now)
    highest = max((value for value in steps.transactions if value is not None), default=None)
    summary = (
        f"Committed per second over the last five minutes: now {phrases.rate(transactions)} transactions and {phrases.rate(alerts)} alerts;"
        f" at most {phrases.rate(highest)} transactions."
    )
    return Rates(round(steps.end.timestamp() * 1000), milliseconds, steps.transactions, steps.alerts, summary)


def rates_now(snapshot: Snapshot, now: float) -> tuple[float | None, float | None]:
    """Transactions and alerts per second over the last ten seconds that are known; unknown while the database is away."""
    steps = _steps(snapshot, now)
    if steps is None or snapshot.database.silent_for(now) is not None:
        return None, None
    return _mean(steps.transactions[-_NOW:]), _mean(steps.alerts[-_NOW:])


def _steps(snapshot: Snapshot, now: float) -> _Steps | None:
    memory, reading, clock = snapshot.memory, snapshot.reading, snapshot.clock(now)
    if memory is None or reading is None or clock is None:
        return None
    end = _whole_steps(_edge(reading, memory, clock, away=snapshot.database.silent_for(now) is not None))
    transactions, alerts = per_second(memory.commits, end)
    starts = [end - (STEPS - index) * STEP for index in range(STEPS)]
    known = [memory.known_since <= start and start + STEP <= reading.at for start in starts]
    return _Steps(end, _only(transactions, known), _only(alerts, known))


def _edge(reading: Reading, memory: Recent, clock: datetime, *, away: bool) -> datetime:
    """Up to when the rates are drawn: the last commit while the next batch may still be under way, else the last look, else the present."""
    if away:
        return clock
    last = memory.commits[-1].committed_at if memory.commits else None
    return last if last is not None and clock - last < _UNDER_WAY else reading.at


def per_second(commits: Sequence[Commit], end: datetime) -> tuple[list[float], list[float]]:
    """Transactions and alerts per second for each step before `end`; a batch counts evenly over the time since the one before."""
    start = end - STEPS * STEP
    rows, alarms = [0.0] * STEPS, [0.0] * STEPS
    for at, before, transactions, raised in pulses(commits):
        begin = before if before is not None and at - before <= _SPREAD else at - STEP
        for index, part in _shares(begin, at, start):
            if 0 <= index < STEPS:
                rows[index] += transactions * part
                alarms[index] += raised * part
    seconds = STEP.total_seconds()
    return [amount / seconds for amount in rows], [amount / seconds for amount in alarms]


def _shares(begin: datetime, end: datetime, origin: datetime) -> list[tuple[int, float]]:
    """Which steps (counted from `origin`) the time from begin to end falls into, and with which part of it."""
    if end <= begin:
        return [(int((end - origin) // STEP), 1.0)]
    low, high = (begin - origin) / STEP, (end - origin) / STEP
    indices = range(int(low // 1), int(-(-high // 1)))
    return [(index, (min(high, index + 1) - max(low, index)) / (high - low)) for index in indices]


def _whole_steps(at: datetime) -> datetime:
    seconds = STEP.total_seconds()
    return datetime.fromtimestamp(at.timestamp() // seconds * seconds, tz=at.tzinfo)


def _only(values: Sequence[float], known: Sequence[bool]) -> tuple[float | None, ...]:
    return tuple(round(value, 2) if yes else None for value, yes in zip(values, known, strict=True))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
