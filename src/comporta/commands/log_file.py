"""A long-running command's log on stderr and in a file that rolls."""

import sys
from logging import INFO, LogRecord
from logging.handlers import RotatingFileHandler
from pathlib import Path

import structlog

LARGEST_BYTES = 10_000_000
KEPT = 5


class Tee:
    """What structlog writes a line to: the terminal and the file."""

    def __init__(self, handler: RotatingFileHandler) -> None:
        self._handler = handler

    def msg(self, message: str) -> None:
        if sys.stderr is not None:
            sys.stderr.write(message + "\n")
            sys.stderr.flush()
        self._handler.emit(LogRecord("comporta", INFO, "", 0, message, None, None))

    debug = info = warning = error = critical = exception = msg


def log_into(path: Path) -> None:
    """From now on every log line of this process also goes to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tee = Tee(RotatingFileHandler(path, maxBytes=LARGEST_BYTES, backupCount=KEPT, encoding="utf-8"))
    structlog.configure(logger_factory=lambda *_names: tee)
