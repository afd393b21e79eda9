"""Many records at once where it is proved that each is read as the strict path reads it, in a third of the time; the others go there.

The proof for one record: its value is one flat JSON object (a single brace and no bracket, accepted by a strict parser), its escapes are plain characters,
and it has exactly as many quotes as the known keys and the texts found under them need. Then no key is unknown and none stands twice, for either
would bring two quotes more. Last, every field holds what the strict path keeps as it is; whatever it would refuse or turn to null is a doubt.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import lru_cache
from types import NoneType
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from comporta.decoding import classic_json, strict
from comporta.decoding.currencies import CURRENCIES
from comporta.decoding.instants import read_instant
from comporta.decoding.json_text import Number
from comporta.decoding.limits import LIMITS, Limits
from comporta.decoding.money import scaled_half_up
from comporta.decoding.reasons import Rejected
from comporta.decoding.strict import Decoded, identity
from comporta.words.tables import IDENTITY, TRANSACTIONS

# Records held as Python objects at a time.
_PIECE = 8_192


def decode(records: pa.Table, topic: str, limits: Limits = LIMITS) -> Decoded:
    """What `strict.decode` returns, sooner."""
    parts = [_piece(records.slice(start, _PIECE), topic, limits) for start in range(0, max(records.num_rows, 1), _PIECE)]
    counters: Counter[str] = Counter()
    for part in parts:
        counters.update(part.counters)
    return Decoded(
        transactions=pa.concat_tables([part.transactions for part in parts]),
        dead_letters=pa.concat_tables([part.dead_letters for part in parts]),
        tombstones=pa.concat_arrays([part.tombstones for part in parts]),
        counters=dict(counters),
    )


def _piece(records: pa.Table, topic: str, limits: Limits) -> Decoded:
    proven, fits = _proven(records, limits)
    rest = strict.decode(records.filter(pa.array(~fits)), topic, limits)
    transactions = proven
    if rest.transactions.num_rows:
        both = pa.concat_tables([proven, rest.transactions])
        transactions = both.take(pc.sort_indices(both, [("offset", "ascending")]))
    counters = Counter(rest.counters)
    counters.update(
        records=proven.num_rows,
        transactions=proven.num_rows,
        null_keys=records["key"].null_count - rest.counters["null_keys"],
        ahead_of_log=pc.sum(proven["ahead_of_log"]).as_py() or 0,
    )
    return Decoded(transactions, rest.dead_letters, rest.tombstones, dict(counters))


# An escape is plain when it is \uXXXX for a character that is neither U+0000 nor half of a pair; no escaped quote may hide among the counted ones.
_OTHER_ESCAPE = re.compile(rb"\\(?!u(?!0000|[dD]))")
_NAMES = (
    *classic_json.FATAL,
    *(field for field, _, _ in classic_json.OPTIONAL),
    *classic_json.SUCCESSORS.values(),
    *sorted(classic_json.NOT_KEPT),
)
_Message = msgspec.defstruct("_Message", [(name, Any, msgspec.UNSET) for name in _NAMES], gc=False)
_PARSER = msgspec.json.Decoder(_Message, float_hook=Number)
_UNSET = type(msgspec.UNSET)
_EXACT = 2**53
# Pairs of quotes that a member brings, by the type of its value.
_QUOTES = {str: 2, Number: 1, int: 1, bool: 1, NoneType: 1, _UNSET: 0}


def _proven(records: pa.Table, limits: Limits) -> tuple[pa.Table, NDArray[np.bool_]]:
    """The records that are proved, as transactions, and for each record whether it is one of them."""
    values: list[bytes | None] = records["value"].to_pylist()
    parsed = [_parsed(value, limits) for value in values]
    candidates = np.fromiter((message is not None for message in parsed), bool, len(parsed))
    bodies = [value for value, message in zip(values, parsed, strict=True) if value is not None and message is not None]
    messages = [message for message in parsed if message is not None]
    some = records.filter(pa.array(candidates))
    fits = np.zeros(records.num_rows, dtype=bool)
    if not messages:
        return TRANSACTIONS.empty_table(), fits
    table, fitting = _Columns(messages, bodies, limits).transactions(some, bodies)
    fits[np.flatnonzero(candidates)[fitting]] = True
    return table.filter(pa.array(fitting)), fits


def _parsed(value: bytes | None, limits: Limits) -> Any:
    if value is None or value[:1] != b"{" or b"[" in value or len(value) > limits.value_bytes or value.find(b"{", 1) > 0:
        return None
    if b"\\" in value and _OTHER_ESCAPE.search(value):
        return None
    try:
        return _PARSER.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


class _Columns:
    """The fields of the parsed messages, column by column; `fits` loses the rows that hold something to doubt."""

    def __init__(self, messages: Sequence[Any], bodies: Sequence[bytes], limits: Limits) -> None:
        self.limits = limits
        self.columns: dict[str, tuple[Any, ...]] = dict(zip(_NAMES, zip(*map(msgspec.structs.astuple, messages), strict=True), strict=True))
        self.kinds = {name: set(map(type, column)) for name, column in self.columns.items()}
        self.size = len(messages)
        quotes = np.fromiter((body.count(b'"') for body in bodies), np.int64, self.size)
        self.fits = quotes == 2 * self._pairs()

    def _pairs(self) -> NDArray[np.int64]:
        pairs = np.zeros(self.size, dtype=np.int64)
        for name, column in self.columns.items():
            kinds = self.kinds[name]
            if len(kinds) == 1:
                pairs += _QUOTES[next(iter(kinds))]
            else:
                pairs += np.fromiter(map(_QUOTES.__getitem__, map(type, column)), np.int64, self.size)
        return pairs

    def transactions(self, records: pa.Table, bodies: Sequence[bytes]) -> tuple[pa.Table, NDArray[np.bool_]]:
        """The columns as a table, in which the rows that do not fit are without meaning."""
        ids = self.identifier("transaction_id")
        instants, minutes = self.instants()
        made = {
            "partition": records["partition"],
            "offset": records["offset"],
            "append_time": records["timestamp"],
            "identity": pa.array(map(identity, ids.to_pylist(), bodies), IDENTITY),
            "transaction_id": ids,
            "customer_id": self.identifier("customer_id"),
            "event_time": instants,
            "utc_offset_minutes": minutes,
            "type": self.required(self.word("type", frozenset(classic_json.TYPES))),
            "direction": pa.repeat(pa.scalar("OUT"), self.size),
            "amount_cents": self.required(self.cents("amount", self.limits.amount_cents)),
            "invalid_fields": pa.repeat(pa.scalar([], pa.list_(pa.string())), self.size),
            "ahead_of_log": pc.greater(instants, pc.add(records["timestamp"], timedelta(minutes=self.limits.ahead_minutes))),
        }
        for field in classic_json.NOT_KEPT:
            # Read past; but a number could be too long for any record.
            self.only(field, str)
        for field, column, check in classic_json.OPTIONAL:
            made[column] = _READ[check](self, field)
        return pa.Table.from_arrays([made[name] for name in TRANSACTIONS.names], schema=TRANSACTIONS), self.fits

    def only(self, name: str, *allowed: type) -> Sequence[Any]:
        """The column with null for what is missing; a value of another type is a doubt."""
        column, kinds = self.columns[name], self.kinds[name]
        if int in allowed and int in kinds:
            column = self.exact(column)
        if kinds <= {*allowed, NoneType}:
            return column
        if not kinds <= {*allowed, NoneType, _UNSET}:
            expected = {*allowed, NoneType, _UNSET}
            self.doubt(np.fromiter((type(value) not in expected for value in column), bool, self.size))
        return [value if type(value) in allowed else None for value in column]

    def exact(self, column: tuple[Any, ...]) -> tuple[Any, ...]:
        """Doubts integers beyond those that a double holds, so that no arithmetic on the others overflows, and puts null in their place."""
        integers = [value for value in column if type(value) is int]
        if min(integers) >= -_EXACT and max(integers) <= _EXACT:
            return column
        beyond = [type(value) is int and abs(value) > _EXACT for value in column]
        self.doubt(np.array(beyond))
        return tuple(None if huge else value for value, huge in zip(column, beyond, strict=True))

    def doubt(self, rows: Any) -> None:
        """Takes out rows, given as booleans; a null is no doubt."""
        if isinstance(rows, pa.Array | pa.ChunkedArray):
            rows = rows.fill_null(fill_value=False).to_numpy(zero_copy_only=False)
        self.fits &= ~rows

    def required(self, column: pa.Array) -> pa.Array:
        """Doubts null, and fills it in so that the table can be built."""
        if column.null_count:
            self.doubt(column.is_null())
            column = column.fill_null("" if pa.types.is_string(column.type) else 0)
        return column

    def text(self, name: str) -> pa.Array:
        column = pa.array(self.only(name, str), pa.string())
        # Bytes are at least as many as characters: the cheap question first.
        if (pc.max(pc.binary_length(column)).as_py() or 0) > self.limits.text_characters:
            self.doubt(pc.greater(pc.utf8_length(column), self.limits.text_characters))
        return column

    def identifier(self, name: str) -> pa.Array:
        """Ids of visible ASCII; any other character, and what is blank, is for the strict path to judge."""
        column = self.required(self.text(name))
        self.doubt(pc.invert(pc.and_(pc.string_is_ascii(column), pc.ascii_is_printable(column))))
        self.doubt(pc.or_(pc.ascii_is_space(column), pc.equal(column, "")))
        self.doubt(pc.greater(pc.binary_length(column), self.limits.id_characters))
        return column

    def word(self, name: str, words: frozenset[str]) -> pa.Array:
        column = pa.array(self.only(name, str), pa.string())
        self.doubt(pc.and_(column.is_valid(), pc.invert(pc.is_in(column, value_set=pa.array(sorted(words), pa.string())))))
        return column

    def ip(self, name: str) -> pa.Array:
        column = pa.array(self.only(name, str), pa.string())
        self.doubt(pc.invert(pc.match_substring_regex(column, f"^{classic_json.IPV4}$")))
        return column

    def flag(self, name: str) -> pa.Array:
        return pa.array(self.only(name, bool), pa.bool_())

    def integer(self, name: str, most: int) -> pa.Array:
        column = pa.array(self.only(name, int), pa.int64())
        beyond = pc.or_(pc.less(column, 0), pc.greater(column, most))
        self.doubt(beyond)
        return pc.if_else(beyond, None, column)

    def count(self, name: str) -> pa.Array:
        column = self.integer(name, self.limits.count)
        successor = classic_json.SUCCESSORS.get(name)
        if successor is None or self.kinds[successor] == {_UNSET}:
            return column
        return pc.coalesce(column, self.integer(successor, self.limits.count))

    def number(self, name: str, least: float, most: float) -> pa.Array:
        values = self.only(name, Number, int)
        self.doubt_long(values)
        column = pa.array([None if value is None else float(value) + 0.0 for value in values], pa.float64())
        # A number that is none is neither above nor below: asked for what must hold, not for what must not.
        self.doubt(pc.invert(pc.and_(pc.greater_equal(column, least), pc.less_equal(column, most))))
        return column

    def cents(self, name: str, most: int) -> pa.Array:
        values = self.only(name, Number, int)
        self.doubt_long(values)
        column = pa.array([None if value is None else _cents(value) for value in values], pa.int64())
        self.doubt(pc.or_(pc.less(column, 0), pc.greater(column, most)))
        return column

    def doubt_long(self, values: Sequence[Any]) -> None:
        longest = self.limits.number_characters
        if len(max((value for value in values if type(value) is Number), key=len, default="")) > longest:
            self.doubt(np.fromiter((type(value) is Number and len(value) > longest for value in values), bool, self.size))

    def instants(self) -> tuple[pa.Array, pa.Array]:
        hours = _local_hours(self.limits)
        read = [_instant(text, hours) for text in self.only("timestamp", str)]
        self.doubt(np.fromiter((one is _NO_INSTANT for one in read), bool, self.size))
        instants, minutes = zip(*read, strict=True)
        return pa.array(instants, pa.timestamp("us", "UTC")), pa.array(minutes, pa.int32())


_READ: dict[Callable[..., Any], Callable[[_Columns, str], pa.Array]] = {
    classic_json.text: _Columns.text,
    classic_json.flag: _Columns.flag,
    classic_json.currency: lambda columns, name: columns.word(name, CURRENCIES),
    classic_json.risk: lambda columns, name: columns.word(name, classic_json.RISKS),
    classic_json.ip: _Columns.ip,
    classic_json.latitude: lambda columns, name: columns.number(name, -90.0, 90.0),
    classic_json.longitude: lambda columns, name: columns.number(name, -180.0, 180.0),
    # Whole numbers beyond this could be written longer than any number may be.
    classic_json.distance: lambda columns, name: columns.number(name, 0.0, 1e15),
    classic_json.score: lambda columns, name: columns.number(name, -float(columns.limits.score), float(columns.limits.score)),
    classic_json.installments: lambda columns, name: columns.integer(name, columns.limits.installments),
    classic_json.integer: _Columns.count,
    classic_json.accumulated: lambda columns, name: columns.cents(name, columns.limits.accumulated_cents),
}

_DOUBTFUL = -1


def _cents(number: Number | int) -> int:
    """Cents of an amount as it is usually written; whatever has a sign or an exponent is a doubt."""
    if isinstance(number, int):
        return 100 * number
    if number[0] == "-":
        return _DOUBTFUL
    whole, _, fraction = number.partition(".")
    if len(fraction) == len("00"):
        return int(whole + fraction)
    return _DOUBTFUL if "e" in number or "E" in number else scaled_half_up(number, 2)


_NO_INSTANT = (0, 0)
_MINUTES_AND_SECONDS = {f":{minute:02}:{second:02}": (minute * 60 + second) * 1_000_000 for minute in range(60) for second in range(60)}
_HOUR, _SECOND, _MICROSECOND = len("2025-01-31T23"), len("2025-01-31T23:59:59"), len("2025-01-31T23:59:59.123456")


class _LocalHours(dict[str, tuple[int, int]]):
    """By hour of São Paulo's clock (`2025-01-31T23`) the instant at which it begins and its offset, if it is a whole hour like most."""

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.limits = limits

    def __missing__(self, hour: str) -> tuple[int, int]:
        try:
            first, minutes = read_instant(f"{hour}:00:00", "timestamp", self.limits)
            last, _ = read_instant(f"{hour}:59:59.999999", "timestamp", self.limits)
        except Rejected:
            return _NO_INSTANT
        if last - first != 3_600 * 1_000_000 - 1:
            return _NO_INSTANT
        if len(self) >= _MOST_HOURS:
            self.clear()
        self[hour] = first, minutes
        return first, minutes


_MOST_HOURS = 50_000


@lru_cache(maxsize=4)
def _local_hours(limits: Limits) -> _LocalHours:
    return _LocalHours(limits)


def _instant(text: str | None, hours: _LocalHours) -> tuple[int, int]:
    """Instant and offset of a local time with seconds, and with microseconds or without; any other form is a doubt."""
    if text is None or len(text) not in {_SECOND, _MICROSECOND}:
        return _NO_INSTANT
    start, minutes = hours[text[:_HOUR]]
    within = _MINUTES_AND_SECONDS.get(text[_HOUR:_SECOND])
    if start == 0 or within is None:
        return _NO_INSTANT
    fraction = text[_SECOND + 1 :]
    if fraction:
        if text[_SECOND] != "." or not (fraction.isascii() and fraction.isdigit()):
            return _NO_INSTANT
        within += int(fraction)
    return start + within, minutes
