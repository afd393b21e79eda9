"""`comporta lag`: how far the line is behind the end of its topic, as the ledger and the log know it."""

import sys
import time
from dataclasses import dataclass
from threading import Event
from typing import Annotated, Any
from uuid import UUID

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from comporta.commands import shell
from comporta.commands.shell import Answer
from comporta.gate.bands import NOTES, Band, band
from comporta.gate.lag import Lag, PartitionLag
from comporta.gate.lag import lag as measure
from comporta.kafka import clients, positions, topics
from comporta.postgres import readers
from comporta.services.addresses import Addresses, addresses
from comporta.settings import Settings, load
from comporta.words.errors import ComportaError, Usage

_EVERY_SECONDS = 1.0
_COLOURS = {
    Band.NONE: "green",
    Band.SMALL: "green",
    Band.INVESTIGATE: "yellow",
    Band.LARGE: "dark_orange",
    Band.CRITICAL: "red",
    Band.UNKNOWN: "magenta",
}


@dataclass(frozen=True)
class Query:
    """A line and its lag. `remark` says why a figure is missing."""

    name: str
    topic: str
    lag: Lag
    remark: str | None

    @property
    def group(self) -> str:
        return f"comporta-{self.name}"


def lag(
    watch: Annotated[bool, typer.Option("--watch", help="Measure again every second, until Ctrl-C.")] = False,
    as_json: shell.Json = False,
) -> None:
    """Show per partition where the line stands, where the log ends, how many messages lie between and how old the oldest of them is."""

    def work() -> Answer:
        if watch and as_json:
            raise Usage("--watch goes on, where --json prints one document", do="leave out one of them")
        settings = load()
        if watch:
            _watch(settings)
            return Answer({}, lambda _console: None)
        queries = look(settings)
        return Answer({"queries": [_document(query) for query in queries]}, lambda console: console.print(_tables(queries)))

    shell.answer(as_json, work)


def look(settings: Settings) -> list[Query]:
    """Every line that the database knows for the topic, and the one of the settings even if it has never run."""
    at = addresses(settings)
    clients.reachable(at.kafka_bootstrap)
    topic = topics.existing(at.kafka_bootstrap, settings.kafka.topic)
    ranges = positions.watermarks(at.kafka_bootstrap, topic.name)
    known: dict[str, list[UUID]] = {settings.line.name: []}
    for line in readers.lines(at.reader_dsn):
        if line.owner.topic == topic.name:
            known.setdefault(line.owner.line, []).append(line.owner.topic_id)
    return [_query(at, name, topic, ranges, topic_ids) for name, topic_ids in sorted(known.items())]


def _query(at: Addresses, name: str, topic: topics.Topic, ranges: dict[int, positions.Range], topic_ids: list[UUID]) -> Query:
    readable = {partition: (found.earliest, found.latest) for partition, found in ranges.items()}
    ledger = readers.ledger_positions(at.reader_dsn, topic.topic_id) if topic.topic_id in topic_ids else {}
    # A partition that was added since is read from its beginning.
    places = dict.fromkeys(readable, 0) | ledger if ledger else {}
    behind = {
        partition: max(place, readable[partition][0])
        for partition, place in places.items()
        if partition in readable and place < readable[partition][1]
    }
    oldest = positions.append_times(at.kafka_bootstrap, topic.name, behind) if behind else {}
    found = measure(places, readable, oldest, time.time_ns() // 1000)
    recreated = bool(topic_ids) and topic.topic_id not in topic_ids
    return Query(name, topic.name, found, _remark(found, recreated=recreated, begun=bool(ledger)))


def _remark(found: Lag, *, recreated: bool, begun: bool) -> str | None:
    if recreated:
        return "the topic was made anew: the line's position belongs to the one before"
    if not begun:
        return "this line has not begun here: it has no position yet"
    if any(part.messages is None for part in found.partitions):
        return "the log ends before the line's position: it was cut or lost"
    gone = sum(part.gone for part in found.partitions)
    return f"{gone:,} messages were removed from the log before the line read them" if gone else None


def _document(query: Query) -> dict[str, Any]:
    found = query.lag
    return {
        "name": query.name,
        "group": query.group,
        "topic": query.topic,
        "messages": found.messages,
        "seconds": found.seconds,
        "verdict": None,
        "reason": None,
        "forecast": None,
        "band": found.band.value,
        "note": NOTES[found.band],
        "remark": query.remark,
        "partitions": [_partition(part) for part in found.partitions],
    }


def _partition(part: PartitionLag) -> dict[str, Any]:
    return {
        "partition": part.partition,
        "next_offset": part.next_offset,
        "end_offset": part.end_offset,
        "messages": part.messages,
        "seconds": part.seconds,
        "gone": part.gone,
        "band": band(part.messages).value,
    }


def _tables(queries: list[Query]) -> RenderableType:
    return Group(*(_table(query) for query in queries))


def _table(query: Query) -> RenderableType:
    found = query.lag
    table = Table(
        title=f"{query.group}  {query.topic}",
        title_justify="left",
        caption=query.remark,
        caption_justify="left",
        show_footer=True,
        box=box.SIMPLE_HEAD,
    )
    table.add_column("PARTITION", "all", justify="right")
    table.add_column("CURRENT-OFFSET", justify="right")
    table.add_column("LOG-END-OFFSET", justify="right")
    table.add_column("LAG", _figure(found.messages), justify="right")
    table.add_column("SECONDS BEHIND", _seconds(found.seconds), justify="right")
    table.add_column("NOTE", Text(NOTES[found.band], style=_COLOURS[found.band]))
    for part in found.partitions:
        size = band(part.messages)
        table.add_row(
            str(part.partition),
            _figure(part.next_offset),
            _figure(part.end_offset),
            _figure(part.messages),
            _seconds(part.seconds),
            Text(size.value, style=_COLOURS[size]),
        )
    return table


def _figure(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _seconds(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.1f}"


def _watch(settings: Settings) -> None:
    """Goes on where a dependency is away: that is shown, and so is its return."""
    pause = Event()
    console = shell.console()
    try:
        if not sys.stdout.isatty():
            while not pause.is_set():
                console.print(_view(settings))
                pause.wait(_EVERY_SECONDS)
        with Live(console=console, auto_refresh=False) as live:
            while not pause.is_set():
                live.update(_view(settings), refresh=True)
                pause.wait(_EVERY_SECONDS)
    except KeyboardInterrupt:
        return


def _view(settings: Settings) -> RenderableType:
    now = Text(time.strftime("%H:%M:%S"), style="dim")
    try:
        return Group(now, _tables(look(settings)))
    except ComportaError as error:
        return Group(now, Text(f"unknown: {shell.one_line(str(error))}", style="magenta"))
