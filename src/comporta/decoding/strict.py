"""Each record on its own, into exactly one class: transaction, dead letter or tombstone. What it says depends on nothing but the record and the limits."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2b
from typing import Any, NamedTuple

import pyarrow as pa

from comporta.decoding import classic_json
from comporta.decoding.framing import other_framing
from comporta.decoding.limits import LIMITS, Limits
from comporta.decoding.reasons import Rejected
from comporta.words.tables import DEAD_LETTERS, TRANSACTIONS


@dataclass(frozen=True)
class Decoded:
    """The records of one partition, apart. `counters` count what a person wants to know and no row says."""

    transactions: pa.Table
    dead_letters: pa.Table
    tombstones: pa.Array
    counters: dict[str, int]


class _Record(NamedTuple):
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


_MINUTE_US = timedelta(minutes=1) // timedelta(microseconds=1)


def decode(records: pa.Table, topic: str, limits: Limits = LIMITS) -> Decoded:
    """Every record of `records` (RECORDS, one partition, in offset order) as a transaction, a dead letter or a tombstone."""
    transactions: list[tuple[Any, ...]] = []
    dead_letters: list[tuple[Any, ...]] = []
    tombstones: list[int] = []
    counters: Counter[str] = Counter(records=records.num_rows, null_keys=records["key"].null_count, unknown_fields=0, ahead_of_log=0)
    ahead_us = limits.ahead_minutes * _MINUTE_US
    for record in _rows(records):
        value = record.value
        if value is None:
            tombstones.append(record.offset)
            continue
        try:
            if value[:1] != b"{":
                raise other_framing(value)
            message = classic_json.read_message(value, limits)
        except Rejected as rejected:
            counters[f"dead_letters.{rejected.reason}"] += 1
            dead_letters.append(_dead_letter(topic, record, value, rejected))
            continue
        ahead = message.columns[_EVENT_TIME] > record.timestamp + ahead_us
        counters["unknown_fields"] += message.unknown
        counters["ahead_of_log"] += ahead
        for column in message.invalid:
            counters[f"invalid_fields.{column}"] += 1
        mark = identity(message.columns[0], value)
        transactions.append((record.partition, record.offset, record.timestamp, mark, *message.columns, message.invalid, ahead))
    counters.update(transactions=len(transactions), dead_letters=len(dead_letters), tombstones=len(tombstones))
    return Decoded(
        transactions=_table(transactions, TRANSACTIONS),
        dead_letters=_table(dead_letters, DEAD_LETTERS),
        tombstones=pa.array(tombstones, pa.int64()),
        counters=dict(counters),
    )


_EVENT_TIME = classic_json.COLUMNS.index("event_time")


def identity(transaction_id: str, body: bytes) -> bytes:
    """Sixteen bytes for a transaction and the content that came with it: the value without its framing."""
    name = transaction_id.encode()
    return blake2b(len(name).to_bytes(4, "big") + name + body, digest_size=16).digest()


def _rows(records: pa.Table) -> Iterator[_Record]:
    columns = [records.column(name) for name in ("partition", "offset", "timestamp", "key", "value")]
    columns[2] = columns[2].cast(pa.int64())
    return map(_Record, *(column.to_pylist() for column in columns))


def _dead_letter(topic: str, record: _Record, value: bytes, rejected: Rejected) -> tuple[Any, ...]:
    reason, field, detail = rejected.reason.value, rejected.field, rejected.detail
    return (topic, record.partition, record.offset, record.key, len(value), None, reason, field, detail, record.timestamp)


def _table(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    if not rows:
        return schema.empty_table()
    columns = [pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), schema, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)
