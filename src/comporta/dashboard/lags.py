"""The lag of the line as the page knows it; what is not known on both sides is unknown."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from comporta.dashboard.snapshot import Snapshot
from comporta.gate.bands import Band
from comporta.gate.lag import Lag, lag

GOOD, NOTE, WARN, BAD, UNKNOWN = "good", "note", "warn", "bad", "unknown"
TONES = {Band.NONE: GOOD, Band.SMALL: GOOD, Band.INVESTIGATE: NOTE, Band.LARGE: WARN, Band.CRITICAL: BAD, Band.UNKNOWN: UNKNOWN}
# A line that holds its lock, has messages before it and commits nothing for so long is not healthy, whatever its process says.
STANDSTILL = timedelta(seconds=15)


def line_lag(snapshot: Snapshot, now: float) -> Lag:
    """Positions and ends count only while their source answers."""
    clock, ends = snapshot.clock(now), snapshot.ends
    if clock is None or snapshot.database.silent_for(now) is not None:
        return lag({}, {}, {}, 0)
    if ends is None or snapshot.kafka.silent_for(now) is not None:
        return lag(snapshot.places or {}, {}, {}, 0)
    # A partition that the ledger does not know yet is entered at its beginning.
    places = {} if ends.places is None else {**dict.fromkeys(ends.ranges, 0), **ends.places}
    return lag(places, ends.ranges, _oldest_unread(snapshot), round(clock.timestamp() * 1_000_000))


def _oldest_unread(snapshot: Snapshot) -> dict[int, int]:
    """The earliest that the first unread record can have been appended: after the last one judged, and after the lag was last seen to be nothing."""
    marks: dict[int, datetime] = dict(snapshot.no_lag_at)
    for position in snapshot.reading.positions if snapshot.reading else ():
        if position.clock is not None:
            marks[position.partition] = max(position.clock, marks.get(position.partition, position.clock))
    return {partition: round(at.timestamp() * 1_000_000) for partition, at in marks.items()}


def without_lag(snapshot: Snapshot, now: float) -> Mapping[int, datetime]:
    """When each partition was last seen without lag, by what is known now."""
    clock = snapshot.clock(now)
    seen = {part.partition: clock for part in line_lag(snapshot, now).partitions if part.messages == 0 and clock is not None}
    return {**snapshot.no_lag_at, **seen}


def stands_still(snapshot: Snapshot, now: float) -> float | None:
    """Seconds for which the line has not moved although messages wait; None while it moves or has nothing to do."""
    clock, memory, reading = snapshot.clock(now), snapshot.memory, snapshot.reading
    if clock is None or memory is None or reading is None or reading.owner is None:
        return None
    waiting = [part.partition for part in line_lag(snapshot, now).partitions if part.messages]
    if not waiting:
        return None
    first = sorted(snapshot.no_lag_at[partition] for partition in waiting if partition in snapshot.no_lag_at)[:1]
    since = max(reading.owner.since, memory.moved_at, *first)
    return (clock - since).total_seconds() if clock - since > STANDSTILL else None
