"""A long-running command's log on stderr and in a file that rolls."""

import os
import sys
from logging import INFO, LogRecord
from logging.handlers import RotatingFileHandler
from pathlib import Path

import structlog

LARGEST_BYTES = 10_000_000
KEPT = 5


class Tee:
    """What structlog writes a line to: the file, and stderr unless that is a file of ours beside it, which does not roll."""

    def __init__(self, path: Path) -> None:
        self._handler = RotatingFileHandler(path, maxBytes=LARGEST_BYTES, backupCount=KEPT, encoding="utf-8")
        self._heard = sys.stderr is not None and not _is_file(path.with_suffix(".out"))

    def msg(self, message: str) -> None:
        if self._heard:
            sys.stderr.write(message + "\n")
            sys.stderr.flush()
        self._handler.handle(LogRecord("comporta", INFO, "", 0, message, None, None))

    debug = info = warning = error = critical = exception = msg


def log_into(path: Path) -> None:
    """From now on every log line of this process also goes to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tee = Tee(path)
    structlog.configure(logger_factory=lambda *_names: tee)


def _is_file(output: Path) -> bool:
    """Whether our stderr goes into this file."""
    try:
        return os.path.samestat(os.fstat(sys.stderr.fileno()), output.stat())
    except (OSError, ValueError):
        return False
