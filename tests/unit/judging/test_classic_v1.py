"""The pack `classic-v1` against the original's rules written down once more, slowly: the same on every row, but for the two differences its notes name."""

import json
import math
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comporta.decoding.classic_json import TYPES
from comporta.decoding.strict import decode
from comporta.judging.judge import References, judge
from comporta.judging.packs import Pack, builtin
from comporta.words.tables import DECISIONS, MEMORY, RECORDS, TRANSACTIONS


@cache
def pack() -> Pack:
    return builtin("classic-v1")


class Verdict(NamedTuple):
    score: float
    level: str
    action: str
    alert: bool
    fired: list[tuple[str, int]]


def above(value: float | None, limit: float) -> bool:
    """As SQL compares: null is not above anything, and what is not a number is above all."""
    return value is not None and (math.isnan(value) or value > limit)


def original(row: dict[str, Any], amount_above_5000: bool) -> Verdict:
    """The streaming job's rules, one transaction at a time."""
    rules = [
        ("is_pix_new_beneficiary", 25, row["type"] == "PIX" and row["new_beneficiary"] is True),
        ("is_high_value", 15, amount_above_5000),
        ("is_high_velocity", 20, above(row["transactions_last_24h"], 10)),
        ("is_location_jump", 25, above(row["distance_from_last_txn_km"], 100)),
        ("is_manual_card_entry", 10, row["card_entry"] == "MANUAL"),
        ("unusual_time", 10, row["unusual_time"] is True),
        ("mcc_risk_level_high", 20, row["mcc_risk_level"] == "high"),
        ("mcc_risk_level_medium", 10, row["mcc_risk_level"] == "medium"),
    ]
    fired = [(rule, points) for rule, points, holds in rules if holds]
    total = (row["fraud_score"] or 0.0) + 0.5 * sum(points for _, points in fired)
    if math.isfinite(total):
        total = float(Decimal(repr(total)).quantize(Decimal("0.01"), context=Context(prec=400, rounding=ROUND_HALF_UP))) + 0.0
    for start, level, action in ((80, "CRITICAL", "BLOCK"), (60, "HIGH", "REVIEW"), (40, "MEDIUM", "MONITOR"), (20, "LOW", "ACCEPT_LOG")):
        if math.isnan(total) or total >= start:
            return Verdict(total, level, action, level in {"CRITICAL", "HIGH"}, fired)
    return Verdict(total, "NORMAL", "ACCEPT", False, fired)


def check(decision: dict[str, Any], expected: Verdict) -> None:
    assert repr(decision["score"]) == repr(expected.score)
    assert (decision["level"], decision["action"], decision["alert"]) == (expected.level, expected.action, expected.alert)
    assert [(reason["rule"], reason["points"]) for reason in json.loads(decision["reasons"])] == expected.fired
    assert decision["location_jump"] == ("is_location_jump" in dict(expected.fired))
    assert (decision["pack"], decision["pack_version"], decision["model_version"]) == ("classic-v1", 1, None)


# What a rule looks at, with the values on both sides of every edge; the score at and beside the halves and the levels.
def beside(value: float) -> st.SearchStrategy[float]:
    return st.sampled_from([value, math.nextafter(value, math.inf), math.nextafter(value, -math.inf)])


EDGES = st.sampled_from([0.0, 7.5, 12.5, 20.0, 40.0, 60.0, 80.0, 79.995, 59.995, 39.995, 19.995, 67.495, 100.0, -12.5]).flatmap(beside)
HALVES = st.integers(-20_000, 120_000).map(lambda thousandths: (10 * thousandths + 5) / 10_000).flatmap(beside)
SCORES = EDGES | HALVES | st.floats(0, 100) | st.floats(0, 100).map(lambda score: round(score, 2))
DISTANCES = st.sampled_from([0.0, 99.99, 100.0, math.nextafter(100, 101), 101.0]) | st.floats(0, 500)
COUNTS = st.sampled_from([0, 9, 10, 11, 30])
AMOUNTS = st.sampled_from([0, 499_999, 500_000, 500_001, 10**9]) | st.integers(0, 999_999_999_999)


