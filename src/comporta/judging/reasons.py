"""Why a decision fell as it did: stored as rule, points and values, told to people in their language."""

import json
from collections.abc import Callable, Sequence
from math import isfinite
from string import Formatter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from comporta.judging.expressions import nearest
from comporta.judging.packs import LANGUAGES, Pack, Rule
from comporta.words.errors import Setup


def reasons_column(transactions: pa.Table, pack: Pack, fired: Sequence[NDArray[np.bool_]]) -> pa.Array:
    """Per row a JSON text `[{"rule":id,"points":n,"values":{field:value}}]`: the rules that fired in the pack's order, the fields in the expression's."""
    pieces: list[list[str]] = [[] for _ in range(transactions.num_rows)]
    for rule, rows in zip(pack.rules, fired, strict=True):
        places = np.flatnonzero(rows)
        for place, piece in zip(places.tolist(), _pieces(transactions, rule, pa.array(places)), strict=True):
            pieces[place].append(piece)
    return pa.array([f"[{','.join(row)}]" for row in pieces], pa.string())


def _pieces(transactions: pa.Table, rule: Rule, places: pa.Array) -> list[str]:
    head = f'{{"rule":{json.dumps(rule.id)},"points":{rule.points},"values":{{'
    columns = []
    for field in rule.when.fields:
        column = transactions.column(field).take(places)
        write = _writer(column.type)
        columns.append([f'"{field}":{"null" if value is None else write(value)}' for value in column.to_pylist()])
    return [f"{head}{','.join(values)}}}}}" for values in zip(*columns, strict=True)]


def _writer(kind: pa.DataType) -> Callable[[Any], str]:
    if pa.types.is_integer(kind):
        return str
    if pa.types.is_boolean(kind):
        return lambda value: "true" if value else "false"
    if pa.types.is_floating(kind):
        # The shortest text that reads back as the same double; JSON knows no infinity.
        return lambda value: repr(value) if isfinite(value) else "null"
    return lambda value: json.dumps(value if isinstance(value, str) else str(value), ensure_ascii=False)


def say(reasons: str, pack: Pack, language: str = "en", currency: str | None = "BRL") -> list[str]:
    """The reasons of a decision as sentences. A rule that the pack does not have (any more) is told by its id."""
    if language not in LANGUAGES:
        raise Setup(f"unknown language {language!r}{nearest(language, LANGUAGES)}", do=f"choose one of: {', '.join(LANGUAGES)}")
    sentences = []
    for reason in json.loads(reasons):
        rule = pack.rule(reason["rule"])
        if rule is None:
            sentences.append(str(reason["rule"]))
            continue
        values = {**dict(pack.thresholds), **reason["values"]}
        sentences.append(_fill(rule.sentence(language), values, language, currency))
    return sentences


def _fill(sentence: str, values: dict[str, Any], language: str, currency: str | None) -> str:
    told = []
    for literal, name, _, _ in Formatter().parse(sentence):
        told.append(literal)
        if name is not None:
            told.append(_told(name, values.get(name), language, currency))
    return "".join(told)


_UNKNOWN = "?"
_SYMBOLS = {"BRL": "R$", "USD": "US$", "EUR": "€"}
_WORDS = {"en": ("yes", "no"), "pt-BR": ("sim", "não")}


def _told(name: str, value: Any, language: str, currency: str | None) -> str:
    if value is None:
        return _UNKNOWN
    if isinstance(value, bool):
        return _WORDS[language][not value]
    if name.endswith("_cents") and isinstance(value, int):
        return money(value, language, currency)
    if isinstance(value, int):
        return _grouped(f"{value:,}", language)
    if isinstance(value, float):
        return _grouped(f"{value:,.1f}", language)
    return str(value)


def money(cents: int, language: str, currency: str | None) -> str:
    """R$ 5,000.00 in English, R$ 5.000,00 in Portuguese."""
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    symbol = f"{_SYMBOLS.get(currency, currency)} " if currency else ""
    return f"{sign}{symbol}{_grouped(f'{whole:,}.{rest:02d}', language)}"


def _grouped(number: str, language: str) -> str:
    return number.translate(str.maketrans(",.", ".,")) if language == "pt-BR" else number
