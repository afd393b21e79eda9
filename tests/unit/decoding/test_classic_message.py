"""The 38 fields, one by one: what is kept, what becomes null and is named, what makes the record a dead letter."""

import json
from typing import Any

import pytest

from comporta.decoding.classic_json import COLUMNS, KNOWN, OPTIONAL, Message, read_message
from comporta.decoding.limits import LIMITS
from comporta.decoding.reasons import Reason, Rejected
from comporta.words.tables import TRANSACTIONS

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
    "pix_key_type": "CPF",
    "pix_key_destination": "a1b2c3d4e5f6",
    "destination_bank": "341",
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
KEPT = {
    "transaction_id": "TXN_000000000000001",
    "customer_id": "CUST_00000001",
    "event_time": 1736947800123456,
    "utc_offset_minutes": -180,
    "type": "PIX",
    "direction": "OUT",
    "amount_cents": 168928,
    "currency": "BRL",
    "channel": "MOBILE_APP",
    "status": "APPROVED",
    "refusal_reason": None,
    "session_id": "SESS_000000000001",
    "device_id": "DEV_00000001",
    "ip": "177.45.123.89",
    "latitude": -23.55052,
    "longitude": -46.633308,
    "card_brand": "VISA",
    "card_type": "CREDIT",
    "card_entry": "CHIP",
    "installments": 3,
    "cvv_validated": True,
    "auth_3ds": False,
    "merchant_id": "MERCH_001234",
    "merchant_name": "Padaria São José",
    "merchant_category": "Restaurantes",
    "mcc": "5812_delivery",
    "payee_bank": "341",
    "pix_key_type": "CPF",
    "classic_mcc_risk_level": "medium",
    "classic_distance_km": 12.5,
    "classic_minutes_since_last": 45,
    "classic_transactions_24h": 3,
    "classic_accumulated_24h_cents": 58051,
    "classic_unusual_time": False,
    "classic_new_beneficiary": True,
    "classic_fraud_score": 12.5,
    "classic_is_fraud": False,
    "classic_fraud_type": None,
}


def read(**changes: Any) -> Message:
    return read_message(json.dumps({**FIELDS, **changes}).encode(), LIMITS)


def read_raw(**changes: str) -> Message:
    """Reads a record in which some values are JSON text as given, for what `json` would not write."""
    members = [f'"{name}": {changes.get(name, json.dumps(value))}' for name, value in FIELDS.items()]
    return read_message(("{" + ", ".join(members) + "}").encode(), LIMITS)


def kept(message: Message, column: str) -> Any:
    return dict(zip(COLUMNS, message.columns, strict=True))[column]


def test_all_38_fields_of_a_good_record_arrive_in_their_columns() -> None:
    assert len(FIELDS) == 38
    message = read()
    assert dict(zip(COLUMNS, message.columns, strict=True)) == KEPT
    assert message.invalid == []
    assert message.unknown == 0


def test_the_columns_are_those_of_a_transaction_in_its_order() -> None:
    around = {"partition", "offset", "append_time", "identity", "invalid_fields", "ahead_of_log"}
    assert [name for name in TRANSACTIONS.names if name not in around] == list(COLUMNS)


def test_every_field_of_the_message_is_known() -> None:
    assert set(FIELDS) <= KNOWN


@pytest.mark.parametrize("field", [field for field, _, _ in OPTIONAL])
def test_a_field_that_is_null_or_missing_is_unknown_and_not_invalid(field: str) -> None:
    column = next(column for name, column, _ in OPTIONAL if name == field)
    without = json.dumps({name: value for name, value in FIELDS.items() if name != field}).encode()
    for message in (read(**{field: None}), read_message(without, LIMITS)):
        assert kept(message, column) is None
        assert message.invalid == []


NONSENSE: tuple[Any, ...] = ([], {}, ["x"], {"a": 1})


@pytest.mark.parametrize("field", [field for field, _, _ in OPTIONAL])
def test_a_value_of_the_wrong_kind_becomes_null_and_is_named(field: str) -> None:
    column = next(column for name, column, _ in OPTIONAL if name == field)
    wrong = 7 if isinstance(FIELDS[field], str) or FIELDS[field] is None else "seven"
    for value in (wrong, *NONSENSE):
        message = read(**{field: value})
        assert kept(message, column) is None
        assert message.invalid == [column]


