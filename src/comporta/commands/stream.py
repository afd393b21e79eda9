"""`comporta stream`: run the line, until it is stopped or, with --drain, until the backlog is judged."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from comporta import assembly
from comporta.commands import shell
from comporta.commands.log_file import log_into
from comporta.commands.shell import Answer
from comporta.line.run import Line, Totals
from comporta.services import line_process
from comporta.settings import Settings, load
from comporta.words.errors import ComportaError


def stream(
    drain: Annotated[bool, typer.Option("--drain", help="Judge what is in the topic now, then end.")] = False,
    take_over: Annotated[
        str | None, typer.Option("--take-over", metavar="NAME", help="End the sessions of the line NAME's owner and go on in its place.")
    ] = None,
    pack: Annotated[str | None, typer.Option("--pack", help="Rule pack of a new line; a line that has begun keeps its own.")] = None,
    confirmed: Annotated[
        str | None, typer.Option("--yes", metavar="TOPIC", help="Confirm that a new line leaves older messages of TOPIC unjudged.")
    ] = None,
    as_json: shell.Json = False,
) -> None:
    """Judge the topic's transactions, each exactly once. Ends after the running batch on Ctrl-C or SIGTERM."""

    def work() -> Answer:
        os.umask(0o077)
        settings = load()
        if pack is not None:
            settings = settings.model_copy(update={"line": settings.line.model_copy(update={"pack": pack})})
        log_into(line_process.log(settings))
        with _progress(settings, drain=drain, as_json=as_json) as on_commit:
            line = assembly.line(
                settings,
                drain=drain,
                take_over=take_over,
                confirmed=confirmed,
                on_commit=on_commit,
                # PySpark takes SIGINT for itself when its session starts.
                on_spark=lambda: _heed_signals(line),
            )
            _heed_signals(line)
            failure = _run(line)
        document = _document(line.totals)
        return Answer(document, lambda console: _show(console, document), error=failure)

    shell.answer(as_json, work)


def _heed_signals(line: Line) -> None:
    """Asked once, the line finishes its batch; asked by Ctrl-C a second time, it ends at once, which is safe."""

    def stop(number: int, _frame: object) -> None:
        if line.stopping and number == signal.SIGINT:
            os._exit(shell.INTERRUPTED)
        line.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


def _run(line: Line) -> ComportaError | None:
    """Run until the end; what had been done is told also when it failed."""
    try:
        line.run()
    except ComportaError as error:
        return error
    return None


def _document(totals: Totals) -> dict[str, Any]:
    seconds = totals.last_commit_at - totals.first_batch_at if totals.last_commit_at and totals.first_batch_at else 0.0
    return {
        "rows": totals.rows,
        "batches": totals.batches,
        "seconds": round(seconds, 3),
        "rows_per_second": round(totals.rows / seconds) if seconds else None,
        "transactions": totals.transactions,
        "dead_letters": totals.dead_letters,
        "duplicates": totals.duplicates,
        "tombstones": totals.tombstones,
        "stages": {stage: round(spent, 3) for stage, spent in sorted(totals.stages.items())},
    }


def _show(console: Console, document: dict[str, Any]) -> None:
    rate = f", {document['rows_per_second']:,} rows/s" if document["rows_per_second"] else ""
    console.print(
        f"{document['rows']:,} messages in {document['batches']:,} batches and {document['seconds']:,.1f} s{rate}: "
        f"{document['transactions']:,} transactions, {document['dead_letters']:,} dead letters, "
        f"{document['duplicates']:,} duplicates, {document['tombstones']:,} tombstones"
    )


@contextmanager
def _progress(settings: Settings, *, drain: bool, as_json: bool) -> Iterator[Callable[[Totals], None]]:
    """A bar for a person who waits for a drain; silence for everybody else."""
    if not drain or as_json or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _totals: None
        return
    columns = (
        TextColumn("draining"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=shell.console(stderr=True)) as bar:
        task = bar.add_task("", total=assembly.backlog(settings), rate="")
        lock = threading.Lock()

        def on_commit(totals: Totals) -> None:
            with lock:
                bar.update(task, completed=totals.rows, rate=f"{_document(totals)['rows_per_second'] or 0:,} rows/s")

        yield on_commit
