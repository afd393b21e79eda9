"""Rule expressions: SQL conditions over the fields of one transaction, and nothing that could see another row, a clock or chance.

The words that may stand in one are listed here, so an expression gives the same for a row whatever stands beside it in the batch.
"""

import re
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple

import polars as pl
from polars.exceptions import PolarsError

from comporta.words.errors import Setup
from comporta.words.tables import TRANSACTIONS

# A rule is about the transaction, not about where in the log it stands or how it was read.
FIELDS = tuple(name for name in TRANSACTIONS.names if name not in {"partition", "offset", "identity", "invalid_fields"})
# No aggregates, windows or subqueries; no trigonometry, exponentials or powers, which differ in the last bit between machines.
WORDS = frozenset("AND OR NOT IS NULL TRUE FALSE IN BETWEEN LIKE CASE WHEN THEN ELSE END".split())  # noqa: SIM905 - reads as the list it is
FUNCTIONS = frozenset("ABS COALESCE LEAST GREATEST LOWER UPPER LENGTH STARTS_WITH ENDS_WITH SQRT FLOOR CEIL".split())  # noqa: SIM905 - as above

_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<text>'(?:[^']|'')*')|(?P<number>\d+(?:\.\d+)?)|(?P<threshold>\$[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<operator><=|>=|<>|!=|[-+*/%=<>(),])"
)


class Expression(NamedTuple):
    """An expression whose thresholds are filled in, and the fields that it names, in the order in which it names them."""

    sql: str
    fields: tuple[str, ...]
    thresholds: tuple[str, ...]


def read(source: str, thresholds: dict[str, int | float], where: str) -> Expression:
    """The expression with numbers for its `$thresholds`; what may not stand in one is refused with the nearest name."""
    sql: list[str] = []
    fields: list[str] = []
    used: list[str] = []
    at = 0
    while at < len(source):
        if source.startswith(("--", "/*"), at):
            raise Setup("a comment cannot stand in an expression", where=where)
        token = _TOKEN.match(source, at)
        if token is None:
            raise Setup(f"{source[at]!r} cannot stand in an expression", where=where)
        at, kind, piece = token.end(), token.lastgroup, token.group()
        if kind == "threshold":
            used.append(piece[1:])
            piece = _number(piece[1:], thresholds, where)
        elif kind == "word" and piece.upper() not in WORDS | FUNCTIONS:
            if piece not in FIELDS:
                raise Setup(f"unknown field {piece!r}{nearest(piece, (*FIELDS, *FUNCTIONS))}", where=where)
            fields.append(piece)
        sql.append(piece)
    if not fields:
        raise Setup("the expression names no field", where=where)
    return Expression("".join(sql), tuple(dict.fromkeys(fields)), tuple(dict.fromkeys(used)))


def _number(name: str, thresholds: dict[str, int | float], where: str) -> str:
    if name not in thresholds:
        raise Setup(f"unknown threshold ${name}{nearest(name, tuple(thresholds))}", where=where)
    value = format(Decimal(repr(thresholds[name])), "f")
    return f"({value})" if value.startswith("-") else value


def nearest(name: str, known: tuple[str, ...]) -> str:
    """`; did you mean …?`, or nothing when no name is near."""
    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def check_condition(expression: Expression, where: str) -> None:
    """Refuses what is not true or false for a transaction."""
    _check(expression, "truth", where)


def check_quantity(expression: Expression, where: str) -> None:
    """Refuses what is not a number for a transaction."""
    _check(expression, "number", where)


def _check(expression: Expression, wanted: str, where: str) -> None:
    try:
        parsed = pl.sql_expr(expression.sql)
    except PolarsError as error:
        raise Setup(f"cannot be read as SQL: {_first_line(error)}", where=where) from None
    _check_operands(parsed, where)
    found = _kind(parsed, where)
    if found != wanted:
        raise Setup(f"gives {_SPOKEN[found]}, where {_SPOKEN[wanted]} is wanted", where=where)


_SPOKEN = {"truth": "true or false", "number": "a number", "text": "text", "time": "a time", "null": "null", "bytes": "bytes"}


@cache
def _nothing() -> pl.LazyFrame:
    return pl.DataFrame(TRANSACTIONS.empty_table()).lazy()


def _kind(parsed: pl.Expr, where: str) -> str:
    try:
        found = _nothing().select(parsed.alias("value")).collect_schema()["value"]
    except PolarsError as error:
        raise Setup(f"its types do not fit: {_first_line(error)}", where=where) from None
    return _kind_of(found)


def _kind_of(found: Any) -> str:
    """The kind of a Polars type, or of what a list of it holds, for `IN` sets a value against the values of a list."""
    if isinstance(found, pl.List):
        return _kind_of(found.inner)
    if found.is_numeric():
        return "number"
    if found.is_temporal():
        return "time"
    return {pl.Boolean(): "truth", pl.String(): "text", pl.Binary(): "bytes"}.get(found, "null")


def _check_operands(parsed: pl.Expr, where: str) -> None:
    """Polars compares a number with a truth value, and finds out late that it cannot compare one with text; both are mistakes here."""
    parts = parsed.meta.pop()
    for part in parts:
        _check_operands(part, where)
    if len(parts) == len(("left", "right")):
        kinds = sorted({_kind(part, where) for part in parts} - {"null"})
        if len(kinds) > 1:
            raise Setup(f"sets {_SPOKEN[kinds[0]]} against {_SPOKEN[kinds[1]]}", where=where)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
