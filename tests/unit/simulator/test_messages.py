"""The simulated bank: the original's message, from lives that hang together, and the same for the same seed."""

import json
from collections import Counter, defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from hashlib import blake2b
from itertools import islice, pairwise
from math import asin, cos, radians, sin, sqrt
from typing import Any

import pytest

from comporta.simulator.life import Message, Plan, messages
from comporta.simulator.timeline import SEEDED_START, history, microseconds, steady

# fmt: off
FIELDS = [
    "transaction_id", "customer_id", "session_id", "device_id", "timestamp", "type", "amount",
    "currency", "channel", "ip_address", "geolocation_lat", "geolocation_lon", "merchant_id", "merchant_name",
    "merchant_category", "mcc_code", "mcc_risk_level", "card_number_hash", "card_brand", "card_type", "installments",
    "card_entry", "cvv_validated", "auth_3ds", "pix_key_type", "pix_key_destination", "destination_bank", "distance_from_last_txn_km",
    "time_since_last_txn_min", "transactions_last_24h", "accumulated_amount_24h", "unusual_time", "new_beneficiary", "status", "refusal_reason",
    "fraud_score", "is_fraud", "fraud_type",
]
# fmt: on
TYPES = {"PIX", "CREDIT_CARD", "DEBIT_CARD", "BOLETO", "AUTO_DEBIT", "MOBILE_TOPUP", "TED", "WITHDRAWAL", "DOC"}
CHANNELS = {"MOBILE_APP", "WEB_BANKING", "ATM", "BRANCH", "WHATSAPP_PAY"}
TEXTS = set(FIELDS[:6]) | {"currency", "channel", "ip_address", *FIELDS[12:17], "status"}
COUNT = 5_000
PLAN = history(7, COUNT)


@cache
def run(plan: Plan, count: int) -> tuple[Message, ...]:
    return tuple(islice(messages(plan), count))


@cache
def records(plan: Plan, count: int) -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(message.value) for message in run(plan, count))


def digest(plan: Plan, count: int) -> str:
    hashed = blake2b(digest_size=16)
    for message in run(plan, count):
        hashed.update(message.key + b"\0" + message.value + b"\n")
    return hashed.hexdigest()


def test_every_message_has_the_38_fields_in_their_order() -> None:
    assert len(FIELDS) == 38
    assert all(list(record) == FIELDS for record in records(PLAN, COUNT))


def test_every_field_has_its_type_and_its_words() -> None:
    for record in records(PLAN, COUNT):
        assert all(isinstance(record[name], str) and record[name] for name in TEXTS)
        assert all(isinstance(record[name], float) for name in ("amount", "geolocation_lat", "geolocation_lon", "fraud_score"))
        assert record["type"] in TYPES
        assert record["channel"] in CHANNELS
        assert record["mcc_risk_level"] in {"low", "medium", "high"}
        assert record["card_entry"] in {"CHIP", "CONTACTLESS", "MANUAL", "MAGNETIC", None}
        assert record["pix_key_type"] in {"CPF", "TELEFONE", "EMAIL", "ALEATORIA", "CNPJ", None}
        assert record["status"] in {"APPROVED", "DECLINED", "PENDING", "BLOCKED"}
        assert (record["refusal_reason"] is None) == (record["status"] in {"APPROVED", "PENDING"})
        assert -34 < record["geolocation_lat"] < 6
        assert -75 < record["geolocation_lon"] < -34


def test_cards_and_payees_stand_where_they_belong() -> None:
    for record in records(PLAN, COUNT):
        assert (record["card_number_hash"] is not None) == (record["type"] in {"CREDIT_CARD", "DEBIT_CARD", "WITHDRAWAL"})
        assert (record["pix_key_destination"] is not None) == (record["type"] == "PIX")
        assert (record["destination_bank"] is not None) == (record["type"] in {"PIX", "TED", "DOC"})


def test_all_types_and_channels_and_the_mcc_that_is_no_number_occur() -> None:
    seen = records(PLAN, COUNT)
    assert {record["type"] for record in seen} == TYPES
    assert {record["channel"] for record in seen} == CHANNELS
    assert "5812_delivery" in {record["mcc_code"] for record in seen}


def test_a_message_is_about_as_long_as_the_originals() -> None:
    sizes = [len(message.value) for message in run(PLAN, COUNT)]
    assert 1_000 < sum(sizes) / len(sizes) < 1_100
    assert max(sizes) < 1_200


def test_the_cents_beside_a_message_are_those_in_it() -> None:
    assert all(
        message.cents == round(record["amount"] * 100) for message, record in zip(run(PLAN, COUNT), records(PLAN, COUNT), strict=True)
    )