INVALID = [
    ("currency", "brl"),
    ("currency", "XXX"),
    ("currency", "R$"),
    ("currency", ""),
    ("ip_address", "177.45.123"),
    ("ip_address", "177.45.123.256"),
    ("ip_address", "177.045.123.1"),
    ("ip_address", "177.45.123.89 "),
    ("ip_address", "fe80::1%eth0"),
    ("ip_address", "localhost"),
    ("ip_address", "' OR 1=1 --"),
    ("geolocation_lat", 90.0001),
    ("geolocation_lat", -91),
    ("geolocation_lon", 180.5),
    ("mcc_risk_level", "HIGH"),
    ("mcc_risk_level", "extreme"),
    ("installments", -1),
    ("installments", 100),
    ("installments", 1.5),
    ("installments", True),
    ("cvv_validated", 1),
    ("cvv_validated", "true"),
    ("distance_from_last_txn_km", -0.5),
    ("distance_from_last_txn_km", True),
    ("time_since_last_txn_min", -1),
    ("time_since_last_txn_min", 3e9),
    ("transactions_last_24h", 2**31),
    ("transactions_last_24h", 10.5),
    ("accumulated_amount_24h", -0.01),
    ("accumulated_amount_24h", 1e14),
    ("fraud_score", 1_000_000.5),
    ("unusual_time", 0),
    ("merchant_name", "x" * 1001),
    ("merchant_name", "a\x00b"),
]


@pytest.mark.parametrize(("field", "value"), INVALID)
def test_an_impossible_value_becomes_null_and_is_named_while_the_transaction_lives(field: str, value: Any) -> None:
    column = next(column for name, column, _ in OPTIONAL if name == field)
    message = read(**{field: value})
    assert kept(message, column) is None
    assert message.invalid == [column]
    assert kept(message, "amount_cents") == 168928


@pytest.mark.parametrize("field", ["geolocation_lat", "distance_from_last_txn_km", "accumulated_amount_24h", "fraud_score", "installments"])
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e309"])
def test_a_number_that_is_not_finite_is_an_invalid_field_like_any_other(field: str, number: str) -> None:
    assert len(read_raw(**{field: number}).invalid) == 1


VALID = [
    ("currency", "USD", "currency", "USD"),
    ("ip_address", "2001:db8::1", "ip", "2001:db8::1"),
    ("ip_address", "10.0.0.1", "ip", "10.0.0.1"),
    ("geolocation_lat", 90, "latitude", 90.0),
    ("installments", 0, "installments", 0),
    ("installments", 12.0, "installments", 12),
    ("channel", "POS", "channel", "POS"),
    ("merchant_name", '=HYPERLINK("http://x")\r\n\x1b[31m${jndi:ldap://x}\'; DROP TABLE', "merchant_name", None),
    ("merchant_name", "x" * 1000, "merchant_name", None),
    ("merchant_name", "\U0001f600", "merchant_name", None),
    ("distance_from_last_txn_km", 25_000, "classic_distance_km", 25_000.0),
    ("fraud_score", -3.5, "classic_fraud_score", -3.5),
    ("fraud_score", 150, "classic_fraud_score", 150.0),
]


@pytest.mark.parametrize(("field", "value", "column", "stored"), VALID)
def test_what_is_only_strange_is_data(field: str, value: Any, column: str, stored: Any) -> None:
    message = read(**{field: value})
    assert kept(message, column) == (value if stored is None else stored)
    assert message.invalid == []


def test_no_zero_is_negative() -> None:
    message = read_raw(geolocation_lat="-0", geolocation_lon="-0.0", fraud_score="-0e5", distance_from_last_txn_km="-0.0")
    assert [str(kept(message, column)) for column in ("latitude", "longitude", "classic_fraud_score", "classic_distance_km")] == ["0.0"] * 4
    assert message.invalid == []


def test_invalid_fields_are_named_in_the_order_of_the_columns() -> None:
    message = read(unusual_time="no", ip_address="nowhere", currency="???")
    assert message.invalid == ["currency", "ip", "classic_unusual_time"]


def test_the_successors_name_of_the_count_is_read_and_the_older_name_wins() -> None:
    assert kept(read(transactions_last_24h=None, velocity_transactions_24h=17), "classic_transactions_24h") == 17
    assert kept(read(transactions_last_24h=3, velocity_transactions_24h=17), "classic_transactions_24h") == 3
    assert read(velocity_transactions_24h=17).unknown == 0


def test_unknown_fields_are_counted_and_otherwise_ignored() -> None:
    message = read(fraud_risk_score=43, fraud_signals=["amount_spike", {"a": None}], cvv="123")
    assert message.unknown == 3
    assert message.columns == read().columns


def test_card_and_payee_are_read_past() -> None:
    message = read(card_number_hash=5, pix_key_destination="11122233344")
    assert message.invalid == []
    assert "11122233344" not in repr(message)