def rows(scores: st.SearchStrategy[float], distances: st.SearchStrategy[float]) -> st.SearchStrategy[dict[str, Any]]:
    """All columns of a transaction; what no rule looks at must not matter, so it varies too."""
    kinds: dict[Any, st.SearchStrategy[Any]] = {
        pa.string(): st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=5),
        pa.float64(): st.floats(),
        pa.bool_(): st.booleans(),
        pa.int32(): st.integers(0, 99),
        pa.int64(): st.integers(0, 2**31 - 1),
    }
    looked_at: dict[str, st.SearchStrategy[Any]] = {
        "type": st.sampled_from(TYPES),
        "amount_cents": AMOUNTS,
        "event_time": st.just(datetime(2025, 1, 15, tzinfo=UTC)),
        "append_time": st.just(datetime(2025, 1, 15, tzinfo=UTC)),
        "identity": st.just(bytes(16)),
        "invalid_fields": st.just(["ip"]),
        "classic_new_beneficiary": st.none() | st.booleans(),
        "classic_transactions_24h": st.none() | COUNTS,
        "classic_distance_km": st.none() | distances,
        "card_entry": st.none() | st.sampled_from(["CHIP", "CONTACTLESS", "MANUAL", "MAGNETIC", "manual", ""]),
        "classic_unusual_time": st.none() | st.booleans(),
        "classic_mcc_risk_level": st.none() | st.sampled_from(["low", "medium", "high"]),
        "classic_fraud_score": st.none() | scores,
    }
    return st.fixed_dictionaries(
        {
            field.name: looked_at.get(field.name, kinds.get(field.type, st.nothing()) | (st.none() if field.nullable else st.nothing()))
            for field in TRANSACTIONS
        }
    )


ROWS = rows(SCORES, DISTANCES)
WILD_ROWS = rows(st.floats(), st.floats())


