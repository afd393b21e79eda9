"""`comporta rules`: the rules of a pack as people and programs read them, and a pack of one's own tried."""

import json
from importlib.resources import files
from pathlib import Path

import pytest
from typer.testing import CliRunner

from comporta.commands.rules import app

PACK = files("comporta.judging").joinpath("packs", "classic-v1.toml").read_text("utf-8")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_list_names_every_rule_with_its_points_and_condition() -> None:
    done = CliRunner().invoke(app, ["list", "--json"])
    assert done.exit_code == 0
    rules = json.loads(done.stdout)
    assert {rule["rule"]: rule["points"] for rule in rules}["is_pix_new_beneficiary"] == 25
    assert {rule["rule"]: rule["condition"] for rule in rules}["is_high_value"] == "amount_cents > 500000"


def test_the_list_for_people_says_how_points_become_a_level() -> None:
    said = CliRunner().invoke(app, ["list", "--pack", "classic-v1"]).stdout
    assert "score = classic_fraud_score + 0.5 * points; CRITICAL from 80" in said
    assert "is_location_jump" in said


def test_one_rule_is_shown_with_its_examples() -> None:
    shown = json.loads(CliRunner().invoke(app, ["show", "is_high_value", "--json"]).stdout)
    assert (shown["fires"], shown["spares"]) == ({"amount_cents": 500001}, {"amount_cents": 500000})
    assert "valor {amount_cents}" in CliRunner().invoke(app, ["show", "is_high_value"]).stdout


def test_an_unknown_rule_is_refused_with_the_nearest_name() -> None:
    refused = CliRunner().invoke(app, ["show", "is_hi_value", "--json"])
    assert refused.exit_code == 2
    assert "did you mean 'is_high_value'?" in json.loads(refused.stdout)["error"]["message"]


def test_a_pack_of_ones_own_is_tried(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(PACK, encoding="utf-8")
    assert "all 16 examples hold" in CliRunner().invoke(app, ["test", str(mine)]).stdout
    mine.write_text(PACK.replace("fires = { amount_cents = 500001 }", "fires = { amount_cents = 1 }"), encoding="utf-8")
    refused = CliRunner().invoke(app, ["test", str(mine), "--json"])
    assert refused.exit_code == 3
    assert json.loads(refused.stdout)["error"]["message"] == "mine.toml, rule is_high_value: its example 'fires' does not fire"
