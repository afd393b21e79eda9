"""What the page remembers between two looks at the database: totals, the commits of the last minutes, and since when the line stands still.

Pure: a memory and a reading go in, the next memory comes out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from comporta.postgres.page_queries import Commit, Reading, Seen, Totals

WINDOW = timedelta(minutes=5)
# The rate at the left edge of the chart needs the commit before it.
MARGIN = timedelta(seconds=45)


@dataclass(frozen=True)
class Recent:
    """The memory. Nothing is known of the time before `known_since`; `moved_at` is when the line was last seen to move."""

    seen: Seen
    totals: Totals
    commits: tuple[Commit, ...]
    known_since: datetime
    last_commit: datetime | None
    moved_at: datetime


def remember(memory: Recent | None, reading: Reading) -> Recent | None:
    """The memory after a reading; None while no line has run."""
    if reading.owner is None:
        return None
    seen = Seen(reading.owner.topic_id, {position.partition: position.next_offset for position in reading.positions})
    if reading.totals is not None:
        since = reading.known_since or reading.at
        return Recent(seen, reading.totals, reading.commits, since, reading.last_commit, moved_at=reading.at)
    if memory is None:
        return None
    oldest = reading.at - WINDOW - MARGIN
    return Recent(
        seen=seen,
        totals=_added(memory.totals, reading.commits),
        commits=tuple(commit for commit in (*memory.commits, *reading.commits) if commit.committed_at >= oldest),
        known_since=max(memory.known_since, oldest),
        last_commit=reading.last_commit,
        moved_at=memory.moved_at if seen == memory.seen else reading.at,
    )


def pulses(commits: Sequence[Commit]) -> list[tuple[datetime, datetime | None, int, int]]:
    """Per batch: when it was committed, when the one before it was, its transactions, its alerts."""
    batches: dict[int, list[Commit]] = {}
    for commit in commits:
        batches.setdefault(commit.batch, []).append(commit)
    found: list[tuple[datetime, datetime | None, int, int]] = []
    before: datetime | None = None
    for parts in batches.values():
        at = max(part.committed_at for part in parts)
        found.append((at, before, sum(part.transactions for part in parts), sum(part.alerts for part in parts)))
        before = at
    return found


def _added(totals: Totals, commits: Sequence[Commit]) -> Totals:
    levels = dict(totals.levels)
    for commit in commits:
        for level, rows in commit.levels.items():
            levels[level] = levels.get(level, 0) + rows
    return Totals(
        transactions=totals.transactions + sum(commit.transactions for commit in commits),
        amount_cents=totals.amount_cents + sum(commit.amount_cents for commit in commits),
        alerts=totals.alerts + sum(commit.alerts for commit in commits),
        alert_amount_cents=totals.alert_amount_cents + sum(commit.alert_amount_cents for commit in commits),
        levels=levels,
    )
