"""The limits of lag that the engineers know, as notes beside the figures. A band says how large a backlog is, never whether it shrinks."""

from enum import StrEnum

INVESTIGATE_FROM = 10_000
LARGE_ABOVE = 50_000
CRITICAL_ABOVE = 500_000


class Band(StrEnum):
    """From nothing to the most; UNKNOWN is none of them, and least of all NONE."""

    NONE = "none"
    SMALL = "small"
    INVESTIGATE = "investigate"
    LARGE = "large"
    CRITICAL = "critical"
    UNKNOWN = "unknown"


NOTES = {
    Band.NONE: "nothing waits",
    Band.SMALL: f"below {INVESTIGATE_FROM:,}: a small delay",
    Band.INVESTIGATE: f"{INVESTIGATE_FROM:,} and more: investigate if it stays so for five minutes",
    Band.LARGE: f"above {LARGE_ABOVE:,}: a backlog, find out what holds it",
    Band.CRITICAL: f"above {CRITICAL_ABOVE:,}: critical; it drains batch by batch, so nothing has to be deleted",
    Band.UNKNOWN: "unknown: a figure is missing",
}


def band(messages: int | None) -> Band:
    """The band of a lag in messages."""
    if messages is None:
        return Band.UNKNOWN
    if messages > CRITICAL_ABOVE:
        return Band.CRITICAL
    if messages > LARGE_ABOVE:
        return Band.LARGE
    if messages >= INVESTIGATE_FROM:
        return Band.INVESTIGATE
    return Band.SMALL if messages > 0 else Band.NONE
