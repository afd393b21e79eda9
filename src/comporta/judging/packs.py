"""Packs: rules with their points, levels and sentences, as TOML. A pack that loads has been read, typed and tried on its own examples."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from math import isfinite
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

import msgspec
import polars as pl
import pyarrow as pa

from comporta.judging import expressions
from comporta.judging.expressions import Expression, nearest
from comporta.words.errors import Setup
from comporta.words.levels import Action, Level
from comporta.words.tables import TRANSACTIONS

LANGUAGES = ("en", "pt-BR")


@dataclass(frozen=True)
class Rule:
    """One condition, what it adds, how it is told to people, and an example that fires and one that does not."""

    id: str
    when: Expression
    points: int
    tags: tuple[str, ...]
    reason: tuple[tuple[str, str], ...]
    fires: tuple[tuple[str, Any], ...]
    spares: tuple[tuple[str, Any], ...]

    def sentence(self, language: str) -> str:
        """How the rule is told in `language`, with its placeholders."""
        return dict(self.reason)[language]


@dataclass(frozen=True)
class Step:
    """A level, the score from which it holds (None: all that is left), and what follows from it."""

    level: Level
    at_least: float | None
    action: Action
    alert: bool


@dataclass(frozen=True)
class Pack:
    """A set of rules, as strings and numbers only. Score = base + weight * points of the rules that fired, rounded half up to `decimals`."""

    name: str
    version: int
    notes: tuple[str, ...]
    base: Expression | None
    weight: float
    decimals: int
    thresholds: tuple[tuple[str, int | float], ...]
    levels: tuple[Step, ...]
    rules: tuple[Rule, ...]

    def rule(self, rule_id: str) -> Rule | None:
        """The rule of this id, if the pack has it."""
        return next((rule for rule in self.rules if rule.id == rule_id), None)


class Compiled(NamedTuple):
    """A pack as Polars expressions: made once per process, for a pack travels between processes as text."""

    conditions: tuple[pl.Expr, ...]
    base: pl.Expr | None
    fields: tuple[str, ...]


@lru_cache(maxsize=16)
def compiled(pack: Pack) -> Compiled:
    """The pack's conditions in its order, its base, and all fields that they name."""
    sources = [rule.when for rule in pack.rules] + ([pack.base] if pack.base else [])
    named = {field for source in sources for field in source.fields}
    return Compiled(
        conditions=tuple(pl.sql_expr(rule.when.sql) for rule in pack.rules),
        base=pl.sql_expr(pack.base.sql) if pack.base else None,
        fields=tuple(name for name in TRANSACTIONS.names if name in named),
    )


def names() -> tuple[str, ...]:
    """The packs that come with Comporta."""
    found = files("comporta.judging").joinpath("packs").iterdir()
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in found if entry.name.endswith(".toml")))


def builtin(name: str) -> Pack:
    """One of the packs that come with Comporta."""
    if name not in names():
        raise Setup(f"unknown pack {name!r}{nearest(name, names())}", do=f"choose one of: {', '.join(names())}")
    return load(files("comporta.judging").joinpath("packs", f"{name}.toml").read_text("utf-8"), where=f"{name}.toml")


def load(source: str | Path, where: str = "pack") -> Pack:
    """The pack that a file or a text holds. Every mistake in it is one line that names file and rule."""
    if isinstance(source, Path):
        where = source.name
        source = _text(source)
    try:
        document = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        raise Setup(f"not TOML: {error}", where=where) from None
    try:
        written = msgspec.convert(document, _Pack)
    except msgspec.ValidationError as error:
        raise _shape_error(str(error), document, where) from None
    pack = _pack(written, where)
    _check_classic(pack, where)
    _try_examples(pack, where)
    return pack


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise Setup(f"cannot be read: {reason}", where=str(path)) from None


class _Score(msgspec.Struct, forbid_unknown_fields=True):
    base: str | None = None
    weight: float = 1.0
    decimals: int = 2


