"""How far the line is behind the log, partition by partition."""

from dataclasses import dataclass

from comporta.dashboard import phrases
from comporta.dashboard.lags import BAD, TONES, line_lag
from comporta.dashboard.snapshot import Snapshot
from comporta.gate.bands import NOTES, band
from comporta.gate.lag import PartitionLag

_SHOWN_PARTITIONS = 12
# The bar is logarithmic, from one message to a million.
_DECADES = 6


@dataclass(frozen=True)
class PartitionRow:
    partition: int
    position: str
    end: str
    lag: str
    behind: str
    width: float
    tone: str
    note: str


@dataclass(frozen=True)
class LagPanel:
    note: str
    tone: str
    partitions: tuple[PartitionRow, ...]
    more: str


def view(snapshot: Snapshot, now: float) -> LagPanel:
    """With many partitions the worst are shown and the rest are counted."""
    lag = line_lag(snapshot, now)
    worst = sorted(lag.partitions, key=lambda part: (-1 if part.messages is None else -part.messages, part.partition))[:_SHOWN_PARTITIONS]
    rest = len(lag.partitions) - len(worst)
    return LagPanel(
        note=NOTES[lag.band],
        tone=TONES[lag.band],
        partitions=tuple(_row(part) for part in sorted(worst, key=lambda part: part.partition)),
        more=f"and {phrases.plural(rest, 'partition')} with less" if rest else "",
    )


def _row(part: PartitionLag) -> PartitionRow:
    tone, note = TONES[band(part.messages)], NOTES[band(part.messages)]
    if is_cut(part):
        tone, note = BAD, "the log ends before the line's position"
    if part.gone:
        tone, note = BAD, f"{part.gone:,} were deleted unread"
    return PartitionRow(
        partition=part.partition,
        position=phrases.count(part.next_offset),
        end=phrases.count(part.end_offset),
        lag=phrases.count(part.messages),
        behind=phrases.span(part.seconds),
        width=_width(part.messages),
        tone=tone,
        note=note,
    )


def is_cut(part: PartitionLag) -> bool:
    """Whether the log ends before what was already read of it."""
    return part.next_offset is not None and part.end_offset is not None and part.next_offset > part.end_offset


def _width(messages: int | None) -> float:
    """How far a lag reaches on the logarithmic bar: each digit of its number is one decade."""
    if not messages:
        return 0.0
    digits = len(str(messages)) - 1
    within = messages / float(f"1e{digits}") - 1
    return round(min((digits + within / 9) / _DECADES, 1.0), 4)
