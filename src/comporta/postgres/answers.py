"""A person's own SQL, asked as the reader: one statement, read only, with an end to its patience; values as JSON can say them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.types.string import TextLoader

from comporta.postgres.connections import Connection, connect
from comporta.postgres.failures import TRANSIENT, answer, is_connection_lost, place, sqlstate_of
from comporta.words.errors import ComportaError, Usage

# More than anyone reads, and less than fills the memory.
MOST_ROWS = 100_000
CANCELED = "57014"
NOT_A_QUERY = "it is asked as the reader, in a transaction that only reads"


@dataclass(frozen=True)
class Rows:
    """An answer; no two columns have the same name. Values are None, bool, int, float, str, and lists and objects of these."""

    columns: tuple[str, ...]
    values: list[tuple[Any, ...]]

    def objects(self) -> list[dict[str, Any]]:
        """One object per row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.values]


class IsoLoader(Loader):
    """An instant as PostgreSQL writes it, made ISO 8601; also those which Python's datetime cannot hold."""

    def load(self, data: Buffer) -> str:
        text = bytes(data).decode().replace(" ", "T", 1)
        return text + ":00" if text.endswith("+00") else text


def sql(reader_dsn: str, text: str, seconds: int = 30) -> Rows:
    """The rows of one statement. Usage with the server's own words if it is wrong, takes longer, or is no question."""
    connection = connect(reader_dsn, "comporta sql", autocommit=False, read_only=True)
    try:
        return _ask(connection, text, seconds)
    except psycopg.Error as error:
        failure = _refusal(error, seconds, place(reader_dsn))
    finally:
        connection.close()
    raise failure


def _ask(connection: Connection, text: str, seconds: int) -> Rows:
    for kind in ("timestamp", "timestamptz"):
        connection.adapters.register_loader(kind, IsoLoader)
    for kind in (
        "date",
        "time",
        "timetz",
        "interval",
        "bytea",
        "inet",
        "cidr",
        "tsrange",
        "tstzrange",
        "daterange",
        "int4range",
        "int8range",
    ):
        connection.adapters.register_loader(kind, TextLoader)
    for kind in ("numrange", "int4multirange", "int8multirange", "nummultirange", "datemultirange", "tsmultirange", "tstzmultirange"):
        connection.adapters.register_loader(kind, TextLoader)
    connection.execute(f"set local statement_timeout = {seconds * 1000:d}".encode())
    with connection.cursor() as cursor:
        # Row by row, in a protocol that takes one statement only.
        rows = list(islice(cursor.stream(text.encode()), MOST_ROWS + 1))
        if len(rows) > MOST_ROWS:
            raise Usage(f"the answer has more than {MOST_ROWS:,} rows", where="comporta sql", do="add a limit, or count")
        names = [column.name for column in cursor.description or []]
    return Rows(distinct(names), [tuple(plain(value) for value in row) for row in rows])


def _refusal(error: psycopg.Error, seconds: int, where: str) -> ComportaError:
    state = sqlstate_of(error)
    if state == CANCELED:
        return Usage(f"the answer takes longer than {seconds} s", where="comporta sql", do="ask for less, or give --timeout")
    if state == "25006":
        return Usage("only questions are answered", where="comporta sql", do=NOT_A_QUERY)
    if state is None and not is_connection_lost(error):
        return Usage("the statement answers with no rows", where="comporta sql", do=NOT_A_QUERY)
    if state is None or state.startswith(TRANSIENT):
        return answer(error, where)
    near = f" (character {error.diag.statement_position})" if error.diag.statement_position else ""
    hint = error.diag.message_hint or ""
    return Usage(f"{error.diag.message_primary or state}{near}", where="comporta sql", do=hint.rstrip("."))


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """A second `count` becomes `count_2`: in an object it would hide the first."""
    distinct: list[str] = []
    for name in names:
        chosen, number = name, 1
        while chosen in distinct:
            number += 1
            chosen = f"{name}_{number}"
        distinct.append(chosen)
    return tuple(distinct)


def plain(value: object) -> Any:
    """As JSON can say it, without losing anything: a number that no JSON reader would get right is a text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    return value.hex() if isinstance(value, bytes) else str(value)


def _number(value: Decimal) -> int | float | str:
    if not value.is_finite():
        return str(value)
    if value == value.to_integral_value():
        return int(value)
    return float(value) if Decimal(repr(float(value))) == value else str(value)
