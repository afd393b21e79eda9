"""Which port a service of ours takes: the one that was set, or for 0 a free one, the same as last time if it still is free."""

import socket

from comporta.services import processes
from comporta.words.errors import Setup

LOOPBACK = "127.0.0.1"


def choose(setting: str, wanted: int, before: int | None = None) -> int:
    """A port that is free now. A port that was named and is taken is an error that says who has it."""
    if wanted == 0:
        return before if before and is_free(before) else free()
    if not is_free(wanted):
        who = processes.listener(wanted)
        variable = "COMPORTA_" + setting.replace(".", "_").upper()
        raise Setup(
            f"port {wanted} is taken" + (f" by {who}" if who else ""),
            where=setting,
            do=f"choose another with {variable}, or 0 for any that is free",
        )
    return wanted


def is_free(port: int) -> bool:
    """As a server would bind it: connections that are closing down do not count."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def answers(port: int, timeout: float = 1.0) -> bool:
    """Whether something accepts connections there."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=timeout):
            return True
    except OSError:
        return False
