"""`comporta rules list | show | test`: the rules of a pack, and whether a pack of one's own would be accepted."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from comporta.commands import shell
from comporta.commands.shell import Answer
from comporta.judging import packs
from comporta.judging.expressions import nearest
from comporta.judging.packs import Pack, Rule
from comporta.settings import load
from comporta.words.errors import Usage

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)

PackName = Annotated[str | None, typer.Option("--pack", help="A pack that comes with Comporta; default: the one in the settings.")]
RuleId = Annotated[str, typer.Argument(metavar="RULE", help="The id of a rule.", show_default=False)]
PackFile = Annotated[Path, typer.Argument(metavar="FILE", help="A pack as TOML.", show_default=False)]


@app.callback()
def rules() -> None:
    """The rules by which transactions are judged."""


@app.command("list")
def list_rules(pack: PackName = None, as_json: shell.Json = False) -> None:
    """Every rule of a pack: its points, its condition, what it tells people."""

    def work() -> Answer:
        chosen = _chosen(pack)
        document = [_document(chosen, rule) for rule in chosen.rules]
        return Answer(document, lambda console: _show_list(chosen, console))

    shell.answer(as_json, work)


@app.command("show")
def show(rule: RuleId, pack: PackName = None, as_json: shell.Json = False) -> None:
    """One rule with its examples."""

    def work() -> Answer:
        chosen = _chosen(pack)
        found = chosen.rule(rule)
        if found is None:
            raise Usage(
                f"{chosen.name} has no rule {rule!r}{nearest(rule, tuple(one.id for one in chosen.rules))}", do="see: comporta rules list"
            )
        document = _document(chosen, found)
        return Answer(document, lambda console: _show_rule(document, console))

    shell.answer(as_json, work)


@app.command("test")
def try_pack(file: PackFile, as_json: shell.Json = False) -> None:
    """Read a pack, type its expressions and try its examples. What is wrong is said in one line, with file and rule."""

    def work() -> Answer:
        pack = packs.load(file)
        document = {"pack": pack.name, "version": pack.version, "rules": len(pack.rules), "examples": 2 * len(pack.rules)}
        said = f"{pack.name} version {pack.version}: {len(pack.rules)} rules, all {2 * len(pack.rules)} examples hold"
        return Answer(document, lambda console: console.print(Text(said)))

    shell.answer(as_json, work)


def _chosen(name: str | None) -> Pack:
    return packs.builtin(load().line.pack if name is None else name)


def _document(pack: Pack, rule: Rule) -> dict[str, Any]:
    return {
        "pack": pack.name,
        "version": pack.version,
        "rule": rule.id,
        "points": rule.points,
        "condition": rule.when.sql,
        "reason": dict(rule.reason),
        "tags": list(rule.tags),
        "fires": dict(rule.fires),
        "spares": dict(rule.spares),
    }


def _show_list(pack: Pack, console: Console) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("rule")
    table.add_column("points", justify="right")
    table.add_column("condition", overflow="fold")
    table.add_column("told as", overflow="fold")
    for rule in pack.rules:
        table.add_row(*map(Text, (rule.id, str(rule.points), rule.when.sql, rule.sentence("en"))))
    console.print(table)
    console.print(Text(f"\n{pack.name} version {pack.version}: {_arithmetic(pack)}"))
    for note in pack.notes:
        console.print(Text(f"· {note}", style="dim"))


def _arithmetic(pack: Pack) -> str:
    base = f"{pack.base.sql} + " if pack.base else ""
    levels = ", ".join(f"{step.level} from {step.at_least:g}" for step in pack.levels if step.at_least is not None)
    return f"score = {base}{pack.weight:g} * points; {levels}, else {pack.levels[-1].level}"


def _show_rule(document: dict[str, Any], console: Console) -> None:
    grid = Table.grid(padding=(0, 2))
    for name, value in document.items():
        told = ", ".join(f"{key} = {one}" for key, one in value.items()) if isinstance(value, dict) else value
        grid.add_row(Text(name, style="bold"), Text(", ".join(told) if isinstance(told, list) else str(told)))
    console.print(grid)
