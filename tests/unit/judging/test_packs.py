"""Packs as TOML: what loads, and every mistake as one line that names file and rule."""

import pickle
from pathlib import Path

import pytest

from comporta.judging import packs
from comporta.judging.packs import Pack, builtin, load, names
from comporta.words.errors import Setup
from comporta.words.levels import Action, Level

PACK = """
name = "small"
version = 3
notes = ["for tests"]

[thresholds]
much_cents = 100000
share = 0.25

[[levels]]
level = "HIGH"
from = 50
action = "REVIEW"
alert = true

[[levels]]
level = "NORMAL"
action = "ACCEPT"
alert = false

[[rules]]
id = "much"
when = "amount_cents > $much_cents AND type <> 'TED'"
points = 60
tags = ["value"]
reason.en = "{amount_cents} is more than {much_cents}"
reason.pt-BR = "{amount_cents} é mais de {much_cents}"
fires = { amount_cents = 100001, type = "PIX" }
spares = { amount_cents = 100001, type = "TED" }
"""


def changed(old: str, new: str) -> str:
    assert old in PACK
    return PACK.replace(old, new, 1)


def test_every_pack_that_comes_with_comporta_loads_and_passes_its_examples() -> None:
    assert "classic-v1" in names()
    assert [builtin(name).name for name in names()] == list(names())


def test_a_pack_is_a_value_that_travels_between_processes() -> None:
    pack = load(PACK)
    there: Pack = pickle.loads(pickle.dumps(pack))  # noqa: S301 - our own bytes
    assert there == pack
    assert hash(there) == hash(pack)
    assert packs.compiled(there).fields == ("type", "amount_cents")


def test_a_pack_says_its_thresholds_levels_and_rules() -> None:
    pack = load(PACK)
    assert (pack.name, pack.version, pack.base, pack.weight, pack.decimals) == ("small", 3, None, 1.0, 2)
    assert dict(pack.thresholds) == {"much_cents": 100000, "share": 0.25}
    assert [(step.level, step.at_least, step.action, step.alert) for step in pack.levels] == [
        (Level.HIGH, 50.0, Action.REVIEW, True),
        (Level.NORMAL, None, Action.ACCEPT, False),
    ]
    [rule] = pack.rules
    assert rule.when.sql == "amount_cents > 100000 AND type <> 'TED'"
    assert rule.when.fields == ("amount_cents", "type")


def test_a_pack_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(changed("amount_cents > ", "amount_cent > "), encoding="utf-8")
    with pytest.raises(Setup, match=r"mine\.toml, rule much: unknown field 'amount_cent'; did you mean 'amount_cents'\?"):
        load(file)
    with pytest.raises(Setup, match=r"nowhere\.toml: cannot be read: No such file"):
        load(tmp_path / "nowhere.toml")


def test_an_unknown_pack_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(Setup, match=r"unknown pack 'clasic-v1'; did you mean 'classic-v1'\?"):
        builtin("clasic-v1")


