"""A partition's records into transactions, dead letters and tombstones: each in exactly one, and nothing of a value told."""

import json
import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comporta.decoding.limits import LIMITS, Limits
from comporta.decoding.reasons import Reason
from comporta.decoding.strict import Decoded, decode, identity
from comporta.words.tables import DEAD_LETTERS, RECORDS, TRANSACTIONS

APPENDED = datetime(2025, 1, 15, 13, 31, tzinfo=UTC)
GOOD: dict[str, Any] = {"transaction_id": "T1", "customer_id": "C1", "timestamp": "2025-01-15T10:30:00", "type": "PIX", "amount": 10.5}


def record(**changes: Any) -> bytes:
    return json.dumps({**GOOD, **changes}).encode()


def records(*values: bytes | None, first: int = 0, at: datetime = APPENDED, key: bytes | None = b"C1") -> pa.Table:
    count = len(values)
    columns = [[3] * count, range(first, first + count), [at] * count, [key] * count, list(values)]
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, RECORDS, strict=True)], schema=RECORDS)


def decoded(*values: bytes | None, **settings: Any) -> Decoded:
    return decode(records(*values, **settings), "transactions")


def places(outcome: Decoded) -> list[int]:
    found: list[int] = (
        outcome.transactions["offset"].to_pylist() + outcome.dead_letters["offset"].to_pylist() + outcome.tombstones.to_pylist()
    )
    return sorted(found)


def test_every_record_ends_in_exactly_one_class() -> None:
    outcome = decoded(record(), None, b"", b"\x00\x00\x00\x00\x01abc", b"{", record(amount=-1), record(transaction_id="T2"))
    assert outcome.transactions["offset"].to_pylist() == [0, 6]
    assert outcome.tombstones.to_pylist() == [1]
    assert outcome.dead_letters["offset"].to_pylist() == [2, 3, 4, 5]
    assert outcome.dead_letters["reason"].to_pylist() == ["EMPTY", "AVRO_MAGIC", "JSON_SYNTAX", "AMOUNT_NEGATIVE"]
    assert outcome.transactions.schema == TRANSACTIONS
    assert outcome.dead_letters.schema == DEAD_LETTERS


def test_no_records_are_no_rows() -> None:
    outcome = decoded()
    assert (outcome.transactions.schema, outcome.dead_letters.schema) == (TRANSACTIONS, DEAD_LETTERS)
    assert places(outcome) == []


LOOKS = [
    (b"\x00", "schema registry"),
    (b"[{}]", "array"),
    (b'"{}"', "twice"),
    (b"\xef\xbb\xbf{}", "byte order mark"),
    ('{"a":1}'.encode("utf-16"), "UTF-16"),
    (b"Obj\x01\x04", "container"),
    (b"\x1f\x8b\x08", "gzip"),
    (b" {}", "white space"),
    (b"<xml/>", "XML"),
    (b"hello", "neither"),
    (b"\xff", "neither"),
]


@pytest.mark.parametrize(("value", "hint"), LOOKS)
def test_a_value_that_is_no_json_object_is_told_what_it_looks_like(value: bytes, hint: str) -> None:
    [letter] = decoded(value).dead_letters.to_pylist()
    assert letter["reason"] == "AVRO_MAGIC"
    assert hint in letter["detail"]


def test_a_dead_letter_carries_its_coordinates_and_nothing_of_its_value() -> None:
    [letter] = decoded(record(amount="4111111111111111"), first=41, key=b"C9").dead_letters.to_pylist()
    assert letter["detail"] == "a string where a JSON number is expected"
    del letter["detail"]
    assert letter == {
        "topic": "transactions",
        "partition": 3,
        "offset": 41,
        "key": b"C9",
        "size": len(record(amount="4111111111111111")),
        "schema_id": None,
        "reason": "AMOUNT_NOT_A_NUMBER",
        "field": "amount",
        "first_seen_at": APPENDED,
    }


CANARY = "canary7f3a"
POISONED = [
    record(transaction_id=CANARY * 20),
    record(transaction_id=f"{CANARY}\n"),
    record(customer_id=[CANARY]),
    record(timestamp=CANARY),
    record(type=CANARY),
    record(amount=CANARY),
    record(amount={CANARY: CANARY}),
    b'{"%s": %s}' % (CANARY.encode(), CANARY.encode()),
    b'{"%s": 1, "%s": 2}' % (CANARY.encode(), CANARY.encode()),
    b"{} " + CANARY.encode(),
    b'{"a": "' + CANARY.encode() + b'\xff"}',
    b'{"a": "\\ud800' + CANARY.encode() + b'"}',
    json.dumps({CANARY: CANARY}).encode(),
    CANARY.encode(),
]


@pytest.mark.parametrize("value", POISONED)
def test_no_reason_field_or_detail_repeats_the_record(value: bytes) -> None:
    [letter] = decoded(value).dead_letters.to_pylist()
    assert CANARY not in f"{letter['reason']} {letter['field']} {letter['detail']}"


