"""`comporta config show`: every setting, its value and where it comes from; secrets stay hidden."""

from datetime import timedelta
from typing import Any

import typer
from pydantic import SecretStr
from rich.console import Console
from rich.table import Table
from rich.text import Text

from comporta.commands import shell
from comporta.commands.shell import Answer
from comporta.settings import KEYS, Settings, load

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def config() -> None:
    """The settings: comporta.toml in the current folder (or COMPORTA_CONFIG), and over it the COMPORTA_* variables."""


@app.command("show")
def show(as_json: shell.Json = False) -> None:
    """Every setting with its value and where that comes from."""

    def work() -> Answer:
        settings = load()
        rows = [{"name": key, "value": _value(settings, key), "origin": settings.origins[key]} for key in KEYS]
        document = {"home": str(settings.home), "cache": str(settings.cache), "settings": rows}
        return Answer(document, lambda console: _show(console, document))

    shell.answer(as_json, work)


def _value(settings: Settings, key: str) -> Any:
    section, _, name = key.partition(".")
    value = getattr(getattr(settings, section), name)
    if isinstance(value, SecretStr):
        return "(hidden)"
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g} s"
    return value if isinstance(value, (bool, int, str)) or value is None else str(value)


def _show(console: Console, document: dict[str, Any]) -> None:
    console.print(Text(f"COMPORTA_HOME {document['home']}\nCOMPORTA_CACHE {document['cache']}\n"))
    table = Table("setting", "value", "from", box=None, pad_edge=False)
    for row in document["settings"]:
        value = "not set" if row["value"] is None else str(row["value"])
        style = "dim" if row["origin"] == "default" else ""
        table.add_row(row["name"], Text(shell.one_line(value)), row["origin"], style=style)
    console.print(table)
