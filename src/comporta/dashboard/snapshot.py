"""All that the page knows at a moment, as one value, and how its sources do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from comporta.dashboard.recent import Recent
from comporta.postgres.page_queries import Alert, Reading

# After so long without an answer a source counts as away; a look takes milliseconds and happens twice a second.
SILENCE = 3.0


@dataclass(frozen=True)
class Health:
    """How a source does, by the monotonic clock. `trouble` says in one line, without secrets, why the last attempt failed.

    `refused`: the source is there, and says no.
    """

    answered_at: float | None = None
    trouble: str = ""
    refused: bool = False

    def silent_for(self, now: float) -> float | None:
        """Seconds since its last answer, when they are too many; None while it answers. Infinite: it never did."""
        if self.answered_at is None:
            return float("inf") if self.trouble else None
        silence = now - self.answered_at
        return silence if silence > SILENCE else None


@dataclass(frozen=True)
class Ends:
    """The readable range of each partition, [earliest, latest), and the line's positions as they were known when that was asked.

    The two belong together: against positions of a later moment every lag would look too small. `places` is None while no line is known.
    """

    ranges: Mapping[int, tuple[int, int]]
    places: Mapping[int, int] | None


@dataclass(frozen=True)
class Snapshot:
    """All that is known. `read_at` is the monotonic time of `reading`; `no_lag_at` says when a partition was last seen without lag."""

    line: str
    topic: str
    database: Health = Health()
    kafka: Health = Health()
    reading: Reading | None = None
    read_at: float = 0.0
    memory: Recent | None = None
    alerts: tuple[Alert, ...] = ()
    ends: Ends | None = None
    no_lag_at: Mapping[int, datetime] = field(default_factory=dict)

    @property
    def places(self) -> Mapping[int, int] | None:
        """The line's positions; None while no line is known."""
        if self.reading is None or self.reading.owner is None:
            return None
        return {position.partition: position.next_offset for position in self.reading.positions}

    def clock(self, now: float) -> datetime | None:
        """The database's clock at `now`: commits are dated by it."""
        return self.reading.at + timedelta(seconds=now - self.read_at) if self.reading else None
