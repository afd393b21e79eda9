"""The quick path says what the strict path says, of anything; and what is usual takes it."""

import json
import random
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comporta.decoding import quick, strict
from comporta.decoding.classic_json import KNOWN
from comporta.decoding.limits import LIMITS, Limits
from comporta.words.tables import RECORDS

FIELDS: dict[str, Any] = {
    "transaction_id": "TXN_000000000000001",
    "customer_id": "CUST_00000001",
    "session_id": "SESS_000000000001",
    "device_id": "DEV_00000001",
    "timestamp": "2025-01-15T10:30:00.123456",
    "type": "PIX",
    "amount": 1689.28,
    "currency": "BRL",
    "channel": "MOBILE_APP",
    "ip_address": "177.45.123.89",
    "geolocation_lat": -23.55052,
    "geolocation_lon": -46.633308,
    "merchant_id": "MERCH_001234",
    "merchant_name": "Padaria São José",
    "merchant_category": "Restaurantes",
    "mcc_code": "5812_delivery",
    "mcc_risk_level": "medium",
    "card_number_hash": "9f86d081884c7d65",
    "card_brand": "VISA",
    "card_type": "CREDIT",
    "installments": 3,
    "card_entry": "CHIP",
    "cvv_validated": True,
    "auth_3ds": False,
    "pix_key_type": None,
    "pix_key_destination": None,
    "destination_bank": None,
    "distance_from_last_txn_km": 12.5,
    "time_since_last_txn_min": 45,
    "transactions_last_24h": 3,
    "accumulated_amount_24h": 580.505,
    "unusual_time": False,
    "new_beneficiary": True,
    "status": "APPROVED",
    "refusal_reason": None,
    "fraud_score": 12.5,
    "is_fraud": False,
    "fraud_type": None,
}
# JSON text that some field somewhere must not take for granted.
NASTY = (
    """
null|true|false|0|-0|1|-1|1.0|1.5|-0.0|-0.001|1e2|1E400|1e-400|NaN|Infinity|-Infinity|01|1.|+1|{}|[]|[1]|{"a":1}|{"amount":1}|""|" "|"x"|"BRL"|"brl"
9007199254740993|18446744073709551616|100000000000000000000000|1e15|1e16|0.005|0.0049999999999999999|1.00499999999999989|1.005|5000.004|9999999999.99|9999999999.995|10000000000
0.1000000000000000055511151231257827021181583404541015625|2147483647|2147483648|99|100|90|90.0000001|-90|180|180.5|1000000|1000000.5|-1000000
"2025-01-15T10:30:00"|"2025-01-15T10:30:00Z"|"2025-01-15T10:30:00.5"|"2025-01-15 10:30:00"|"2025-02-30T10:30:00"|"2025-01-15T24:00:00"|"2025-01-15T10:60:00"|"2025-01-15T10:30:60"
"2025-01-15T10:30:00.12345a"|"2025-01-15T10:30:00,123456"|"2018-11-04T00:30:00"|"2019-02-16T23:30:00.000001"|"1969-12-31T20:59:59"|"1969-12-31T21:00:00"|"2099-12-31T20:59:59"
"2099-12-31T21:00:00"|"9999-12-31T23:59:59"|"0001-01-01T00:00:00"|"2025-01-15T10:30:00+00:0"|"\uff12\uff1025-01-15T10:30:00"|"2025-01-15T10:30:00.\uff1123456"
"1.2.3.4"|"1.2.3.4\\u000a"|"256.1.1.1"|"01.2.3.4"|"::1"|"fe80::1%eth0"|"low"|"LOW"|"PIX"|"pix"|"a\\nb"|"a\\u0000b"|"a\\u0022b"|"a\\"b"|"a\\\\b"|"\\u00e3"|"\\ud83d\\ude00"|"\\ud83d"
"ã"|"\u200b"|"\x7f"|"a\tb"|"TXN\\u0001"
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
NASTY += [
    "1" * 101,
    "0." + "1" * 99,
    '"' + "x" * 128 + '"',
    '"' + "x" * 129 + '"',
    '"' + "x" * 1000 + '"',
    '"' + "x" * 1001 + '"',
    '"' + "ã" * 1000 + '"',
]
NASTY += ["1" + "0" * 320, "0" * 50]


def written(changes: dict[str, str], extra: str = "") -> bytes:
    """The record with some values replaced by JSON text as given."""
    members = [f'"{name}": {changes.get(name, json.dumps(value, ensure_ascii=False))}' for name, value in FIELDS.items()]
    return ("{" + ", ".join(members) + extra + "}").encode()


def records(values: list[bytes | None]) -> pa.Table:
    count = len(values)
    moment = datetime(2025, 1, 15, 13, 31, tzinfo=UTC)
    keys = [None if row % 3 else b"k" for row in range(count)]
    columns = [[0] * count, range(100, 100 + count), [moment] * count, keys, values]
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, RECORDS, strict=True)], schema=RECORDS)


def check(values: list[bytes | None], limits: Limits = LIMITS) -> None:
    table = records(values)
    slow, fast = strict.decode(table, "t", limits), quick.decode(table, "t", limits)
    # As text, for the two zeros of a double are equal and yet not the same.
    assert str(fast.transactions.to_pylist()) == str(slow.transactions.to_pylist())
    assert fast.transactions.schema == slow.transactions.schema
    assert fast.dead_letters.equals(slow.dead_letters)
    assert fast.tombstones.equals(slow.tombstones)
    assert fast.counters == slow.counters


def test_what_is_usual_takes_the_quick_path() -> None:
    usual = [
        written({}),
        written({"merchant_name": '"Padaria S\\u00e3o Jos\\u00e9"'}),
        written({"timestamp": '"2025-01-15T10:30:00"', "amount": "17", "installments": "null"}),
        json.dumps({name: value for name, value in FIELDS.items() if value is not None}).encode(),
        written({"transactions_last_24h": "null"}, extra=', "velocity_transactions_24h": 12'),
        json.dumps(FIELDS, separators=(",", ":"), ensure_ascii=False).encode(),
        json.dumps(FIELDS, indent=2, ensure_ascii=False).encode(),
    ]
    _, fits = quick._proven(records(list(usual)), LIMITS)  # noqa: SLF001 - how it was read is not told otherwise
    assert fits.all()
    check(list(usual))


@pytest.mark.parametrize("field", sorted(KNOWN))
def test_whatever_one_field_holds_both_paths_agree(field: str) -> None:
    if field in FIELDS:
        check([written({field: text}) for text in NASTY])
    else:
        check([written({}, extra=f', "{field}": {text}') for text in NASTY])
        check([written({"transactions_last_24h": "null"}, extra=f', "{field}": {text}') for text in NASTY])


EXTRAS = [
    ', "amount": 1689.28',
    ', "unknown": 1',
    ', "unknown": "amount"',
    ', "\\u0061mount": 1',
    ', "amount" : 2, "unknown":":"',
    ",",
    ', ""',
    ', "": 1',
    "} {",
    "}",
    " ",
    "\x00",
    ', "x": [1]',
    ', "x": {"amount": 1}',
    ', "fraud_type": "a", "fraud_type": "b"',
]  # fmt: skip


@pytest.mark.parametrize("extra", EXTRAS)
def test_whatever_stands_beside_the_fields_both_paths_agree(extra: str) -> None:
    check([written({}, extra), written({"fraud_type": '"x"'}, extra)])


def test_both_paths_agree_on_what_is_no_json_and_on_nothing_at_all() -> None:
    check(
        [
            None,
            b"",
            b"\x00\x00\x00\x00\x01",
            b"{",
            b"{}",
            b"[]",
            b"{\x00",
            b"\xef\xbb\xbf{}",
            written({})[:-1],
            written({}) + b"\n",
            b'{"a":"\xff"}',
        ]
    )
    check([])
    check([None])


def damaged(seed: int) -> bytes:
    chance = random.Random(seed)  # noqa: S311 - chosen for being repeatable
    value = bytearray(written({}))
    for _ in range(chance.randint(1, 2)):
        at = chance.randrange(len(value))
        change = chance.randrange(4)
        if change == 0:
            value[at] = chance.randrange(256)
        elif change == 1:
            del value[at : at + chance.randint(1, 9)]
        elif change == 2:
            value[at:at] = value[at : at + chance.randint(1, 9)]
        else:
            value[at] = chance.choice(b'"\\{}[],:0-eE. ')
    return bytes(value)


def test_both_paths_agree_on_thousands_of_damaged_records() -> None:
    check([damaged(seed) for seed in range(3_000)])


def test_pieces_are_put_together_in_the_order_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "_PIECE", 4)
    check(
        [written({}), b"", written({"ip_address": '"?"'}), None, *([written({})] * 3), written({"ip_address": '"::1"'}), written({}), b"x"]
    )


def test_both_paths_keep_to_other_limits() -> None:
    values: list[bytes | None] = [written({}), written({"installments": "5"}), written({"amount": "50"})]
    check(values, Limits(installments=4, amount_cents=10_000))
    check(values, Limits(value_bytes=500))
    check(values, Limits(id_characters=5))
    check(values, Limits(text_characters=10, latest="2025-01-15T13:00:00+00:00", ahead_minutes=0))


MEMBERS = st.sampled_from(NASTY) | st.text(max_size=6).map(json.dumps) | st.floats().map(json.dumps) | st.integers().map(str)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(FIELDS)), MEMBERS, max_size=4), st.sampled_from(["", *EXTRAS]))
def test_whatever_some_fields_hold_both_paths_agree(changes: dict[str, str], extra: str) -> None:
    try:
        check([written(changes, extra)])
    except UnicodeEncodeError:
        return