def test_the_key_is_the_customer() -> None:
    assert all(
        message.key.decode() == record["customer_id"] for message, record in zip(run(PLAN, COUNT), records(PLAN, COUNT), strict=True)
    )


def test_the_same_seed_gives_the_same_bytes_on_every_machine() -> None:
    assert digest(PLAN, 5_000) == "4fe919c0ccb9c2602ac6b06f68c6f6e3"
    assert digest(replace(PLAN, leak=True), 5_000) == "5402b44b7cf700ee3470acfcf52d90ad"


def test_a_shorter_run_is_the_beginning_of_a_longer_one() -> None:
    assert run(history(7, 100), 100) == run(PLAN, 100)


def test_another_seed_gives_other_lives_to_the_same_people() -> None:
    other = records(replace(PLAN, seed=8), COUNT)
    assert not {record["transaction_id"] for record in other} & {record["transaction_id"] for record in records(PLAN, COUNT)}
    cards = {record["customer_id"]: record["card_number_hash"] for record in other if record["card_number_hash"]}
    mine = {record["customer_id"]: record["card_number_hash"] for record in records(PLAN, COUNT) if record["card_number_hash"]}
    shared = cards.keys() & mine.keys()
    assert len(shared) > 600
    assert all(cards[customer] == mine[customer] for customer in shared)


def test_no_id_comes_twice_and_the_seed_stands_in_it() -> None:
    ids = [record["transaction_id"] for record in records(PLAN, COUNT)]
    assert len(set(ids)) == COUNT
    assert all(identity.startswith("tx-7-") for identity in ids)


def test_times_go_forward_from_the_start() -> None:
    times = [datetime.fromisoformat(record["timestamp"]) for record in records(PLAN, COUNT)]
    assert times[0] >= SEEDED_START.replace(tzinfo=None)
    assert all(earlier <= later for earlier, later in pairwise(times))


def by_customer(seen: tuple[dict[str, Any], ...]) -> dict[str, list[dict[str, Any]]]:
    lives = defaultdict(list)
    for record in seen:
        lives[record["customer_id"]].append(record)
    return lives


def test_counts_and_sums_of_24_hours_are_those_of_the_customers_own_messages() -> None:
    for life in by_customer(records(PLAN, COUNT)).values():
        times = [datetime.fromisoformat(record["timestamp"]) for record in life]
        for number, record in enumerate(life):
            window = [life[at] for at in range(number + 1) if times[number] - times[at] < timedelta(hours=24)]
            assert record["transactions_last_24h"] == len(window)
            assert round(record["accumulated_amount_24h"] * 100) == sum(round(other["amount"] * 100) for other in window)


def kilometres(one: dict[str, Any], other: dict[str, Any]) -> float:
    """Great circle, as everybody else computes it."""
    lat1, lon1, lat2, lon2 = (radians(value) for place in (one, other) for value in (place["geolocation_lat"], place["geolocation_lon"]))
    return 2 * 6371 * asin(sqrt(sin((lat2 - lat1) / 2) ** 2 + cos(lat1) * cos(lat2) * sin((lon2 - lon1) / 2) ** 2))