def test_counters_say_what_no_row_says() -> None:
    values = (record(extra=1, other=2), record(ip_address="?", currency="?"), record(ip_address="?"), b"", b"", b"x", None)
    counters = decoded(*values, key=None).counters
    assert counters["records"] == 7
    assert counters["transactions"] == 3
    assert counters["dead_letters"] == 3
    assert counters["tombstones"] == 1
    assert counters["null_keys"] == 7
    assert counters["unknown_fields"] == 2
    assert counters["invalid_fields.ip"] == 2
    assert counters["invalid_fields.currency"] == 1
    assert counters["dead_letters.EMPTY"] == 2
    assert counters["dead_letters.AVRO_MAGIC"] == 1


def test_an_event_more_than_fifteen_minutes_ahead_of_the_log_is_flagged() -> None:
    event = APPENDED.replace(hour=10, minute=30)
    outcome = decoded(
        record(timestamp=(event + timedelta(minutes=16)).isoformat()[:19]),
        record(timestamp=f"{(event + timedelta(minutes=16)).isoformat()[:19]}.000001"),
        record(timestamp="2025-01-15T13:46:00Z"),
        record(timestamp="1999-01-01T00:00:00"),
    )
    assert outcome.transactions["ahead_of_log"].to_pylist() == [False, True, False, False]
    assert outcome.counters["ahead_of_log"] == 1


def test_strange_append_times_do_no_harm() -> None:
    for moment in (datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)):
        outcome = decoded(record(), b"", at=moment)
        assert places(outcome) == [0, 1]
        assert outcome.transactions["append_time"].to_pylist() == [moment]


def test_the_identity_is_of_the_id_and_the_whole_content() -> None:
    one, same, other_content, other_id = (
        decoded(record(), record(), record(amount=10.51), record(transaction_id="T2")).transactions["identity"].to_pylist()
    )
    assert one == same == identity("T1", record())
    assert len({one, other_content, other_id}) == 3
    assert identity("ab", b"c") != identity("a", b"bc")


def test_other_limits_are_another_reading() -> None:
    narrow = Limits(value_bytes=40, id_characters=1)
    assert decode(records(record()), "t", narrow).dead_letters["reason"].to_pylist() == ["TOO_LARGE"]
    assert LIMITS.document()["value_bytes"] == 262_144
    assert set(LIMITS.document()) > {"nesting", "id_characters", "amount_cents", "ahead_minutes"}


def garbage(seed: int) -> bytes:
    """Random bytes, half of them behind a brace so that they reach the reading of JSON."""
    chance = random.Random(seed)  # noqa: S311 - chosen for being repeatable
    noise = chance.randbytes(chance.randint(0, 60))
    return noise if seed % 2 else b"{" + noise


def test_ten_thousand_random_byte_strings_are_dead_letters_and_nothing_else() -> None:
    outcome = decoded(*(garbage(seed) for seed in range(10_000)))
    assert outcome.dead_letters["offset"].to_pylist() == list(range(10_000))
    assert set(outcome.dead_letters["reason"].to_pylist()) <= set(Reason)


def damaged(seed: int) -> bytes:
    """A good record with a few bytes changed, cut or repeated."""
    chance = random.Random(seed)  # noqa: S311 - chosen for being repeatable
    value = bytearray(record(merchant_name="São José", ip_address="10.0.0.1", fraud_score=12.5, unusual_time=True))
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(value))
        change = chance.randrange(3)
        if change == 0:
            value[at] = chance.randrange(256)
        elif change == 1:
            del value[at : at + chance.randint(1, 9)]
        else:
            value[at:at] = value[at : at + chance.randint(1, 9)]
        value = value or bytearray(b"{")
    return bytes(value)


def test_damaged_records_end_in_one_class_whatever_was_damaged() -> None:
    outcome = decoded(*(damaged(seed) for seed in range(5_000)))
    assert places(outcome) == list(range(5_000))
    assert outcome.transactions.num_rows > 100
    assert len(set(outcome.dead_letters["reason"].to_pylist())) > 8


VALUES = st.sampled_from(
    [record(), record(amount=1e309), record(ip_address="?"), b"", b"[", b"{", None, record(timestamp="2030-01-01T00:00:00")]
)


@settings(deadline=None)
@given(st.lists(VALUES, max_size=12), st.lists(st.integers(0, 12), max_size=4))
def test_a_record_is_decoded_alike_in_any_batch(values: list[bytes | None], cuts: list[int]) -> None:
    whole = decoded(*values)
    edges = sorted({0, len(values), *(cut for cut in cuts if cut < len(values))})
    parts = [decoded(*values[start:end], first=start) for start, end in pairwise(edges)]
    if parts:
        assert pa.concat_tables([part.transactions for part in parts]).equals(whole.transactions)
        assert pa.concat_tables([part.dead_letters for part in parts]).equals(whole.dead_letters)
        assert [offset for part in parts for offset in part.tombstones.to_pylist()] == whole.tombstones.to_pylist()