FATAL = [
    ("transaction_id", 17, Reason.ID_NOT_TEXT),
    ("transaction_id", True, Reason.ID_NOT_TEXT),
    ("customer_id", ["CUST"], Reason.ID_NOT_TEXT),
    ("transaction_id", "", Reason.ID_BLANK),
    ("customer_id", "   ", Reason.ID_BLANK),
    ("transaction_id", "\u3000", Reason.ID_BLANK),
    ("transaction_id", "x" * 129, Reason.ID_TOO_LONG),
    ("transaction_id", "TXN\n1", Reason.ID_CONTROL_CHARACTER),
    ("transaction_id", "TXN\x001", Reason.ID_CONTROL_CHARACTER),
    ("customer_id", "CUST\x1b[31m", Reason.ID_CONTROL_CHARACTER),
    ("customer_id", "CUST\u202e1", Reason.ID_CONTROL_CHARACTER),
    ("customer_id", "CUST\u200b1", Reason.ID_CONTROL_CHARACTER),
    ("timestamp", "yesterday", Reason.TIME_UNREADABLE),
    ("timestamp", 1736937000, Reason.TIME_UNREADABLE),
    ("timestamp", "2025-02-30T00:00:00", Reason.TIME_IMPOSSIBLE),
    ("timestamp", "1815-01-01T00:00:00", Reason.TIME_OUT_OF_RANGE),
    ("type", "CHEQUE", Reason.TYPE_UNKNOWN),
    ("type", "pix", Reason.TYPE_UNKNOWN),
    ("type", 3, Reason.TYPE_UNKNOWN),
    ("type", [], Reason.TYPE_UNKNOWN),
    ("amount", "1689.28", Reason.AMOUNT_NOT_A_NUMBER),
    ("amount", True, Reason.AMOUNT_NOT_A_NUMBER),
    ("amount", [1], Reason.AMOUNT_NOT_A_NUMBER),
    ("amount", {"value": 1}, Reason.AMOUNT_NOT_A_NUMBER),
    ("amount", -0.01, Reason.AMOUNT_NEGATIVE),
    ("amount", -5000, Reason.AMOUNT_NEGATIVE),
    ("amount", 1e10, Reason.AMOUNT_TOO_LARGE),
    ("amount", 1e300, Reason.AMOUNT_TOO_LARGE),
]


@pytest.mark.parametrize(("field", "value", "reason"), FATAL)
def test_a_field_without_which_nothing_can_be_judged_makes_a_dead_letter(field: str, value: Any, reason: Reason) -> None:
    with pytest.raises(Rejected) as refused:
        read(**{field: value})
    assert (refused.value.reason, refused.value.field) == (reason, field)


AMOUNTS = [
    ("NaN", Reason.AMOUNT_NOT_FINITE),
    ("Infinity", Reason.AMOUNT_NOT_FINITE),
    ("-Infinity", Reason.AMOUNT_NOT_FINITE),
    ("1e309", Reason.AMOUNT_NOT_FINITE),
    ("-1e-400", Reason.AMOUNT_NEGATIVE),
    ("-0.001", Reason.AMOUNT_NEGATIVE),
    ("9999999999.995", Reason.AMOUNT_TOO_LARGE),
]


@pytest.mark.parametrize(("written", "reason"), AMOUNTS)
def test_an_amount_is_refused_as_it_was_written(written: str, reason: Reason) -> None:
    with pytest.raises(Rejected) as refused:
        read_raw(amount=written)
    assert refused.value.reason is reason


CENTS = [("0", 0), ("-0.0", 0), ("1e-400", 0), ("1.005", 101), ("5000.004", 500000), ("5000.005", 500001), ("9999999999.994", 999999999999)]


@pytest.mark.parametrize(("written", "cents"), CENTS)
def test_an_amount_becomes_cents_by_its_decimal_text(written: str, cents: int) -> None:
    assert kept(read_raw(amount=written), "amount_cents") == cents


@pytest.mark.parametrize("field", ["transaction_id", "customer_id", "timestamp", "type", "amount"])
def test_a_fatal_field_that_is_null_or_missing_is_named(field: str) -> None:
    with pytest.raises(Rejected) as refused:
        read(**{field: None})
    assert refused.value.reason is Reason.MISSING_FIELD
    assert refused.value.field == field
    assert refused.value.detail == f"missing or null: {field}"


def test_all_missing_fields_are_listed_with_a_hint_for_the_portuguese_form() -> None:
    portuguese = {"transaction_id": "T", "customer_id": "C", "timestamp": None, "tipo": "PIX", "valor": 250.0}
    with pytest.raises(Rejected) as refused:
        read_message(json.dumps(portuguese).encode(), LIMITS)
    assert refused.value.detail.startswith("missing or null: timestamp, type, amount; ")
    assert refused.value.detail.endswith("tipo is type, valor is amount")


def test_an_unknown_key_that_stands_twice_is_not_told() -> None:
    with pytest.raises(Rejected) as refused:
        read_message(b'{"4111111111111111":1,"4111111111111111":2}', LIMITS)
    assert refused.value.field is None
    assert "4111" not in refused.value.detail
