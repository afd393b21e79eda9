"""`comporta sql "SELECT …"`: ask the database as the reader, who can change nothing."""

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from comporta.commands import shell
from comporta.commands.shell import Answer
from comporta.postgres import answers
from comporta.postgres.answers import Rows
from comporta.services.addresses import postgres_dsns
from comporta.settings import load

Statement = Annotated[str, typer.Argument(metavar='"SELECT …"', help="One statement that answers with rows.", show_default=False)]
Timeout = Annotated[int, typer.Option("--timeout", min=1, max=3600, help="Seconds to wait for the answer.")]


def sql(statement: Statement, timeout: Timeout = 30, as_json: shell.Json = False) -> None:
    """Ask the database. Tables: decisions, dead_letters, duplicates, identities, metrics_minute, line_ledger, ledger_history, control_events; the original's as views: transactions, fraud_alerts."""
    shell.answer(as_json, lambda: ask(statement, timeout))


def ask(statement: str, timeout: int) -> Answer:
    """One object per row, or a table for people."""
    _, _, reader = postgres_dsns(load())
    rows = answers.sql(reader, statement, timeout)
    return Answer(rows.objects(), lambda console: show(rows, console))


def show(rows: Rows, console: Console) -> None:
    """A table, or one row after the other where a table is wider than the terminal. All of it is text, never taken for markup."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for position, name in enumerate(rows.columns):
        numbers = all(isinstance(row[position], int | float | None) and not isinstance(row[position], bool) for row in rows.values)
        table.add_column(Text(shell.one_line(name)), justify="right" if numbers else "left", overflow="fold")
    for row in rows.values:
        table.add_row(*(_cell(value) for value in row))
    if Measurement.get(console, console.options.update(max_width=100_000), table).maximum <= console.width:
        console.print(table)
    else:
        _show_one_by_one(rows, console)
    console.print(Text(f"({len(rows.values):,} row{'' if len(rows.values) == 1 else 's'})", style="dim"))


def _show_one_by_one(rows: Rows, console: Console) -> None:
    for number, row in enumerate(rows.values, start=1):
        console.print(Text(f"row {number}", style="bold"))
        grid = Table.grid(padding=(0, 2))
        for name, value in zip(rows.columns, row, strict=True):
            grid.add_row(Text(shell.one_line(name)), _cell(value))
        console.print(grid)


def _cell(value: Any) -> Text:
    if value is None:
        return Text("null", style="dim")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return Text(shell.one_line(text))