RULE = r"p\.toml, rule much: "
MISTAKES = [
    # what is changed, into what, the one line
    ('name = "small"', 'name = "small', r"p\.toml: not TOML: .*line 2"),
    ('name = "small"', 'name = "Small Pack"', r"p\.toml: name: "),
    ("version = 3", "version = 0", r"p\.toml: version: "),
    ("version = 3", 'version = "3"', r"p\.toml: version: Expected `int`, got `str`"),
    ("version = 3", "version = true", r"p\.toml: version: Expected `int`, got `bool`"),
    ("version = 3\n", "", r"p\.toml: Object missing required field `version`"),
    ("notes =", "note =", r"p\.toml: unknown key 'note'; did you mean 'notes'\?"),
    ("share = 0.25", "share = inf", r"p\.toml: thresholds\.share: not finite"),
    ("share = 0.25", "channel = 1", r"p\.toml: thresholds\.channel: a field has this name"),
    ("share = 0.25", 'share = "x"', r"p\.toml: thresholds\.?.*: Expected `float \| int`|p\.toml: .*Expected `int \| float`"),
    ("from = 50", "", r"p\.toml: levels: each but the last needs a 'from'"),
    ('level = "NORMAL"', 'level = "NORMAL"\nfrom = 1', r"p\.toml: levels: the last one must have no 'from'"),
    ('level = "NORMAL"', 'level = "HIGH"', r"p\.toml: levels: one stands twice"),
    ('level = "NORMAL"', 'level = "CALM"', r"p\.toml: .*Invalid enum value 'CALM'"),
    ('action = "ACCEPT"', 'action = "CHEER"', r"p\.toml: .*Invalid enum value 'CHEER'"),
    ('id = "much"', 'id = "Much!"', r"p\.toml, rule Much!: id: "),
    ("points = 60", "points = 6.5", RULE + r"points: Expected `int`, got `float`"),
    ("points = 60", 'points = "60"', RULE + r"points: Expected `int`, got `str`"),
    ("points = 60", "pionts = 60", RULE + r"unknown key 'pionts'; did you mean 'points'\?"),
    ('reason.pt-BR = "{amount_cents} é mais de {much_cents}"', "", RULE + r"reason: no sentence in pt-BR"),
    ("reason.pt-BR", 'reason.de = "zu viel"\nreason.pt-BR', RULE + r"reason: unknown language 'de'"),
    (
        "{amount_cents} is",
        "{amount_cent} is",
        RULE[:-2] + r", reason\.en: unknown placeholder \{amount_cent\}; did you mean 'amount_cents'\?",
    ),
    ("{amount_cents} is", "{channel} is", RULE[:-2] + r", reason\.en: unknown placeholder \{channel\}"),
    ("{amount_cents} is", "{amount_cents:>9} is", RULE[:-2] + r", reason\.en: unknown placeholder"),
    ("{amount_cents} is", "{amount_cents is", RULE[:-2] + r", reason\.en: its braces do not match"),
    ("$much_cents AND", "$mch_cents AND", RULE + r"unknown threshold \$mch_cents; did you mean 'much_cents'\?"),
    ("amount_cents > $much_cents AND type <> 'TED'", "amount_cents + 1", RULE + "gives a number, where true or false is wanted"),
    ("amount_cents > $much_cents AND type <> 'TED'", "lower(type)", RULE + "gives text, where true or false is wanted"),
    ("amount_cents > $much_cents AND type <> 'TED'", "amount_cents > 'a'", RULE + "sets a number against text"),
    ("amount_cents > $much_cents AND type <> 'TED'", "type > 5", RULE + "sets a number against text"),
    ("amount_cents > $much_cents AND type <> 'TED'", "amount_cents IN ('a', 'b')", RULE + "sets a number against text"),
    ("amount_cents > $much_cents AND type <> 'TED'", "auth_3ds = 1", RULE + "sets a number against true or false"),
    ("amount_cents > $much_cents AND type <> 'TED'", "NOT (auth_3ds = 1)", RULE + "sets a number against true or false"),
    ("amount_cents > $much_cents AND type <> 'TED'", "event_time > '2025-01-01'", RULE + "(its types do not fit|sets)"),
    ("amount_cents > $much_cents AND type <> 'TED'", "event_time > 5", RULE + "(its types do not fit|sets)"),
    ("amount_cents > $much_cents AND type <> 'TED'", "amount_cents >", RULE + "cannot be read as SQL"),
    ("amount_cents > $much_cents AND type <> 'TED'", "amount_cents > 1)", RULE + "cannot be read as SQL"),
    ("amount_cents > $much_cents AND type <> 'TED'", "", RULE + "the expression names no field"),
    ("amount_cents > $much_cents AND type <> 'TED'", "1 = 1", RULE + "the expression names no field"),
    ("amount_cents > $much_cents AND type <> 'TED'", "amount_cents > 1; type = 'PIX'", RULE + "';' cannot stand in an expression"),
    ("amount_cents > $much_cents AND type <> 'TED'", "amount_cents > 1 -- type", RULE + "a comment cannot stand"),
    ("amount_cents > $much_cents AND type <> 'TED'", "amount_cents > 1 /* type */", RULE + "a comment cannot stand"),
    ("amount_cents > $much_cents AND type <> 'TED'", 'amount_cents > 1 AND \\"type\\" = 1', RULE + ".* cannot stand in an expression"),
    (
        "amount_cents > $much_cents AND type <> 'TED'",
        "Amount_Cents > 1",
        RULE + "unknown field 'Amount_Cents'; did you mean 'amount_cents'",
    ),
    ("fires = { amount_cents = 100001", "fires = { amount_cents = 100000", RULE + "its example 'fires' does not fire"),
    (
        'spares = { amount_cents = 100001, type = "TED"',
        'spares = { amount_cents = 100001, type = "DOC"',
        RULE + "its example 'spares' fires",
    ),
    ("fires = { amount_cents", "fires = { amount", RULE + r"an example names an unknown field 'amount'; did you mean 'amount_cents'\?"),
    ("fires = { amount_cents = 100001", "fires = { amount_cents = 1.5", RULE + "an example gives amount_cents a value that is no int64"),
    ("fires = { amount_cents = 100001", 'fires = { amount_cents = "1"', RULE + "an example gives amount_cents a value that is no int64"),
    ("[thresholds]", "[score]\ndecimals = 9\n[thresholds]", r"p\.toml: score: "),
    ("[thresholds]", "[score]\nweight = nan\n[thresholds]", r"p\.toml: score: "),
    ("[thresholds]", '[score]\nbase = "channel"\n[thresholds]', r"p\.toml, score\.base: gives text, where a number is wanted"),
    ("type <> 'TED'", "classic_unusual_time", RULE + "classic_unusual_time is for packs whose name begins with 'classic-'"),
]
# What would make one row's answer depend on another row, a clock, chance or the machine.
FORBIDDEN = [
    "sum(amount_cents)",
    "count(amount_cents)",
    "avg(amount_cents)",
    "rank() over (order by amount_cents)",
    "random()",
    "now()",
    "exp(latitude)",
]
FORBIDDEN += [
    "sin(latitude)",
    "pow(amount_cents, 2)",
    "(select 1)",
    "cast(amount_cents as int)",
    "partition",
    "offset",
    "identity",
    "invalid_fields",
]


