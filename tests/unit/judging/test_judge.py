"""Decisions: the same alone and in a crowd, with reasons whose text never varies."""

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from comporta.judging.judge import References, judge
from comporta.judging.packs import builtin, load
from comporta.words.tables import DECISIONS, MEMORY, TRANSACTIONS

MOMENT = datetime(2025, 1, 15, 13, 30, tzinfo=UTC)


def row(**values: Any) -> dict[str, Any]:
    filled = {
        "partition": 0,
        "offset": 0,
        "append_time": MOMENT,
        "identity": bytes(16),
        "transaction_id": "T",
        "customer_id": "C",
        "event_time": MOMENT,
        "utc_offset_minutes": -180,
        "type": "TED",
        "direction": "OUT",
        "amount_cents": 0,
        "invalid_fields": [],
        "ahead_of_log": False,
    }
    return {field.name: None for field in TRANSACTIONS} | filled | values


def decide(rows: list[dict[str, Any]], pack: str = "classic-v1") -> pa.Table:
    transactions = pa.Table.from_pylist(rows, schema=TRANSACTIONS)
    return judge(transactions, MEMORY.empty_table(), References(builtin(pack))).decisions


def test_no_transactions_are_no_decisions_and_the_memory_stays() -> None:
    memory = pa.Table.from_pylist([{"customer_id": "C"}], schema=MEMORY)
    judged = judge(TRANSACTIONS.empty_table(), memory, References(builtin("classic-v1")))
    assert judged.decisions.schema == DECISIONS
    assert judged.decisions.num_rows == 0
    assert judged.memory.equals(memory)


def test_a_decision_carries_the_fields_that_views_and_pages_show() -> None:
    [decision] = decide(
        [
            row(
                offset=7,
                type="PIX",
                amount_cents=600_000,
                classic_mcc_risk_level="high",
                classic_new_beneficiary=True,
                classic_distance_km=150.25,
                classic_transactions_24h=11,
                classic_accumulated_24h_cents=99,
                classic_fraud_score=33.33,
                classic_is_fraud=True,
                classic_fraud_type="PHISHING",
                invalid_fields=["ip"],
            )
        ]
    ).to_pylist()
    expected = {
        "offset": 7,
        "mcc_risk_level": "high",
        "new_payee": True,
        "location_jump": True,
        "distance_km": 150.25,
        "transactions_24h": 11,
        "accumulated_24h_cents": 99,
        "message_score": 33.33,
        "message_is_fraud": True,
        "message_fraud_type": "PHISHING",
        "score": 85.83,
        "level": "CRITICAL",
        "action": "BLOCK",
        "alert": True,
        "pack": "classic-v1",
        "pack_version": 1,
        "model_version": None,
        "invalid_fields": ["ip"],
    }
    assert {name: decision[name] for name in expected} == expected


def test_the_text_of_the_reasons_never_varies() -> None:
    [text] = decide([row(type="PIX", classic_new_beneficiary=True, amount_cents=500_001, classic_distance_km=1e22)])["reasons"].to_pylist()
    assert text == (
        '[{"rule":"is_pix_new_beneficiary","points":25,"values":{"type":"PIX","classic_new_beneficiary":true}},'
        '{"rule":"is_high_value","points":15,"values":{"amount_cents":500001}},'
        '{"rule":"is_location_jump","points":25,"values":{"classic_distance_km":1e+22}}]'
    )
    assert decide([row()])["reasons"].to_pylist() == ["[]"]


def test_text_in_reasons_is_escaped_as_json() -> None:
    pack = load(
        """
        name = "names"
        version = 1
        levels = [{ level = "NORMAL", action = "ACCEPT", alert = false }]
        [[rules]]
        id = "named"
        when = "merchant_name <> '' OR latitude > 0 OR event_time IS NULL"
        points = 1
        reason.en = "{merchant_name}"
        reason.pt-BR = "{merchant_name}"
        fires = { merchant_name = "x" }
        spares = { merchant_name = "", event_time = 2025-01-01T00:00:00Z }
        """
    )
    name = 'a"b\\c\n\x1b[31m</script>ã\U0001f600'
    transactions = pa.Table.from_pylist([row(merchant_name=name, latitude=float("inf"))], schema=TRANSACTIONS)
    [text] = judge(transactions, MEMORY.empty_table(), References(pack)).decisions["reasons"].to_pylist()
    [reason] = json.loads(text)
    assert reason["values"] == {"merchant_name": name, "latitude": None, "event_time": "2025-01-15 13:30:00+00:00"}
    assert "\x1b" not in text
    assert "ã" in text


def test_a_pack_without_a_rule_on_places_does_not_know_whether_there_was_a_jump() -> None:
    pack = load('name = "none"\nversion = 1\nrules = []\nlevels = [{ level = "NORMAL", action = "ACCEPT", alert = false }]')
    transactions = pa.Table.from_pylist([row(), row(offset=1)], schema=TRANSACTIONS)
    decisions = judge(transactions, MEMORY.empty_table(), References(pack)).decisions
    assert decisions["location_jump"].to_pylist() == [None, None]
    assert decisions["score"].to_pylist() == [0.0, 0.0]


def crowd(count: int) -> list[dict[str, Any]]:
    chance = random.Random(11)  # noqa: S311 - chosen for being repeatable
    return [
        row(
            offset=offset,
            type=chance.choice(["PIX", "TED", "CREDIT_CARD"]),
            amount_cents=chance.randint(0, 1_000_000),
            event_time=MOMENT + timedelta(seconds=offset),
            card_entry=chance.choice([None, "MANUAL", "CHIP"]),
            classic_new_beneficiary=chance.choice([None, True, False]),
            classic_transactions_24h=chance.choice([None, 3, 10, 11, 40]),
            classic_distance_km=chance.choice([None, 100.0, chance.uniform(0, 300)]),
            classic_unusual_time=chance.choice([None, True, False]),
            classic_mcc_risk_level=chance.choice([None, "low", "medium", "high"]),
            classic_fraud_score=chance.choice([None, chance.uniform(0, 100), chance.randint(0, 20_000) / 200 + 0.005]),
        )
        for offset in range(count)
    ]


def test_a_row_is_judged_alike_alone_in_pieces_and_among_thousands() -> None:
    rows = crowd(5_000)
    whole = decide(rows)
    for size in (1, 7, 1_000):
        some = rows[:40] if size == 1 else rows[:2_000]
        pieces = pa.concat_tables([decide(some[start : start + size]) for start in range(0, len(some), size)])
        assert pieces.equals(whole.slice(0, len(some)))
    assert len(set(whole["level"].to_pylist())) == 5


@pytest.mark.parametrize("chunk", [1, 300])
def test_how_the_columns_are_chunked_does_not_matter(chunk: int) -> None:
    rows = crowd(500)
    table = pa.Table.from_pylist(rows, schema=TRANSACTIONS)
    chunked = pa.Table.from_batches(table.to_batches(max_chunksize=chunk))
    pack = References(builtin("classic-v1"))
    assert judge(chunked, MEMORY.empty_table(), pack).decisions.equals(judge(table, MEMORY.empty_table(), pack).decisions)
