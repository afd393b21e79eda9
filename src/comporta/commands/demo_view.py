"""What a demo shows in the terminal: a live view where there is one, a line now and then where there is none, and the sum at the end."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from comporta.commands.shell import one_line
from comporta.dashboard import phrases
from comporta.dashboard.explain import Explain
from comporta.dashboard.panels import alerts, headline, lag, levels, rates, status
from comporta.dashboard.panels.alerts import AlertRow
from comporta.dashboard.snapshot import Snapshot

# Where nobody watches a screen, a line every so many seconds.
LINE_EVERY = 5.0
_SHOWN_ALERTS = 6
_STEPS_DRAWN = 45
_BARS = " ▁▂▃▄▅▆▇█"
_TONES = {"good": "green", "note": "yellow", "warn": "dark_orange", "bad": "bold red", "unknown": "dim"}
_LEVELS = {"CRITICAL": "bold red", "HIGH": "dark_orange", "MEDIUM": "yellow", "LOW": "cyan", "NORMAL": "dim"}
_BAR_WIDTH = 24
_WIDE = 104


class Screen:
    """Shows snapshots while it is entered."""

    def __init__(self, console: Console, url: str, explain: Explain, *, plain: bool) -> None:
        self._console, self._url, self._explain = console, url, explain
        self._live = None if plain or not console.is_terminal else Live(console=console, auto_refresh=False, transient=True)
        self._last_line = 0.0

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, snapshot: Snapshot, now: float, left: float | None) -> None:
        """What is known now; `left` are the seconds to go, None while nothing has been judged yet."""
        if self._live is not None:
            self._live.update(picture(snapshot, now, left, self._url, self._explain, self._console.width), refresh=True)
        elif now - self._last_line >= LINE_EVERY:
            self._last_line = now
            self._console.print(Text(sentence(snapshot, now, left)), soft_wrap=True)

    def say(self, text: str) -> None:
        """A line above whatever is shown."""
        self._console.print(Text(text))


def sentence(snapshot: Snapshot, now: float, left: float | None) -> str:
    """The state of things in one line."""
    tiles = {tile.key: tile for tile in headline.view(snapshot, now).tiles}
    if left is None:
        waiting = f", {tiles['lag'].value} {tiles['lag'].unit} wait" if tiles["lag"].unit else ""
        return f"the line is getting ready ({_line_state(snapshot, now)}){waiting}"
    counts = ", ".join(f"{row.level} {row.recent}" for row in levels.view(snapshot, now).rows)
    return (
        f"{phrases.whole_span(left)} left: {tiles['transactions'].value} transactions/s, {tiles['alerts'].value} alerts/s, "
        f"lag {tiles['lag'].value}, append to commit {tiles['wait'].value}; {counts}"
    )


def _line_state(snapshot: Snapshot, now: float) -> str:
    return next(light.text for light in status.view(snapshot, now).lights if light.name == "Line")


def _with_unit(value: str, unit: str) -> str:
    return f"{value} {unit}" if unit else value


def picture(snapshot: Snapshot, now: float, left: float | None, url: str, explain: Explain, width: int) -> RenderableType:  # noqa: PLR0917 - as a screen has parts
    """The live view; every text of a message goes through Text, which knows no markup."""
    return Group(
        _head(snapshot, now, left, url),
        Text(),
        _figures(snapshot, now),
        Text(),
        _middle(snapshot, now, bar=_BAR_WIDTH if width >= _WIDE else 0),
        Text(),
        _alerts(alerts.view(explain, snapshot, now).rows),
    )


def _head(snapshot: Snapshot, now: float, left: float | None, url: str) -> RenderableType:
    shown = status.view(snapshot, now)
    told = Text.assemble(("Comporta demo  ", "bold"), (url, "cyan underline"))
    told.append("   the line is getting ready" if left is None else f"   {phrases.whole_span(left)} left", style="dim")
    told.append("   Ctrl-C ends it", style="dim")
    lights = Text()
    for light in shown.lights:
        lights.append("● ", style=_TONES[light.tone])
        lights.append(f"{light.name} {light.text}   ", style="dim")
    notices = [Text(f"{notice.text} {notice.aside}".strip(), style=_TONES[notice.tone]) for notice in shown.notices if left is not None]
    return Group(told, lights, *notices)


def _figures(snapshot: Snapshot, now: float) -> RenderableType:
    """The page's own tiles, and the last minutes as bars."""
    drawn = rates.view(snapshot, now)
    pictures = {"transactions": (drawn.transactions, "cyan"), "alerts": (drawn.alerts, "dark_orange")}
    lines = Text(no_wrap=True, overflow="crop")
    for tile in headline.view(snapshot, now).tiles:
        values, colour = pictures.get(tile.key, ((), ""))
        lines.append(f"{tile.label:<18}", style="dim")
        lines.append(f"{_with_unit(tile.value, tile.unit):<18}", style=f"bold {_TONES.get(tile.tone, '')}".strip())
        lines.append(f"{tile.note:<26}  ", style="dim")
        lines.append(f"{bars(values[-_STEPS_DRAWN:])}\n", style=colour)
    lines.right_crop()
    return lines