@pytest.mark.parametrize(("old", "new", "line"), MISTAKES, ids=[f"{old[:20]} -> {new[:30]}" for old, new, _ in MISTAKES])
def test_a_mistake_is_one_line_that_says_where(old: str, new: str, line: str) -> None:
    with pytest.raises(Setup, match=line) as refused:
        load(changed(old, new), where="p.toml")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("forbidden", FORBIDDEN)
def test_an_expression_sees_one_row_and_nothing_else(forbidden: str) -> None:
    with pytest.raises(Setup, match=r"^p\.toml, rule much: (unknown field|.* is no )"):
        load(changed("amount_cents > $much_cents AND type <> 'TED'", f"amount_cents > 1 AND {forbidden} > 1"), where="p.toml")


def test_two_rules_of_one_id_are_refused() -> None:
    with pytest.raises(Setup, match="rule much: a rule of this id stands twice"):
        load(PACK + PACK[PACK.index("[[rules]]") :])


WORKS = [
    "amount_cents BETWEEN 100001 AND 200000 AND type IN ('PIX', 'DOC')",
    "type LIKE 'P%' AND coalesce(installments, 0) = 0 AND NOT (amount_cents < -5)",
    "CASE WHEN type = 'PIX' THEN amount_cents ELSE 0 END > $much_cents",
    "type = 'PIX' AND (channel IS NULL OR channel = 'it''s') AND amount_cents * $share > 25000",
    "type = 'PIX' AND sqrt(amount_cents) > 316.2 AND least(amount_cents, 5) = 5 and latitude is null",
    "\n  type = 'PIX'\n  AND amount_cents % 2 = 1\n",
]


@pytest.mark.parametrize("expression", WORKS)
def test_the_sql_that_a_rule_needs_is_there(expression: str) -> None:
    load(changed("\"amount_cents > $much_cents AND type <> 'TED'\"", f'"""{expression}"""'))
