"""`comporta logs NAME`: what a service, the line or the page wrote; --follow goes on as they write."""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.console import Console

from comporta.commands import shell
from comporta.commands.shell import Answer
from comporta.services import broker, database, line_process
from comporta.settings import Settings, load
from comporta.words.errors import Setup, Usage

LARGEST_READ = 2_000_000


def logs(
    name: Annotated[str, typer.Argument(metavar="NAME", help="kafka, postgres, line, or another process of this home, as dashboard.")],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as more is written, until Ctrl-C.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, max=100_000, help="How many of the last lines to begin with.")] = 100,
    as_json: shell.Json = False,
) -> None:
    """Show what a service wrote last. All logs roll: they take a bounded place on the disk."""

    def work() -> Answer:
        settings = load()
        if follow and as_json:
            raise Usage("--follow never ends, and --json is one document", where="comporta logs", do="leave one of them out")
        path = newest(settings, name)
        if path is None:
            raise Setup(f"there is no log of {name} yet", do=f"there are logs of: {', '.join(known(settings)) or 'nothing so far'}")
        file = path.open("rb")
        found = last_lines(file, lines)
        if not follow:
            file.close()

        def show(console: Console) -> None:
            del console  # logs are shown as they are, not laid out
            _write(found)
            if follow:
                for line in _follow(settings, name, file):
                    _write([line])

        return Answer({"name": name, "path": str(path), "lines": found}, show)

    shell.answer(as_json, work)


def known(settings: Settings) -> list[str]:
    """Whose logs there are."""
    folder = settings.home / "logs"
    others = {path.stem for path in folder.glob("*.log")} - {database.output_file(settings.home).stem, line_process.log(settings).stem}
    return [name for name in ("kafka", "postgres", "line", *sorted(others)) if newest(settings, name)]


def newest(settings: Settings, name: str) -> Path | None:
    """The file that NAME writes to now."""
    if "/" in name or name.startswith("."):
        raise Usage(f"{name!r} is no name of a process", where="comporta logs", do=f"there are logs of: {', '.join(known(settings))}")
    candidates = {
        "kafka": [broker.output_file(settings.home), broker.log_file(settings.home)],
        "postgres": [database.output_file(settings.home), *database.log_files(settings.home)],
        "line": [line_process.log(settings)],
    }.get(name, [settings.home / "logs" / f"{name}.log"])
    written = [path for path in candidates if path.exists() and path.stat().st_size]
    return written[-1] if written else None


def last_lines(file: BinaryIO, count: int) -> list[str]:
    """Read from the end, however large the file is; whoever follows goes on from where this has read to."""
    start = max(0, file.seek(0, 2) - LARGEST_READ)
    file.seek(start)
    whole = file.read().decode("utf-8", errors="replace").splitlines()[1 if start else 0 :]
    return [shell.one_line(line) for line in whole[-count:]] if count else []


def _follow(settings: Settings, name: str, file: BinaryIO) -> Iterator[str]:
    """New lines as they are written; when the log rolls, what is left of the old file, then the new one from its beginning."""
    pause = threading.Event()
    unfinished = b""
    while True:
        piece = file.read()
        if piece:
            *whole, unfinished = (unfinished + piece).split(b"\n")
            yield from (line.decode("utf-8", errors="replace") for line in whole)
            continue
        current = newest(settings, name)
        if current is not None and _has_rolled(file, current):
            file.close()
            file = current.open("rb")
            continue
        pause.wait(0.2)


def _has_rolled(file: BinaryIO, current: Path) -> bool:
    """Another file stands there now, or the same one was emptied."""
    mine = os.fstat(file.fileno())
    now = current.stat()
    return (mine.st_ino, mine.st_dev) != (now.st_ino, now.st_dev) or now.st_size < file.tell()


def _write(lines: list[str]) -> None:
    if sys.stdout is not None and lines:
        sys.stdout.write("\n".join(shell.one_line(line) for line in lines) + "\n")
        sys.stdout.flush()