def table(given_rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(given_rows, schema=TRANSACTIONS)


def decide(given_rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    judged = judge(table(given_rows), MEMORY.empty_table(), References(pack()))
    assert judged.decisions.schema == DECISIONS
    decisions: list[dict[str, Any]] = judged.decisions.to_pylist()
    return decisions


MESSAGE_NAMES = {
    "new_beneficiary": "classic_new_beneficiary",
    "transactions_last_24h": "classic_transactions_24h",
    "distance_from_last_txn_km": "classic_distance_km",
    "unusual_time": "classic_unusual_time",
    "mcc_risk_level": "classic_mcc_risk_level",
    "fraud_score": "classic_fraud_score",
    "type": "type",
    "card_entry": "card_entry",
}


@settings(max_examples=100, deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=3))
def test_every_row_is_judged_as_the_original_would(given_rows: list[dict[str, Any]]) -> None:
    for row, decision in zip(given_rows, decide(given_rows), strict=True):
        named = {name: row[column] for name, column in MESSAGE_NAMES.items()}
        check(decision, original(named, amount_above_5000=row["amount_cents"] > 500_000))


@settings(max_examples=50, deadline=None)
@given(st.lists(WILD_ROWS, min_size=1, max_size=3))
def test_doubles_that_no_message_can_hold_are_judged_as_sql_would(given_rows: list[dict[str, Any]]) -> None:
    for row, decision in zip(given_rows, decide(given_rows), strict=True):
        named = {name: row[column] for name, column in MESSAGE_NAMES.items()}
        check(decision, original(named, amount_above_5000=row["amount_cents"] > 500_000))


TEXT = st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
MESSAGES = st.fixed_dictionaries(
    {
        "transaction_id": st.just("TXN_1"),
        "customer_id": st.just("CUST_1"),
        "session_id": TEXT,
        "device_id": TEXT,
        "timestamp": st.just("2025-01-15T10:30:00"),
        "type": st.sampled_from(TYPES),
        "amount": st.sampled_from([0, 4999.99, 5000, 5000.0, 5000.004, 5000.005, 5000.01, 5001]) | st.floats(0, 9e9),
        "currency": st.sampled_from([None, "BRL", "USD", "???"]),
        "channel": TEXT,
        "ip_address": st.none() | st.ip_addresses().map(str),
        "geolocation_lat": st.none() | st.floats(-90, 90),
        "geolocation_lon": st.none() | st.floats(-180, 180),
        "merchant_id": TEXT,
        "merchant_name": TEXT,
        "merchant_category": TEXT,
        "mcc_code": TEXT,
        "mcc_risk_level": st.sampled_from([None, "low", "medium", "high"]),
        "card_number_hash": TEXT,
        "card_brand": TEXT,
        "card_type": TEXT,
        "installments": st.none() | st.integers(0, 99),
        "card_entry": st.sampled_from([None, "CHIP", "CONTACTLESS", "MANUAL", "MAGNETIC"]),
        "cvv_validated": st.none() | st.booleans(),
        "auth_3ds": st.none() | st.booleans(),
        "pix_key_type": TEXT,
        "pix_key_destination": TEXT,
        "destination_bank": TEXT,
        "distance_from_last_txn_km": st.none() | DISTANCES,
        "time_since_last_txn_min": st.none() | st.integers(0, 10_000),
        "transactions_last_24h": st.none() | COUNTS,
        "accumulated_amount_24h": st.none() | st.floats(0, 1e6),
        "unusual_time": st.none() | st.booleans(),
        "new_beneficiary": st.none() | st.booleans(),
        "status": TEXT,
        "refusal_reason": TEXT,
        "fraud_score": st.none() | SCORES,
        "is_fraud": st.none() | st.booleans(),
        "fraud_type": TEXT,
    }
)


@settings(max_examples=100, deadline=None)
@given(MESSAGES)
def test_every_message_of_38_fields_is_judged_as_the_original_would(message: dict[str, Any]) -> None:
    assert len(message) == 38
    moment = datetime(2025, 1, 15, 14, tzinfo=UTC)
    records = pa.Table.from_pylist(
        [{"partition": 0, "offset": 0, "timestamp": moment, "key": None, "value": json.dumps(message).encode()}], schema=RECORDS
    )
    transactions = decode(records, "transactions").transactions
    [decision] = judge(transactions, MEMORY.empty_table(), References(pack())).decisions.to_pylist()
    cents = Decimal(repr(message["amount"])).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
    check(decision, original(message, amount_above_5000=cents > 5000))
    assert decision["amount_cents"] == int(cents * 100)


@pytest.mark.parametrize(("fraud_score", "level"), [(None, "LOW"), (0.0, "LOW")])
def test_a_missing_score_counts_as_zero_where_the_original_fell_to_normal(fraud_score: float | None, level: str) -> None:
    [row] = decide([blank(type="PIX", classic_new_beneficiary=True, amount_cents=500_001, classic_fraud_score=fraud_score)])
    assert (row["score"], row["level"]) == (20.0, level)


@pytest.mark.parametrize(("fraud_score", "level"), [(math.nan, "CRITICAL"), (math.inf, "CRITICAL"), (-math.inf, "NORMAL")])
def test_a_score_that_is_no_number_counts_as_above_all(fraud_score: float, level: str) -> None:
    assert decide([blank(classic_fraud_score=fraud_score)])[0]["level"] == level


LEVELS = [
    (80.0, "CRITICAL"),
    (79.99, "HIGH"),
    (60.0, "HIGH"),
    (59.99, "MEDIUM"),
    (40.0, "MEDIUM"),
    (39.99, "LOW"),
    (20.0, "LOW"),
    (19.99, "NORMAL"),
]
LEVELS += [(79.995, "CRITICAL"), (79.99499999999999, "HIGH"), (19.995, "LOW"), (0.0, "NORMAL"), (-5.0, "NORMAL"), (1e6, "CRITICAL")]


@pytest.mark.parametrize(("fraud_score", "level"), LEVELS)
def test_the_level_is_read_from_the_rounded_total(fraud_score: float, level: str) -> None:
    assert decide([blank(classic_fraud_score=fraud_score)])[0]["level"] == level


def test_an_amount_is_compared_in_whole_cents() -> None:
    assert not decide([blank(amount_cents=500_000)])[0]["reasons"].count("is_high_value")
    assert decide([blank(amount_cents=500_001)])[0]["reasons"].count("is_high_value")


def test_the_notes_of_the_pack_name_both_differences() -> None:
    notes = " ".join(pack().notes)
    assert "fraud_score is null" in notes
    assert "5000.004" in notes


def blank(**values: Any) -> dict[str, Any]:
    filled = {
        "partition": 0,
        "offset": 0,
        "append_time": datetime(2025, 1, 15, tzinfo=UTC),
        "identity": bytes(16),
        "transaction_id": "T",
        "customer_id": "C",
        "event_time": datetime(2025, 1, 15, tzinfo=UTC),
        "utc_offset_minutes": 0,
        "type": "TED",
        "direction": "OUT",
        "amount_cents": 0,
        "invalid_fields": [],
        "ahead_of_log": False,
    }
    return {field.name: None for field in TRANSACTIONS} | filled | values
