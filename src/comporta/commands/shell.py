"""What every command has in common: one answer, for people or as one JSON document; one line for an error; an exit code."""

import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TextIO
from uuid import UUID

import structlog
import typer
from typer.exceptions import TyperException

from comporta.words.errors import Bug, ComportaError, Exit, Usage

if TYPE_CHECKING:
    from rich.console import Console

INTERRUPTED = 130

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]

_SECRET_KEY = re.compile(r"password|passwd|secret|token|dsn|credential", re.IGNORECASE)
_SECRET_IN_URL = re.compile(r"(\w+://[^/\s:@]*):[^@\s/]+@")
_verbose = False


@dataclass(frozen=True)
class Answer:
    """What a command found: `document` for programs, `show` for people. With `error` both are printed, then what went wrong."""

    document: Mapping[str, Any] | list[Any]
    show: Callable[["Console"], None]
    code: int = Exit.FINE
    error: ComportaError | None = None


def answer(as_json: bool, work: Callable[[], Answer]) -> NoReturn:
    """Do the work, print its answer in the form that was asked for, and end with its exit code."""
    try:
        found = work()
    except ComportaError as error:
        raise typer.Exit(refuse(error, as_json=as_json)) from None
    except (KeyboardInterrupt, BrokenPipeError, TyperException, typer.Exit):
        raise
    except Exception as error:  # noqa: BLE001 - as in main
        raise typer.Exit(confess(error, as_json=as_json)) from None
    code = found.error.exit_code if found.error else found.code
    try:
        if as_json:
            write_json(_with_error(found.document, found.error))
        else:
            found.show(console())
            if found.error:
                _say(str(found.error))
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        be_quiet()
    raise typer.Exit(int(code))


def console(*, stderr: bool = False) -> "Console":
    """Where people read. Text from outside must go through rich's Text or escape: it may look like markup."""
    from rich.console import Console  # noqa: PLC0415 - with --json it is never needed

    # Into a file or a pipe nothing is cut off at the edge of a screen that is not there.
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream is not None and stream.isatty() else 240
    return Console(stderr=stderr, highlight=False, width=width)


@contextmanager
def waiting(sentence: str, *, as_json: bool = False) -> Iterator[None]:
    """Show a person at a terminal that something is going on; say nothing to anybody else."""
    if as_json or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    with console(stderr=True).status(sentence):
        yield


def write_json(document: object) -> None:
    """One JSON document on stdout."""
    if sys.stdout is not None:
        sys.stdout.write(json.dumps(document, default=_plain, ensure_ascii=False, allow_nan=False) + "\n")
        sys.stdout.flush()


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat() if value.tzinfo else value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (date, UUID, Path)):
        return str(value)
    return str(value)


def _with_error(document: Mapping[str, Any] | list[Any], error: ComportaError | None) -> object:
    if error is None:
        return document
    told = {"error": {"code": int(error.exit_code), "message": one_line(str(error))}}
    return {**document, **told} if isinstance(document, Mapping) else told


def refuse(error: ComportaError, *, as_json: bool) -> int:
    """Say in one line what is wrong, and return the exit code that says the same."""
    try:
        if as_json:
            write_json(_with_error({}, error))
        _say(str(error))
    except BrokenPipeError:
        be_quiet()
    if _verbose:
        traceback.print_exc()
    return int(error.exit_code)


def refuse_usage(error: TyperException, command: str, *, as_json: bool) -> int:
    """What the parser of the command line found. A command that was given nothing answers with its help."""
    text = error.format_message()
    if "\n" in text.strip():
        sys.stderr.write(text.rstrip() + "\n")
        return Exit.USAGE
    near = getattr(error, "possibilities", None)
    if near:
        return refuse(Usage(error.message.rstrip("."), do=f"did you mean {' or '.join(sorted(near))}?"), as_json=as_json)
    return refuse(Usage(text.rstrip("."), do=_range(error) or f"see: comporta {command} --help"), as_json=as_json)


def _range(error: TyperException) -> str:
    """The numbers that the refused option would take, if it takes numbers of a range."""
    option = getattr(error, "param", None)
    lowest, highest = getattr(option, "min", None), getattr(option, "max", None)
    if lowest is None:
        return "" if highest is None else f"give a number up to {highest}"
    return f"give a number from {lowest}" + ("" if highest is None else f" to {highest}")


def confess(error: Exception, *, as_json: bool) -> int:
    """A mistake of ours: which, and where in our code; never its text, which may hold anything."""
    place = next((frame for frame in reversed(traceback.extract_tb(error.__traceback__)) if "comporta" in frame.filename), None)
    where = f"{Path(place.filename).name}:{place.lineno}" if place else ""
    return refuse(
        Bug(f"a mistake of ours: {type(error).__name__}", where=where, do="run it again with -v and report what it says"), as_json=as_json
    )


def _say(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"comporta: {one_line(text)}\n")
        sys.stderr.flush()


def one_line(text: str) -> str:
    """Fit for a terminal: no line breaks, no escape codes, no password in an address."""
    return "".join(letter if letter.isprintable() else " " for letter in _SECRET_IN_URL.sub(r"\1:***@", text))


def be_quiet() -> None:
    """Whoever read our output has gone; what is still buffered must not complain when the program ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError):
            continue


def begin(*, verbose: bool) -> None:
    """Before a command runs: logs go to stderr, as an event and its keys."""
    global _verbose  # noqa: PLW0603 - one process runs one command
    _verbose = verbose
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%Y-%m-%dT%H:%M:%S.%fZ", utc=True),
            _without_secrets,
            structlog.processors.format_exc_info,
            _as_line,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(10 if verbose else 20),
        logger_factory=_to_stderr,
        cache_logger_on_first_use=False,
    )


def _to_stderr(*_names: object) -> structlog.PrintLogger:
    # Asked for anew every time: a test or a live view may have put another stream there.
    stream: TextIO = sys.stderr if sys.stderr is not None else Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - lives as long as we
    return structlog.PrintLogger(stream)


def _without_secrets(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for key, value in event.items():
        if _SECRET_KEY.search(key) and value is not None and not isinstance(value, bool):
            event[key] = "***"
        elif isinstance(value, str):
            event[key] = _SECRET_IN_URL.sub(r"\1:***@", value)
    return event


def _as_line(_logger: object, _method: str, event: MutableMapping[str, Any]) -> str:
    trace = event.pop("exception", None)
    head = f"{event.pop('timestamp')} {event.pop('level'):<7} {event.pop('event')}"
    pairs = "".join(f" {key}={_shown(value)}" for key, value in event.items())
    return one_line(head + pairs) + (f"\n{trace}" if trace and _verbose else "")


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=_plain, ensure_ascii=False)
    plain = bool(text) and all(letter.isprintable() and letter not in ' ="' for letter in text)
    return text if plain or not isinstance(value, str) else json.dumps(text, ensure_ascii=False)