def bars(values: Sequence[float | None]) -> str:
    """One character for each value, against the highest; what is unknown is a dot."""
    highest = max((value for value in values if value is not None), default=0.0)
    return "".join("·" if value is None else _BARS[round(value / highest * (len(_BARS) - 1)) if highest else 0] for value in values)


def _middle(snapshot: Snapshot, now: float, bar: int) -> RenderableType:
    side_by_side = Table.grid(padding=(0, 3, 0, 0))
    side_by_side.add_row(_levels(snapshot, now, bar), _lag(snapshot, now))
    return side_by_side


def _levels(snapshot: Snapshot, now: float, bar: int) -> RenderableType:
    shown = levels.view(snapshot, now)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("level", no_wrap=True)
    table.add_column(shown.span, justify="right", no_wrap=True)
    table.add_column("share", justify="right", style="dim", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in shown.rows:
        table.add_row(
            Text(row.level, style=_LEVELS[row.level]),
            row.recent,
            row.recent_share,
            Text("█" * round(row.width * bar), _LEVELS[row.level]),
        )
    return table


def _lag(snapshot: Snapshot, now: float) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("part.", "judged to", "log ends", "lag", "behind"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in lag.view(snapshot, now).partitions:
        table.add_row(str(row.partition), row.position, row.end, Text(row.lag, style=_TONES[row.tone]), row.behind)
    return table


def _alerts(rows: Sequence[AlertRow]) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", expand=True)
    table.add_column("latest alerts", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("amount", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("why", ratio=1, no_wrap=True, overflow="ellipsis")
    for row in rows[:_SHOWN_ALERTS]:
        why = Text(one_line("; ".join(reason.text for reason in row.reasons)))
        table.add_row(Text(row.level, style=_LEVELS[row.level]), row.score, Text(row.amount), Text(one_line(row.kind)), why)
    return table


def show_end(console: Console, document: Mapping[str, Any]) -> None:
    """The sum, the gravest alerts, and what to try next."""
    for line in sums(document):
        console.print(Text(line), soft_wrap=True)
    if document["top_alerts"]:
        console.print(Text("\nThe highest scores:"))
        for alert in document["top_alerts"]:
            amount = phrases.exact_money(alert["amount_cents"], alert["currency"])
            head = f"  {alert['level']:<8} {phrases.score(alert['score']):>6}  {amount:>16}  {phrases.kind(alert['type'])}, {alert['customer_id']}: "
            console.print(Text(one_line(head + "; ".join(alert["reasons"]))), soft_wrap=True)
    running = document["running"]
    console.print(
        Text(
            f"\nStill running: {', '.join(running)}."
            if running
            else "\nNothing is left running; the data stays for the next `comporta up`."
        )
    )
    if "page" in running:
        console.print(Text(f"The page: {document['url']}"))
    console.print(Text("Next, try:"))
    for command in document["next"]:
        console.print(Text(f"  {command}"), soft_wrap=True)


def sums(document: Mapping[str, Any]) -> list[str]:
    """What was sent and what became of it; it has to come out even."""
    sent, judged = document["acknowledged"], document["transactions"]
    levels_told = ", ".join(f"{level} {document['levels'].get(level, 0):,}" for level in _LEVELS)
    wait = document["wait_seconds"]
    waiting = f", {phrases.count(document['lag'])} still wait" if document["lag"] else ""
    wait_told = f"{phrases.span(wait['typical'])} typically, {phrases.span(wait['longest'])} at the longest"
    lost = f"{document['dead_letters']:,} dead letters, {document['duplicates']:,} duplicates"
    return [
        f"{phrases.count(sent)} transactions sent, {judged:,} judged in {phrases.whole_span(document['seconds'])}{waiting}; {lost}",
        f"{document['alerts']:,} alerts ({phrases.share(document['alerts'], judged)}): {levels_told}",
        f"{phrases.money(document['amount_cents'])} judged, {phrases.money(document['alert_amount_cents'])} of it in alerts (BRL only)",
        f"Append to commit, in the second half: {wait_told}",
    ]
