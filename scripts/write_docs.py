"""Writes the generated pages: who imports whom in docs/architecture.md, every command in docs/cli.md.

With --check nothing is written: pages that are not as they would be written are named, and the exit code is 1.
"""

import ast
import importlib
import importlib.metadata
import sys
from collections import defaultdict
from pathlib import Path

import grimp
import typer
import typer.main
from typer.cli import get_docs_for_click
from typer.core import TyperGroup

from comporta.commands.main import COMMANDS as COMMANDS_BY_NAME
from comporta.commands.main import overview

TOP = Path(__file__).parents[1]
ARCHITECTURE = TOP / "docs" / "architecture.md"
CLI = TOP / "docs" / "cli.md"
BEGIN, END = "<!-- drawn from the code: make docs -->\n", "<!-- end of what is drawn -->\n"


def main() -> int:
    pages = {ARCHITECTURE: _architecture(ARCHITECTURE.read_text()), CLI: _commands()}
    if "--check" not in sys.argv[1:]:
        for path, text in pages.items():
            path.write_text(text)
        return 0
    stale = [path.relative_to(TOP) for path, text in pages.items() if not path.exists() or path.read_text() != text]
    for page in stale:
        print(f"{page} is not what the code says: write it again with make docs")  # noqa: T201 - its answer
    return 1 if stale else 0


def _architecture(page: str) -> str:
    """The page with its drawn part drawn anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    inside, outside = _imports()
    return f"{before}{BEGIN}\n{_picture(inside)}\n{_rooms(inside, outside)}\n{END}{after}"


def _imports() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Per room: the rooms that it imports, and the outside packages that it imports."""
    graph = grimp.build_graph("comporta", include_external_packages=True, cache_dir=None)
    inside: dict[str, set[str]] = defaultdict(set)
    outside: dict[str, set[str]] = defaultdict(set)
    distributions = importlib.metadata.packages_distributions()
    for module in graph.modules:
        room = _room(module)
        if room is None:
            continue
        inside[room] |= set()
        for imported in graph.find_modules_directly_imported_by(module):
            if (other := _room(imported)) is not None:
                inside[room] |= {other} - {room}
            elif imported in distributions and not imported.startswith("comporta"):
                outside[room].add(imported)
    return inside, outside


def _room(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "comporta" and len(parts) > 1 else None


def _picture(inside: dict[str, set[str]]) -> str:
    """An arrow for every import between rooms; `words` has none, because everyone imports it."""
    without_words = sorted(room for room, imported in inside.items() if "words" not in imported and room != "words")
    arrows = [f"    {room} --> {other}" for room in sorted(inside) for other in sorted(inside[room]) if other != "words"]
    but = f" but {' and '.join(f'`{room}`' for room in without_words)}" if without_words else ""
    return "\n".join(["```mermaid", "flowchart TD", *arrows, "```", "", f"Everyone{but} imports `words`; those arrows are left out.", ""])


def _rooms(inside: dict[str, set[str]], outside: dict[str, set[str]]) -> str:
    lines = ["| room | what it answers, and who may import it | from outside it imports |", "| --- | --- | --- |"]
    for room in sorted(inside):
        packages = ", ".join(sorted(outside[room])) or "nothing"
        lines.append(f"| `{room}` | {_docstring(room)} | {packages} |")
    return "\n".join([*lines, ""])


def _docstring(room: str) -> str:
    folder = TOP / "src" / "comporta" / room
    source = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    return " ".join((ast.get_docstring(ast.parse(source.read_text())) or "").split())


def command_tree() -> TyperGroup:
    """The whole program as one tree of commands; in use, only the command that is named is imported."""
    program = typer.Typer(rich_markup_mode=None, add_completion=False)
    for name in COMMANDS_BY_NAME:
        module = importlib.import_module(f"comporta.commands.{name}")
        if hasattr(module, "app"):
            program.add_typer(module.app, name=name)
        else:
            program.command(name, context_settings=getattr(module, "CONTEXT", None))(getattr(module, name))
    return typer.main.get_group(program)


def _commands() -> str:
    """Every command with its arguments and options, as typer tells it, below what `comporta --help` says."""
    tree = command_tree()
    context = typer.Context(tree, info_name="comporta")
    parts = [
        "<!-- written from the code: make docs -->\n",
        f"# Every command\n\n```console\n$ comporta --help\n{overview().strip()}\n```\n",
        *(get_docs_for_click(obj=tree.commands[name], ctx=context, indent=1, call_prefix="comporta") for name in COMMANDS_BY_NAME),
    ]
    return "\n".join(part.strip() + "\n" for part in parts)


if __name__ == "__main__":
    raise SystemExit(main())
