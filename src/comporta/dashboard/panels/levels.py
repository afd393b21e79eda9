"""What was decided: how many of each level, lately and in all."""

from dataclasses import dataclass
from datetime import timedelta

from comporta.dashboard import phrases
from comporta.dashboard.recent import WINDOW
from comporta.dashboard.snapshot import Snapshot
from comporta.words.levels import Action, Level

_ACTIONS = {
    Level.CRITICAL: Action.BLOCK,
    Level.HIGH: Action.REVIEW,
    Level.MEDIUM: Action.MONITOR,
    Level.LOW: Action.ACCEPT_LOG,
    Level.NORMAL: Action.ACCEPT,
}


@dataclass(frozen=True)
class LevelRow:
    level: str
    action: str
    recent: str
    recent_share: str
    width: float
    total: str


@dataclass(frozen=True)
class Levels:
    rows: tuple[LevelRow, ...]
    span: str
    summary: str


def view(snapshot: Snapshot, now: float) -> Levels:
    memory, clock = snapshot.memory, snapshot.clock(now)
    if memory is None or clock is None:
        empty = tuple(LevelRow(level, phrases.action(_ACTIONS[level]), *(phrases.UNKNOWN,) * 2, 0.0, phrases.UNKNOWN) for level in Level)
        return Levels(empty, "last 5 min", "Nothing is known yet.")
    since = max(memory.known_since, clock - WINDOW)
    recent = {level: sum(commit.levels.get(level, 0) for commit in memory.commits if commit.committed_at >= since) for level in Level}
    whole = sum(recent.values())
    rows = tuple(
        LevelRow(
            level=level,
            action=phrases.action(_ACTIONS[level]),
            recent=phrases.count(recent[level]),
            recent_share=phrases.share(recent[level], whole),
            width=round(recent[level] / whole, 4) if whole else 0.0,
            total=phrases.count(memory.totals.levels.get(level, 0)),
        )
        for level in Level
    )
    length = (
        "last 5 min" if clock - since >= WINDOW - timedelta(seconds=2) else f"last {phrases.whole_span((clock - since).total_seconds())}"
    )
    told = ", ".join(f"{row.level} {row.recent}" for row in rows)
    return Levels(rows, length, f"Decisions by level, {length}: {told}.")
