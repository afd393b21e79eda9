"""What must not stand in any file of the repository, and how its rooms are furnished."""

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]
ROOMS = sorted(path.parent for path in TOP.glob("src/comporta/*/__init__.py"))

# Written so that this file does not hold what it looks for.
REGISTRY = re.compile(r"https?://[a-z0-9.-]*(pyp[i]|pythonhoste[d]|mave[n]|npmj[s]|crates|golan[g]|debia[n])[a-z0-9.-]*")
MACHINE = re.compile(r"(?<![\w.])/(wor[k]|far[m]|roo[t]|hom[e]/\w+|User[s]/\w+|tm[p]/w)/")

# A room that decides may not ask for the time, for chance or for what the machine is; in judging, also no function whose last bit differs.
IMPURE = {
    "now",
    "utcnow",
    "today",
    "time",
    "time_ns",
    "monotonic",
    "perf_counter",
    "uuid1",
    "uuid4",
    "urandom",
    "token_bytes",
    "token_hex",
    "getenv",
}
INEXACT = {"sin", "cos", "tan", "arctan2", "atan2", "exp", "log", "log1p", "log10", "pow", "power", "sin_", "haversine"}


IGNORED = [".git", *(line.rstrip("/") for line in (TOP / ".gitignore").read_text().splitlines())]


def files(folder: Path = TOP) -> Iterator[tuple[Path, str]]:
    """Every file that is or would be in the repository and is text; git itself may be missing here."""
    for path in sorted(folder.iterdir()):
        if any(fnmatch(path.name, pattern) for pattern in IGNORED):
            continue
        if path.is_dir():
            yield from files(path)
        elif path.suffix not in {".png", ".ico", ".woff2"}:
            yield path, path.read_text()


@pytest.mark.parametrize(
    ("what", "pattern"), [("a registry's address", REGISTRY), ("a path of one machine", MACHINE)], ids=["a registry", "a machine"]
)
def test_no_file_names(what: str, pattern: re.Pattern[str]) -> None:
    found = [
        f"{path.relative_to(TOP)}:{number}: {line.strip()[:100]}"
        for path, text in files()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == [], f"{what} stands in a file"


def test_what_is_looked_for_would_be_found() -> None:
    assert REGISTRY.search("https://repo1.mav" + "en.org/x")
    assert REGISTRY.search("https://pyp" + "i.org/simple")
    assert MACHINE.search("see /roo" + "t/x")
    assert not MACHINE.search("src/roo" + "t/x")


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_says_in_two_sentences_what_it_answers_and_who_may_import_it_and_does_nothing_else(room: Path) -> None:
    body = ast.parse((room / "__init__.py").read_text())
    docstring = ast.get_docstring(body) or ""
    assert len(body.body) == 1
    assert len(re.findall(r"[.!?](?=\s|$)", docstring)) == 2, docstring


@pytest.mark.parametrize("room", ["judging", "decoding", "gate", "simulator"])
def test_a_pure_room_asks_neither_for_the_time_nor_for_chance(room: str) -> None:
    assert _calls(room) & IMPURE == set()


def test_judging_calls_nothing_whose_last_bit_differs_between_machines() -> None:
    assert _calls("judging") & INEXACT == set()


def _calls(room: str) -> set[str]:
    """The names of everything that is called in a room."""
    called: set[str] = set()
    for path in (TOP / "src" / "comporta" / room).glob("**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                match node.func:
                    case ast.Name(id=name) | ast.Attribute(attr=name):
                        called.add(name)
    return called


def test_a_pure_rooms_calls_are_seen() -> None:
    assert "decode" in _calls("line")
