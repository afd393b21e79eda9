"""Places where a test may kill or freeze the line; outside test mode a wish for one is refused."""

import os
import signal
from collections.abc import Callable
from enum import StrEnum

import structlog

from comporta.words.errors import Setup

log = structlog.get_logger()

Hook = Callable[[str], None]


class Point(StrEnum):
    """The moments of a batch at which dying hurts most, in their order."""

    AFTER_FETCH = "after_fetch"
    AFTER_LOCKS = "after_locks"
    AFTER_COPY = "after_copy"
    AFTER_COMMIT = "after_commit"


def no_crash(_point: str) -> None:
    """What every line outside a test does at a crash point: nothing."""


def crash_hook(wish: str | None, *, test_mode: bool) -> Hook:
    """Turn `POINT[:NTH[:kill|stop]]` into a hook that sends this process SIGKILL or SIGSTOP the NTH time that POINT is passed."""
    if not wish:
        return no_crash
    if not test_mode:
        raise Setup(
            "a crash point is set outside test mode", where="COMPORTA_TEST_CRASH", do="unset it, or set COMPORTA_TEST_MODE=1 in a test"
        )
    name, _, rest = wish.partition(":")
    nth, _, how = rest.partition(":")
    if name not in set(Point) or (nth and not nth.isdigit()) or how not in {"", "kill", "stop"}:
        raise Setup(
            f"{wish!r} is no crash point",
            where="COMPORTA_TEST_CRASH",
            do="use POINT[:NTH[:kill|stop]] with POINT one of " + ", ".join(Point),
        )
    left = int(nth or 1)

    def hook(point: str) -> None:
        nonlocal left
        if point != name or left == 0:
            return
        left -= 1
        if left == 0:
            log.warning("crash_point", point=point, how=how or "kill")
            os.kill(os.getpid(), signal.SIGSTOP if how == "stop" else signal.SIGKILL)

    return hook
