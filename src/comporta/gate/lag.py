"""How far behind a reader is: its positions against the ends of the log. What is not known stays None and makes the sum None."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from comporta.gate.bands import Band, band


@dataclass(frozen=True)
class PartitionLag:
    """One partition. `messages` and `seconds` are None where they cannot be known; `gone` were removed from the log before they were read."""

    partition: int
    next_offset: int | None
    end_offset: int | None
    messages: int | None
    seconds: float | None
    gone: int


@dataclass(frozen=True)
class Lag:
    """A reader's lag over all partitions: messages add up, seconds are those of the partition furthest behind."""

    partitions: tuple[PartitionLag, ...]
    messages: int | None
    seconds: float | None

    @property
    def band(self) -> Band:
        """The band of the sum."""
        return band(self.messages)


def partition_lag(
    partition: int, next_offset: int | None, readable: tuple[int, int] | None, oldest_us: int | None, now_us: int
) -> PartitionLag:
    """`readable` is [earliest, latest) of the log, `oldest_us` the append time of the first record not yet read."""
    if next_offset is None or readable is None:
        return PartitionLag(partition, next_offset, None if readable is None else readable[1], None, None, 0)
    earliest, latest = readable
    if next_offset > latest:  # the log is shorter than what was read of it: no difference of the two means anything
        return PartitionLag(partition, next_offset, latest, None, None, 0)
    messages = latest - next_offset
    if messages == 0:
        seconds: float | None = 0.0
    else:
        seconds = None if oldest_us is None else max(now_us - oldest_us, 0) / 1_000_000
    return PartitionLag(partition, next_offset, latest, messages, seconds, max(earliest - next_offset, 0))


def lag(positions: Mapping[int, int], readable: Mapping[int, tuple[int, int]], oldest_us: Mapping[int, int], now_us: int) -> Lag:
    """Every partition that either the reader or the log knows."""
    numbers = sorted(set(positions) | set(readable))
    return _sum(partition_lag(number, positions.get(number), readable.get(number), oldest_us.get(number), now_us) for number in numbers)


def _sum(partitions: Iterable[PartitionLag]) -> Lag:
    parts = tuple(partitions)
    messages = [part.messages for part in parts if part.messages is not None]
    seconds = [part.seconds for part in parts if part.seconds is not None]
    return Lag(
        parts,
        sum(messages) if parts and len(messages) == len(parts) else None,
        max(seconds) if parts and len(seconds) == len(parts) else None,
    )
