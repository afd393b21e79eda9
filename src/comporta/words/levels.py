"""How grave a decision is and what the bank does about it."""

from enum import StrEnum


class Level(StrEnum):
    """From the gravest down; the order is the order of the class."""

    CRITICAL = "CRITICAL"
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"
    NORMAL = "NORMAL"


class Action(StrEnum):
    """What follows from a level, unless the pack says otherwise."""

    BLOCK = "BLOCK"
    REVIEW = "REVIEW"
    MONITOR = "MONITOR"
    ACCEPT_LOG = "ACCEPT_LOG"
    ACCEPT = "ACCEPT"
