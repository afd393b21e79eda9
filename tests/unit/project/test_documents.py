"""Documents that can fail: generated pages are fresh, links lead somewhere, every command is explained."""

import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).parents[3]
PAGES = sorted([*TOP.glob("*.md"), *TOP.glob("docs/**/*.md")])
DECISIONS = sorted((TOP / "docs" / "decisions").glob("[0-9]*.md"))


def commands(command: Any, name: str = "comporta") -> Iterator[tuple[str, Any]]:
    """Every command and group below this one."""
    for word, below in getattr(command, "commands", {}).items():
        yield f"{name} {word}", below
        yield from commands(below, f"{name} {word}")


COMMANDS = dict(commands(runpy.run_path(str(TOP / "scripts" / "write_docs.py"))["command_tree"]()))


def test_generated_pages_say_what_the_code_says() -> None:
    checked = subprocess.run([sys.executable, TOP / "scripts" / "write_docs.py", "--check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_a_link_inside_the_repository_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)|<img[^>]* src=\"([^\"]+)\"|srcset=\"([^\"]+)\"", page.read_text()):
        link = next(filter(None, target))
        if "://" not in link:
            assert (page.parent / link).exists(), link


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_and_its_options_are_explained(name: str) -> None:
    command = COMMANDS[name]
    assert command.help, f"{name} says nothing about itself"
    for parameter in command.params:
        assert getattr(parameter, "hidden", False) or getattr(parameter, "help", None), f"{name}: {parameter.name} is not explained"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_is_documented(name: str) -> None:
    heading = rf"^#+ `{re.escape(name)}`$"
    assert COMMANDS[name].hidden or re.search(heading, (TOP / "docs" / "cli.md").read_text(), flags=re.MULTILINE)


def test_decisions_are_numbered_without_a_gap() -> None:
    assert [int(path.name[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_is_one_page_that_says_why_and_what_follows(page: Path) -> None:
    text = page.read_text()
    assert text.startswith(f"# {int(page.name[:4])}. ")
    assert all(f"\n## {part}\n" in text for part in ("Why", "What follows"))
    assert len(text.splitlines()) <= 60
    assert f"]({page.name})" in (TOP / "docs" / "decisions" / "README.md").read_text()