def test_distance_and_minutes_are_those_since_the_customers_last_message() -> None:
    for life in by_customer(records(PLAN, COUNT)).values():
        assert life[0]["distance_from_last_txn_km"] is None
        assert life[0]["time_since_last_txn_min"] is None
        for before, record in pairwise(life):
            assert record["distance_from_last_txn_km"] == pytest.approx(kilometres(before, record), rel=0.05, abs=0.5)
            waited = datetime.fromisoformat(record["timestamp"]) - datetime.fromisoformat(before["timestamp"])
            assert record["time_since_last_txn_min"] == int(waited.total_seconds() // 60)


def test_a_customer_has_a_home_a_phone_a_card_and_payees_that_recur() -> None:
    lives = [life for life in by_customer(records(PLAN, COUNT)).values() if len(life) >= 12]
    assert lives
    for life in lives:
        phones = Counter(record["device_id"] for record in life)
        assert phones.most_common(1)[0][1] >= len(life) / 3
        assert len({record["card_number_hash"] for record in life if record["card_number_hash"]}) <= 1
    paid = [
        [record["pix_key_destination"] for record in life if record["type"] == "PIX" and not record["new_beneficiary"]] for life in lives
    ]
    again = sum(len(keys) - len(set(keys)) for keys in paid)
    assert again > sum(len(keys) for keys in paid) / 5


def test_a_new_payee_was_never_paid_before() -> None:
    for life in by_customer(records(PLAN, COUNT)).values():
        met: set[str] = set()
        for record in life:
            if record["new_beneficiary"] and record["pix_key_destination"]:
                assert record["pix_key_destination"] not in met
            met.add(record["pix_key_destination"])


def test_without_leak_there_is_no_label_and_the_score_knows_nothing() -> None:
    plan = replace(PLAN, fraud_rate=0.2)
    seen, truth = records(plan, COUNT), [message.story for message in run(plan, COUNT)]
    assert all(record["is_fraud"] is None and record["fraud_type"] is None for record in seen)
    of_fraud = [record["fraud_score"] for record, story in zip(seen, truth, strict=True) if story]
    of_honest = [record["fraud_score"] for record, story in zip(seen, truth, strict=True) if not story]
    assert abs(sum(of_fraud) / len(of_fraud) - sum(of_honest) / len(of_honest)) < 1.5


def test_with_leak_the_answer_stands_in_the_message_and_nothing_else_changes() -> None:
    plan = replace(PLAN, fraud_rate=0.1, leak=True)
    for message, record, other in zip(run(plan, 5_000), records(plan, 5_000), records(replace(plan, leak=False), 5_000), strict=True):
        assert record["is_fraud"] is (message.story is not None)
        assert record["fraud_type"] == message.story
        assert 65 <= record["fraud_score"] <= 100 if message.story else 0 <= record["fraud_score"] <= 35
        assert {name: record[name] for name in FIELDS[:35]} == {name: other[name] for name in FIELDS[:35]}


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_frauds_are_the_share_that_was_asked_for(share: float) -> None:
    frauds = sum(message.story is not None for message in run(replace(PLAN, fraud_rate=share), COUNT))
    assert frauds / COUNT == pytest.approx(share, rel=0.35)


def stories(plan: Plan, count: int) -> dict[str, list[dict[str, Any]]]:
    told = defaultdict(list)
    for message, record in zip(run(plan, count), records(plan, count), strict=True):
        if message.story:
            told[message.story].append(record)
    return told


def test_the_three_stories_leave_their_own_traces() -> None:
    told = stories(replace(PLAN, fraud_rate=0.1), COUNT)
    assert set(told) == {"ACCOUNT_TAKEOVER", "CARD_CLONING", "CARD_TESTING"}
    assert all(record["type"] == "PIX" and record["new_beneficiary"] and record["amount"] >= 900 for record in told["ACCOUNT_TAKEOVER"])
    assert all(record["card_entry"] in {"MANUAL", "MAGNETIC"} and record["amount"] >= 800 for record in told["CARD_CLONING"])
    tiny = [record for record in told["CARD_TESTING"] if record["amount"] < 6]
    large = [record for record in told["CARD_TESTING"] if record["amount"] >= 2_500]
    assert len(tiny) + len(large) == len(told["CARD_TESTING"])
    assert len(tiny) > 5 * len(large) > 0
    far = [record for records_ in told.values() for record in records_ if (record["distance_from_last_txn_km"] or 0) > 100]
    assert len(far) > 0.8 * sum(len(records_) for records_ in told.values())


def test_honest_lives_have_look_alikes_of_every_trace() -> None:
    honest = [record for message, record in zip(run(PLAN, COUNT), records(PLAN, COUNT), strict=True) if message.story is None]
    assert any((record["distance_from_last_txn_km"] or 0) > 100 for record in honest)
    assert any(record["new_beneficiary"] for record in honest)
    assert any(record["amount"] > 5_000 for record in honest)
    assert any(record["card_entry"] == "MANUAL" for record in honest)
    assert any(record["unusual_time"] for record in honest)
    assert any(record["transactions_last_24h"] > 10 for record in honest)


@pytest.mark.parametrize("customers", [1, 3, 47, 48, 500])
def test_there_are_no_more_customers_than_asked_for(customers: int) -> None:
    seen = {message.key for message in run(history(7, 3_000, customers=customers), 3_000)}
    assert len(seen) <= customers
    assert len(seen) >= 0.7 * customers


def test_nights_are_quiet_and_few_are_awake() -> None:
    hours = Counter(datetime.fromisoformat(record["timestamp"]).hour for record in records(PLAN, COUNT))
    assert hours[3] * 5 < hours[12]
    assert sum(record["unusual_time"] for record in records(PLAN, COUNT)) < COUNT / 50


def test_the_window_of_a_customer_who_does_everything_stays_small() -> None:
    plan = history(3, 3_000, customers=1, span_seconds=30 * 86_400.0)
    counts = [record["transactions_last_24h"] for record in records(plan, 3_000)]
    assert 50 < counts[-1] < 250


def test_a_steady_run_keeps_its_rate_from_its_first_second() -> None:
    start = microseconds(SEEDED_START)
    plan = steady(5, start, 200.0, customers=None, fraud_rate=0.05, leak=False)
    seen = run(plan, 3_000)
    assert seen[-1].at_us - start == pytest.approx(15_000_000, rel=0.1)
    assert sum(message.story is not None for message in seen) / 3_000 == pytest.approx(0.05, rel=0.5)
