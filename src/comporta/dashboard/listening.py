"""The page's address: taken before anything else, so that it can be told at once and whoever comes early only waits."""

import socket

from comporta.services.processes import listener as listens
from comporta.words.errors import Setup

LOOPBACK = "127.0.0.1"


def listen(port: int) -> socket.socket:
    """A listening socket on the loopback interface; 0 takes any free port."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
    except OSError as error:
        listener.close()
        who = listens(port)
        raise Setup(
            f"port {port} is taken by {who}" if who else f"port {port} cannot be had ({error.strerror})",
            where="dashboard.port",
            do="choose another with --port, or 0 for any that is free",
        ) from None
    listener.listen(128)
    return listener


def url(listener: socket.socket) -> str:
    return f"http://{LOOPBACK}:{listener.getsockname()[1]}/"
