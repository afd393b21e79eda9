"""The program `comporta`: finds the command that was named, runs it, and turns whatever comes of it into an exit code.

Only the module of the one command is imported, so that help is quick and `up` does not wait for Spark.
"""

import difflib
import importlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import typer
from typer.exceptions import TyperException

from comporta import __version__
from comporta.words.errors import ComportaError, Exit, Usage


@dataclass(frozen=True)
class Command:
    """Where a command lives: the module of the same name in this room, and in it a function of that name, or a typer app for one with subcommands."""

    sentence: str
    # Arguments that belong to another program are passed on as they are.
    passes_on: bool = False


COMMANDS: Mapping[str, Command] = {
    "demo": Command("all of it at once: services, simulator, line and page"),
    "up": Command("start the embedded Kafka and PostgreSQL"),
    "down": Command("stop what `up` started"),
    "status": Command("how services and line fare"),
    "doctor": Command("look for what is wrong and say what to do"),
    "logs": Command("what a service or the line wrote"),
    "config": Command("the settings and where each comes from"),
    "simulate": Command("invent transactions and send them"),
    "stream": Command("run the line: judge what is in the topic"),
    "stop": Command("let the line finish its batch, then stop it"),
    "restart": Command("stop the line and start it again"),
    "lag": Command("how far the line is behind"),
    "sql": Command("ask the database, as the reader"),
    "rules": Command("the rules of a pack, and a test of your own"),
    "migrate": Command("bring an older database to this version"),
    "kafka": Command("Kafka's own tools, with the address filled in", passes_on=True),
    "dashboard": Command("the page, in a browser"),
}


def main() -> None:
    """The entry point of the program."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code; never raises."""
    from comporta.commands import shell  # noqa: PLC0415 - `comporta --help` does without

    try:
        code = _dispatch(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        shell.be_quiet()
        return Exit.FINE
    except KeyboardInterrupt:
        return shell.INTERRUPTED
    return code


def _dispatch(arguments: list[str]) -> int:
    rest = list(arguments)
    verbose = False
    while rest and rest[0] in {"-v", "--verbose"}:
        verbose = True
        rest.pop(0)
    if not rest:
        sys.stderr.write(overview())
        return Exit.USAGE
    if rest[0] in {"-h", "--help", "help"}:
        sys.stdout.write(overview())
        return Exit.FINE
    if rest[0] == "--version":
        sys.stdout.write(f"comporta {__version__}\n")
        return Exit.FINE
    return _run_command(rest[0], rest[1:], verbose=verbose)


def _run_command(name: str, rest: list[str], *, verbose: bool) -> int:
    from comporta.commands import shell  # noqa: PLC0415

    as_json = "--json" in rest
    command = COMMANDS.get(name)
    if command is None:
        near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.4)
        return shell.refuse(
            Usage(f"no command {name!r}", do=f"did you mean {near[0]}?" if near else "see: comporta --help"), as_json=as_json
        )
    if not command.passes_on:
        verbose = verbose or any(word in {"-v", "--verbose"} for word in rest)
        rest = [word for word in rest if word not in {"-v", "--verbose"}]
    shell.begin(verbose=verbose)
    try:
        code = _callable(name)(rest)
    except TyperException as error:
        return shell.refuse_usage(error, name, as_json=as_json)
    except ComportaError as error:
        return shell.refuse(error, as_json=as_json)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:  # noqa: BLE001 - the last net: a mistake of ours becomes one sentence and exit code 70
        return shell.confess(error, as_json=as_json)
    return code if isinstance(code, int) else Exit.FINE


def _callable(name: str) -> Callable[[list[str]], object]:
    """The command's own parser, made of its function's signature."""
    module = importlib.import_module(f"comporta.commands.{name}")
    app = getattr(module, "app", None)
    if app is None:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name, context_settings=getattr(module, "CONTEXT", None))(getattr(module, name))
    parser = typer.main.get_command(app)
    return lambda rest: parser(args=rest, prog_name=f"comporta {name}", standalone_mode=False)


def overview() -> str:
    """What `comporta` alone and `comporta --help` say."""
    width = max(len(name) for name in COMMANDS)
    lines = [f"  {name:<{width}}  {command.sentence}" for name, command in COMMANDS.items()]
    return "\n".join(
        [
            "usage: comporta [-v] COMMAND [OPTION…]",
            "",
            *lines,
            "",
            "Every command explains itself with --help, and prints one JSON document with --json.",
            "-v shows more of what goes on; --version says which Comporta this is.",
            "",
        ]
    )


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
