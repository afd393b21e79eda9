"""`comporta kafka TOOL …`: Kafka's own tools with the address filled in; a topic that nobody has read to its end is not deleted unasked."""

import difflib
import re
import sys
from collections.abc import Sequence

import typer

from comporta.commands import shell
from comporta.kafka import clients, positions, tools, topics
from comporta.postgres import readers
from comporta.services import artifacts, java
from comporta.services.addresses import kafka_bootstrap, postgres_dsns
from comporta.settings import Settings, load
from comporta.words.errors import ComportaError, Usage

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}

_WHERE = "comporta kafka"
_SENTENCES = {
    "topics": "list, describe, make, change, delete topics",
    "groups": "consumer groups: list, describe with lag, reset offsets, delete",
    "offsets": "where the partitions of a topic end, begin, or stood at a time",
    "produce": "send what comes on stdin, a message a line",
    "consume": "print messages",
}


def kafka(context: typer.Context) -> None:
    """Run one of Kafka's own tools."""
    tool, *arguments = context.args or ["--help"]
    if tool in {"-h", "--help"}:
        sys.stdout.write(_overview())
        return
    if tool not in tools.TOOLS:
        near = difflib.get_close_matches(tool, tools.TOOLS, n=1, cutoff=0.4)
        known = ", ".join(tools.TOOLS)
        raise Usage(f"no tool {tool!r}", where=_WHERE, do=f"did you mean {near[0]}?" if near else f"choose one of {known}")
    settings = load()
    code = _run(settings, tool, arguments)
    if code:
        raise typer.Exit(1)


def _overview() -> str:
    width = max(len(name) for name in _SENTENCES)
    lines = [f"  {name:<{width}}  {sentence}" for name, sentence in _SENTENCES.items()]
    return "\n".join(
        ["usage: comporta kafka TOOL [OPTION…]", "", *lines, "", "The options are Kafka's own: comporta kafka TOOL --help shows them.", ""]
    )


def _run(settings: Settings, tool: str, arguments: Sequence[str]) -> int:
    asks_for_help = "--help" in arguments or "--version" in arguments
    typed = _value(arguments, "--bootstrap-server")
    bootstrap = typed or ("" if asks_for_help else kafka_bootstrap(settings))
    if not asks_for_help:
        clients.reachable(bootstrap)
    if tool == "topics":
        arguments = _confirmed(settings, bootstrap, arguments)
    if tool == "groups":
        _warn_of_mirror(arguments)
    command = list(arguments) if asks_for_help else tools.with_bootstrap(arguments, bootstrap)
    jars = artifacts.ensure(settings.cache, "kafka-tools")
    return tools.run(tool, command, java=java.java_home(settings.cache) / "bin" / "java", classpath=jars)


def _value(arguments: Sequence[str], option: str) -> str | None:
    """What stands behind an option, as `--option value` or `--option=value`."""
    for number, argument in enumerate(arguments):
        if argument == option and number + 1 < len(arguments):
            return arguments[number + 1]
        if argument.startswith(f"{option}="):
            return argument.partition("=")[2]
    return None


def _confirmed(settings: Settings, bootstrap: str, arguments: Sequence[str]) -> list[str]:
    """The arguments for Kafka, once a deletion that would lose messages has been confirmed by name."""
    given = _value(arguments, "--yes")
    rest = [word for number, word in enumerate(arguments) if not _belongs_to_yes(arguments, number)]
    wanted = _value(rest, "--topic")
    if "--delete" not in rest or wanted is None:
        return rest
    unread = {name: _unread(settings, bootstrap, name) for name in topics.names(bootstrap) if _is_meant(wanted, name)}
    lost = {name: count for name, count in unread.items() if count}
    if not lost or given == wanted:
        return rest
    told = ", ".join(f"{name} holds {count:,} messages that no line has judged" for name, count in lost.items())
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        raise Usage(f"{told}: they would be lost", where=_WHERE, do=f"if that is meant, add --yes {wanted}")
    shell.console(stderr=True).print(f"{told}. They would be lost.", markup=False)
    if typer.prompt(f"Type {wanted} to delete it all the same", default="", show_default=False, err=True) != wanted:
        raise Usage("not confirmed: nothing was deleted", where=_WHERE)
    return rest


def _is_meant(wanted: str, name: str) -> bool:
    """Kafka takes the name as a pattern."""
    try:
        return re.fullmatch(wanted, name) is not None
    except re.error:
        return wanted == name


def _belongs_to_yes(arguments: Sequence[str], number: int) -> bool:
    word = arguments[number]
    return word == "--yes" or word.startswith("--yes=") or (number > 0 and arguments[number - 1] == "--yes")


def _unread(settings: Settings, bootstrap: str, topic: str) -> int:
    """Messages that lie beyond the ledger's position; all of them, where no ledger can be asked."""
    described = topics.existing(bootstrap, topic)
    ranges = positions.watermarks(bootstrap, topic)
    try:
        _, _, reader_dsn = postgres_dsns(settings)
        places = readers.ledger_positions(reader_dsn, described.topic_id)
    except ComportaError:
        places = {}
    return sum(max(found.latest - max(places.get(partition, 0), found.earliest), 0) for partition, found in ranges.items())


def _warn_of_mirror(arguments: Sequence[str]) -> None:
    group = _value(arguments, "--group") or ""
    if "--reset-offsets" in arguments and "--execute" in arguments and group.startswith("comporta-"):
        sys.stderr.write(f"comporta: {group} only shows where a line stands; the line goes on from its ledger, whatever is reset here\n")
