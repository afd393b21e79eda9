"""How the line and its sources do, and what a reader must know now."""

from dataclasses import dataclass
from datetime import timedelta

from comporta.dashboard import phrases
from comporta.dashboard.lags import BAD, GOOD, NOTE, UNKNOWN, WARN, line_lag, stands_still
from comporta.dashboard.panels.lag import is_cut
from comporta.dashboard.snapshot import Health, Snapshot
from comporta.postgres.page_queries import Owner

# Spark needs some seconds before a new line can commit anything.
_STARTING = timedelta(seconds=60)


@dataclass(frozen=True)
class Light:
    """A source or the line, in one or two words."""

    name: str
    tone: str
    text: str


@dataclass(frozen=True)
class Notice:
    """What a reader must know now, and what to do. The text stands still while it holds, so that it is read out once; the aside may change."""

    tone: str
    text: str
    aside: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Status:
    line: str
    topic: str
    lights: tuple[Light, ...]
    notices: tuple[Notice, ...]
    stale: bool
    as_of_ms: int | None
    age_ms: int | None


def view(snapshot: Snapshot, now: float) -> Status:
    reading = snapshot.reading
    return Status(
        line=snapshot.line,
        topic=snapshot.topic,
        lights=(
            _line_light(snapshot, now),
            _source_light("PostgreSQL", snapshot.database, now),
            _source_light("Kafka", snapshot.kafka, now),
        ),
        notices=(*_database_notices(snapshot, now), *_line_notices(snapshot, now), *_kafka_notices(snapshot, now)),
        stale=snapshot.database.silent_for(now) is not None,
        as_of_ms=round(reading.at.timestamp() * 1000) if reading else None,
        age_ms=round((now - snapshot.read_at) * 1000) if reading else None,
    )


def _source_light(name: str, health: Health, now: float) -> Light:
    if health.silent_for(now) is not None:
        return Light(name, BAD, "refuses" if health.refused else "away")
    return Light(name, UNKNOWN, "asking") if health.answered_at is None else Light(name, GOOD, "up")


def _line_light(snapshot: Snapshot, now: float) -> Light:
    if snapshot.reading is None or snapshot.database.silent_for(now) is not None:
        return Light("Line", UNKNOWN, "unknown")
    owner = snapshot.reading.owner
    if owner is None:
        return Light("Line", NOTE, "never ran")
    if not owner.alive:
        return Light("Line", BAD, "stopped")
    if _is_starting(snapshot, owner, now):
        return Light("Line", NOTE, "starting")
    if stands_still(snapshot, now) is not None:
        return Light("Line", BAD, "stands still")
    return Light("Line", GOOD, "running")


def _is_starting(snapshot: Snapshot, owner: Owner, now: float) -> bool:
    """Whether the line took ownership a moment ago and has not committed since."""
    clock = snapshot.clock(now)
    last = snapshot.memory.last_commit if snapshot.memory else None
    return clock is not None and clock - owner.since < _STARTING and (last is None or last < owner.since)


def _database_notices(snapshot: Snapshot, now: float) -> list[Notice]:
    health = snapshot.database
    if health.silent_for(now) is None:
        return []
    what = f"PostgreSQL refuses: {health.trouble}." if health.refused else "PostgreSQL is away."
    if snapshot.reading is None:
        return [Notice(BAD, f"{what} Nothing is known yet; the page fills by itself as soon as it answers.", remedy="comporta up")]
    text = f"{what} The figures are those of its last answer; the page goes on by itself."
    return [Notice(BAD, text, f"{phrases.whole_span(now - snapshot.read_at)} old", "comporta status")]


def _kafka_notices(snapshot: Snapshot, now: float) -> list[Notice]:
    health = snapshot.kafka
    if health.silent_for(now) is None:
        return []
    what = f"Kafka refuses: {health.trouble}." if health.refused else "Kafka is away."
    since = f"for {phrases.whole_span(now - health.answered_at)}" if health.answered_at is not None else ""
    return [Notice(WARN, f"{what} The lag is unknown.", since, "comporta status")]


def _line_notices(snapshot: Snapshot, now: float) -> list[Notice]:
    if snapshot.reading is None or snapshot.database.silent_for(now) is not None:
        return []
    owner = snapshot.reading.owner
    if owner is None:
        return [Notice(NOTE, f"No line has judged topic {snapshot.topic} yet.", remedy="comporta stream")]
    lag = line_lag(snapshot, now)
    waiting = f"{phrases.plural(lag.messages, 'message')} waiting" if lag.messages else ""
    found = []
    if not owner.alive:
        found.append(Notice(BAD, "The line is not running.", _aside(_last_commit(snapshot, now), waiting), "comporta stream"))
    elif not _is_starting(snapshot, owner, now) and (still := stands_still(snapshot, now)) is not None:
        found.append(
            Notice(
                BAD,
                "The line is there but commits nothing, while messages wait.",
                _aside(f"for {phrases.whole_span(still)}", waiting),
                "comporta logs line",
            )
        )
    for part in lag.partitions:
        if is_cut(part):
            text = f"Partition {part.partition}: the log ends before the line's position. It was cut, or made anew."
            found.append(Notice(BAD, text, f"{part.end_offset:,} before {part.next_offset:,}", "comporta doctor"))
        if part.gone:
            text = f"Partition {part.partition}: messages were deleted before anybody judged them."
            found.append(Notice(BAD, text, f"{part.gone:,}", "comporta doctor"))
    return found


def _last_commit(snapshot: Snapshot, now: float) -> str:
    clock = snapshot.clock(now)
    last = snapshot.memory.last_commit if snapshot.memory else None
    return f"last commit {phrases.whole_span((clock - last).total_seconds())} ago" if clock and last else ""


def _aside(*parts: str) -> str:
    return ", ".join(part for part in parts if part)