class _Level(msgspec.Struct, forbid_unknown_fields=True, rename={"at_least": "from"}):
    level: Level
    action: Action
    alert: bool
    at_least: float | None = None


class _Rule(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    when: str
    points: int
    reason: dict[str, str]
    fires: dict[str, Any]
    spares: dict[str, Any]
    tags: list[str] = []


class _Pack(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    version: int
    levels: list[_Level]
    rules: list[_Rule]
    notes: list[str] = []
    score: _Score = msgspec.field(default_factory=_Score)
    thresholds: dict[str, int | float] = {}


_UNKNOWN_KEY = re.compile(r"Object contains unknown field `(?P<key>[^`]*)`")
_PLACE = re.compile(r" - at `\$\.?(?P<path>[^`]*)`")
_RULE_PLACE = re.compile(r"^rules\[(?P<index>\d+)\]\.?")


def _shape_error(said: str, document: Mapping[str, Any], where: str) -> Setup:
    """The checker's complaint, with the rule's id where it has a number, and the nearest name for a key that is not one."""
    path = found["path"] if (found := _PLACE.search(said)) else ""
    said = _PLACE.sub("", said)
    if key := _UNKNOWN_KEY.search(said):
        known = {field for kind in (_Pack, _Score, _Level, _Rule) for field in kind.__struct_encode_fields__}
        said = f"unknown key {key['key']!r}{nearest(key['key'], tuple(sorted(known)))}"
    if rule := _RULE_PLACE.match(path):
        written = document["rules"][int(rule["index"])]
        name = written.get("id", f"number {int(rule['index']) + 1}") if isinstance(written, dict) else "?"
        where, path = _at(where, name), path[rule.end() :]
    return Setup(f"{path}: {said}" if path else said, where=where)


def _at(where: str, rule_id: object) -> str:
    return f"{where}, rule {rule_id}"


_PACK_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_RULE_ID = re.compile(r"[a-z][a-z0-9_]*")
_MOST_DECIMALS = 6


def _pack(written: _Pack, where: str) -> Pack:
    if not _PACK_NAME.fullmatch(written.name):
        raise Setup("name: small letters, digits and hyphens only", where=where)
    if written.version < 1:
        raise Setup("version: at least 1", where=where)
    if not 0 <= written.score.decimals <= _MOST_DECIMALS or not isfinite(written.score.weight):
        raise Setup(f"score: weight must be finite, decimals between 0 and {_MOST_DECIMALS}", where=where)
    for name, value in written.thresholds.items():
        if not isfinite(value):
            raise Setup(f"thresholds.{name}: not finite", where=where)
        if name in TRANSACTIONS.names:
            raise Setup(f"thresholds.{name}: a field has this name", where=where)
    base = None
    if written.score.base is not None:
        base = expressions.read(written.score.base, written.thresholds, f"{where}, score.base")
        expressions.check_quantity(base, f"{where}, score.base")
    return Pack(
        name=written.name,
        version=written.version,
        notes=tuple(written.notes),
        base=base,
        weight=written.score.weight,
        decimals=written.score.decimals,
        thresholds=tuple(written.thresholds.items()),
        levels=_levels(written.levels, where),
        rules=_rules(written, where),
    )


def _levels(written: list[_Level], where: str) -> tuple[Step, ...]:
    if not written or written[-1].at_least is not None:
        raise Setup("levels: the last one must have no 'from', for every score needs a level", where=where)
    starts = [level.at_least for level in written[:-1]]
    finite = [start for start in starts if start is not None and isfinite(start)]
    if len(finite) != len(starts) or finite != sorted(set(finite), reverse=True):
        raise Setup("levels: each but the last needs a 'from', and they go down", where=where)
    if len({level.level for level in written}) != len(written):
        raise Setup("levels: one stands twice", where=where)
    return tuple(Step(level.level, level.at_least, level.action, level.alert) for level in written)


def _rules(written: _Pack, where: str) -> tuple[Rule, ...]:
    rules: dict[str, Rule] = {}
    for rule in written.rules:
        place = _at(where, rule.id)
        if not _RULE_ID.fullmatch(rule.id):
            raise Setup("id: small letters, digits and underscores, a letter first", where=place)
        if rule.id in rules:
            raise Setup("a rule of this id stands twice", where=place)
        rules[rule.id] = _rule(rule, written.thresholds, place)
    return tuple(rules.values())


def _rule(written: _Rule, thresholds: dict[str, int | float], where: str) -> Rule:
    when = expressions.read(written.when, thresholds, where)
    expressions.check_condition(when, where)
    for language in LANGUAGES:
        if language not in written.reason:
            raise Setup(f"reason: no sentence in {language}", where=where)
    for language, sentence in written.reason.items():
        if language not in LANGUAGES:
            raise Setup(f"reason: unknown language {language!r}{nearest(language, LANGUAGES)}", where=where)
        _check_placeholders(sentence, (*when.fields, *thresholds), f"{where}, reason.{language}")
    return Rule(
        id=written.id,
        when=when,
        points=written.points,
        tags=tuple(written.tags),
        reason=tuple(written.reason.items()),
        fires=tuple(written.fires.items()),
        spares=tuple(written.spares.items()),
    )


def _check_classic(pack: Pack, where: str) -> None:
    """The original's own counters and scores are for the packs that repeat the original; no other message has them."""
    if pack.name.startswith("classic-"):
        return
    named = [("score.base", pack.base)] if pack.base else []
    for place, expression in [*named, *((f"rule {rule.id}", rule.when) for rule in pack.rules)]:
        for field in expression.fields:
            if field.startswith("classic_"):
                raise Setup(f"{field} is for packs whose name begins with 'classic-'", where=f"{where}, {place}")


def _check_placeholders(sentence: str, known: tuple[str, ...], where: str) -> None:
    try:
        pieces = list(Formatter().parse(sentence))
    except ValueError as error:
        raise Setup(f"its braces do not match: {error}", where=where) from None
    for _, name, form, conversion in pieces:
        if name is not None and (name not in known or form or conversion):
            raise Setup(
                f"unknown placeholder {{{name}}}{nearest(name, known)}", where=where, do="name a field of the expression or a threshold"
            )


def _try_examples(pack: Pack, where: str) -> None:
    """Every rule fires on the example that says so and spares the other; fields that an example leaves out are null."""
    if not pack.rules:
        return
    examples = [dict(example) for rule in pack.rules for example in (rule.fires, rule.spares)]
    for number, example in enumerate(examples):
        _check_example(example, _at(where, pack.rules[number // 2].id))
    columns = [pa.array([example.get(field.name) for example in examples], field.type) for field in TRANSACTIONS]
    frame = pl.DataFrame(pa.Table.from_arrays(columns, names=TRANSACTIONS.names))
    for index, (rule, condition) in enumerate(zip(pack.rules, compiled(pack).conditions, strict=True)):
        fired = frame.select(condition.fill_null(value=False).alias("fired"))["fired"]
        if not fired[2 * index]:
            raise Setup("its example 'fires' does not fire", where=_at(where, rule.id))
        if fired[2 * index + 1]:
            raise Setup("its example 'spares' fires", where=_at(where, rule.id))


def _check_example(example: Mapping[str, Any], where: str) -> None:
    for name, value in example.items():
        if name not in TRANSACTIONS.names:
            raise Setup(f"an example names an unknown field {name!r}{nearest(name, tuple(TRANSACTIONS.names))}", where=where)
        kind = TRANSACTIONS.field(name).type
        if not _fits(value, kind):
            raise Setup(f"an example gives {name} a value that is no {kind}", where=where)


def _fits(value: Any, kind: pa.DataType) -> bool:
    """Arrow would turn 1.5 into 1 and true into 1 without a word."""
    if isinstance(value, bool) or pa.types.is_boolean(kind):
        return isinstance(value, bool) and pa.types.is_boolean(kind)
    if isinstance(value, float) and pa.types.is_integer(kind):
        return False
    try:
        pa.array([value], kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return False
    return True
