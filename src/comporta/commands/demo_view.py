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
_BARS = " ▁▂▃▄▅▆▇█"
_TONES = {"good": "green", "note": "yellow", "warn": "dark_orange", "bad": "bold red", "unknown": "dim"}
_LEVELS = {"CRITICAL": "bold red", "HIGH": "dark_orange", "MEDIUM": "yellow", "LOW": "cyan", "NORMAL": "dim"}
# The figures take so many columns; what is left is drawn with rates, and a wide screen has room for the levels' bars.
_FIGURES_WIDTH = 64
_MOST_STEPS = 75
_WIDE = 104
_BAR_WIDTH = 24


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


def sentence(snapshot: Snapshot, now: float, left: float | None) -> str:
    """The state of things in one line."""
    tiles = {tile.key: tile for tile in headline.view(snapshot, now).tiles}
    if left is None:
        state = next(light.text for light in status.view(snapshot, now).lights if light.name == "Line")
        waiting = f", {tiles['lag'].value} {tiles['lag'].unit} wait" if tiles["lag"].unit else ""
        return f"the line is getting ready ({state}){waiting}"
    counts = ", ".join(f"{row.level} {row.recent}" for row in levels.view(snapshot, now).rows)
    return (
        f"{phrases.whole_span(left)} left: {tiles['transactions'].value} transactions/s, {tiles['alerts'].value} alerts/s, "
        f"lag {tiles['lag'].value}, append to commit {tiles['wait'].value}; {counts}"
    )


def picture(snapshot: Snapshot, now: float, left: float | None, url: str, explain: Explain, width: int) -> RenderableType:
    """The live view; every text of a message goes through Text, which knows no markup."""
    return Group(
        _head(snapshot, now, left, url),
        Text(),
        _figures(snapshot, now, steps=min(max(width - _FIGURES_WIDTH, 0), _MOST_STEPS)),
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
    # Before the first decision it is no news that something is not there yet.
    notices = [Text(f"{notice.text} {notice.aside}".strip(), style=_TONES[notice.tone]) for notice in shown.notices if left is not None]
    return Group(told, lights, *notices)


def _figures(snapshot: Snapshot, now: float, steps: int) -> RenderableType:
    """The page's own tiles, and the last minutes as bars."""
    found = rates.view(snapshot, now)
    pictures = {"transactions": (found.transactions, "cyan"), "alerts": (found.alerts, "dark_orange")}
    lines = Text(no_wrap=True, overflow="crop")
    for tile in headline.view(snapshot, now).tiles:
        values, colour = pictures.get(tile.key, ((), ""))
        lines.append(f"{tile.label:<18}", style="dim")
        lines.append(f"{f'{tile.value} {tile.unit}'.strip():<18}", style=f"bold {_TONES.get(tile.tone, '')}".strip())
        lines.append(f"{tile.note:<26}  ", style="dim")
        lines.append(f"{bars(values[max(len(values) - steps, 0) :])}\n", style=colour)
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
        colour = _LEVELS[row.level]
        table.add_row(Text(row.level, style=colour), row.recent, row.recent_share, Text("█" * round(row.width * bar), colour))
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
            kind = f"{phrases.kind(alert['type'])}, {alert['customer_id']}"
            head = f"  {alert['level']:<8} {phrases.score(alert['score']):>6}  {amount:>16}  {kind}: "
            console.print(Text(one_line(head + "; ".join(alert["reasons"]))), soft_wrap=True)
    running = document["running"]
    still = f"Still running: {', '.join(running)}." if running else "Nothing is left running; the data stays for the next `comporta up`."
    console.print(Text(f"\n{still}"))
    if "page" in running:
        console.print(Text(f"The page: {document['url']}"))
    console.print(Text("Next, try:"))
    for command in document["next"]:
        console.print(Text(f"  {command}"), soft_wrap=True)


def sums(document: Mapping[str, Any]) -> list[str]:
    """What was sent and what became of it; it has to come out even."""
    sent, judged, left = document["acknowledged"], document["transactions"], document["lag"]
    still = f", {phrases.count(left)} still wait" if left else ""
    older = f", {judged - sent:,} of them had waited in the topic before" if sent is not None and judged > sent else ""
    others = f"{document['dead_letters']:,} dead letters, {document['duplicates']:,} duplicates"
    counts = ", ".join(f"{level} {document['levels'].get(level, 0):,}" for level in _LEVELS)
    wait = document["wait_seconds"]
    waited = f"{phrases.span(wait['typical'])} typically, {phrases.span(wait['longest'])} at the longest"
    return [
        f"{phrases.count(sent)} transactions sent, {judged:,} judged in {phrases.whole_span(document['seconds'])}{older}{still}; {others}",
        f"{document['alerts']:,} alerts ({phrases.share(document['alerts'], judged)}): {counts}",
        f"{phrases.money(document['amount_cents'])} judged, {phrases.money(document['alert_amount_cents'])} of it in alerts (BRL only)",
        f"Append to commit, in the second half: {waited}",
    ]
