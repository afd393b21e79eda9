"""The scripts and styles of the page, as they lie in the package."""

import re
from importlib.resources import files

from comporta.dashboard.page import PANELS

ROOM = files("comporta.dashboard")
SCRIPTS = {name: ROOM.joinpath("panels", f"{name}.js").read_text("utf-8") for name in PANELS}
ASSETS = {**SCRIPTS, "page.js": ROOM.joinpath("page.js").read_text("utf-8"), "page.css": ROOM.joinpath("page.css").read_text("utf-8")}


def test_every_panel_is_a_function_and_a_script_of_its_name() -> None:
    found = {entry.name.removesuffix(".js") for entry in ROOM.joinpath("panels").iterdir() if entry.name.endswith(".js")}
    assert found == set(PANELS)


def test_nothing_is_fetched_from_anywhere() -> None:
    for name, text in ASSETS.items():
        assert not re.search(r"https?://|//[a-z]|@import|url\((?!#)", text.replace("http://www.w3.org", "")), name


def test_no_script_turns_text_into_markup() -> None:
    for name, text in ASSETS.items():
        assert not re.search(r"v-html|innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function", text), name


def test_every_colour_has_a_light_and_a_dark_form() -> None:
    colours = re.findall(r"--[a-z-]+: (?!light-dark|var)([^;]*#[^;]*);", ASSETS["page.css"])
    assert colours == []
