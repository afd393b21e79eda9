"""The original pipeline's message, 38 fields of JSON, into the columns of a transaction.

Five fields decide whether the record is a transaction at all; any other that is not valid becomes null and is named, for a typo in an address must not
leave a payment unscreened. Identifiers of card and payee are read past: nothing keeps them.
"""

import re
from collections.abc import Callable
from ipaddress import ip_address
from math import isfinite
from typing import Any, NamedTuple

from comporta.decoding.currencies import CURRENCIES
from comporta.decoding.instants import read_instant
from comporta.decoding.json_text import Number, read_object
from comporta.decoding.limits import Limits
from comporta.decoding.money import exact_integer, scaled_half_up
from comporta.decoding.reasons import Reason, Rejected

TYPES = ("PIX", "CREDIT_CARD", "DEBIT_CARD", "BOLETO", "AUTO_DEBIT", "MOBILE_TOPUP", "TED", "WITHDRAWAL", "DOC")
FATAL = ("transaction_id", "customer_id", "timestamp", "type", "amount")
NOT_KEPT = frozenset({"card_number_hash", "pix_key_destination"})
# The name that the successor of the original generator gives to `transactions_last_24h`; the older name wins where both say something.
SUCCESSORS = {"transactions_last_24h": "velocity_transactions_24h"}
# The first form of the original's message named its fields in Portuguese; only these two are fatal.
PORTUGUESE = {"tipo": "type", "valor": "amount"}
RISKS = frozenset({"low", "medium", "high"})

Check = Callable[[Any, Limits], Any]


class Message(NamedTuple):
    """A good record: the columns of a transaction in the order of `COLUMNS`, the names of the invalid ones, the number of unknown fields."""

    columns: tuple[Any, ...]
    invalid: list[str]
    unknown: int


class Invalid(Exception):
    """The value is not what the field may hold."""


def text(value: Any, limits: Limits) -> str:
    if type(value) is not str or len(value) > limits.text_characters or "\x00" in value:
        raise Invalid
    return value


def flag(value: Any, _limits: Limits) -> bool:
    if isinstance(value, bool):
        return value
    raise Invalid


def number(value: Any, _limits: Limits) -> float:
    if type(value) is Number:
        double = float(value)
        if isfinite(double):
            # No zero is negative.
            return double + 0.0
    raise Invalid


def integer(value: Any, limits: Limits) -> int:
    if type(value) is not Number:
        raise Invalid
    if value.isdigit():
        whole: int | None = int(value)
    else:
        number(value, limits)
        whole = exact_integer(value)
    if whole is None or not 0 <= whole <= limits.count:
        raise Invalid
    return whole


def installments(value: Any, limits: Limits) -> int:
    whole = integer(value, limits)
    if whole > limits.installments:
        raise Invalid
    return whole


def accumulated(value: Any, limits: Limits) -> int:
    if number(value, limits) < 0:
        raise Invalid
    total = scaled_half_up(value, 2)
    if total > limits.accumulated_cents:
        raise Invalid
    return total


def distance(value: Any, limits: Limits) -> float:
    kilometres = number(value, limits)
    if kilometres < 0:
        raise Invalid
    return kilometres


def score(value: Any, limits: Limits) -> float:
    points = number(value, limits)
    if abs(points) > limits.score:
        raise Invalid
    return points


def latitude(value: Any, limits: Limits) -> float:
    degrees = number(value, limits)
    if not -90.0 <= degrees <= 90.0:  # noqa: PLR2004 - the poles
        raise Invalid
    return degrees


def longitude(value: Any, limits: Limits) -> float:
    degrees = number(value, limits)
    if not -180.0 <= degrees <= 180.0:  # noqa: PLR2004 - the date line
        raise Invalid
    return degrees


def currency(value: Any, _limits: Limits) -> str:
    if type(value) is str and value in CURRENCIES:
        return value
    raise Invalid


def risk(value: Any, _limits: Limits) -> str:
    if type(value) is str and value in RISKS:
        return value
    raise Invalid


_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4 = rf"{_OCTET}\.{_OCTET}\.{_OCTET}\.{_OCTET}"
_IPV4 = re.compile(IPV4)
_LONGEST_IP = 45


def ip(value: Any, _limits: Limits) -> str:
    if type(value) is not str or len(value) > _LONGEST_IP:
        raise Invalid
    if not _IPV4.fullmatch(value):
        if "%" in value:
            raise Invalid
        try:
            ip_address(value)
        except ValueError:
            raise Invalid from None
    return value


# Field of the message, column of the transaction, what it may hold; in the order of the columns.
OPTIONAL: tuple[tuple[str, str, Check], ...] = (
    ("currency", "currency", currency),
    ("channel", "channel", text),
    ("status", "status", text),
    ("refusal_reason", "refusal_reason", text),
    ("session_id", "session_id", text),
    ("device_id", "device_id", text),
    ("ip_address", "ip", ip),
    ("geolocation_lat", "latitude", latitude),
    ("geolocation_lon", "longitude", longitude),
    ("card_brand", "card_brand", text),
    ("card_type", "card_type", text),
    ("card_entry", "card_entry", text),
    ("installments", "installments", installments),
    ("cvv_validated", "cvv_validated", flag),
    ("auth_3ds", "auth_3ds", flag),
    ("merchant_id", "merchant_id", text),
    ("merchant_name", "merchant_name", text),
    ("merchant_category", "merchant_category", text),
    ("mcc_code", "mcc", text),
    ("destination_bank", "payee_bank", text),
    ("pix_key_type", "pix_key_type", text),
    ("mcc_risk_level", "classic_mcc_risk_level", risk),
    ("distance_from_last_txn_km", "classic_distance_km", distance),
    ("time_since_last_txn_min", "classic_minutes_since_last", integer),
    ("transactions_last_24h", "classic_transactions_24h", integer),
    ("accumulated_amount_24h", "classic_accumulated_24h_cents", accumulated),
    ("unusual_time", "classic_unusual_time", flag),
    ("new_beneficiary", "classic_new_beneficiary", flag),
    ("fraud_score", "classic_fraud_score", score),
    ("is_fraud", "classic_is_fraud", flag),
    ("fraud_type", "classic_fraud_type", text),
)
COLUMNS = (
    "transaction_id",
    "customer_id",
    "event_time",
    "utc_offset_minutes",
    "type",
    "direction",
    "amount_cents",
    *(column for _, column, _ in OPTIONAL),
)
KNOWN = frozenset({*FATAL, *NOT_KEPT, *SUCCESSORS.values(), *(field for field, _, _ in OPTIONAL)})


def read_message(value: bytes, limits: Limits) -> Message:
    """The record as a transaction's columns, or `Rejected` with the reason."""
    try:
        fields = read_object(value, limits)
    except Rejected as rejected:
        # A key is content of the record unless it is one of ours.
        if rejected.field not in KNOWN:
            rejected.field = None
        raise
    unknown = 0 if fields.keys() <= KNOWN else len(fields.keys() - KNOWN)
    missing = [field for field in FATAL if fields.get(field) is None]
    if missing:
        raise Rejected(Reason.MISSING_FIELD, _missing(missing, fields), missing[0])
    transaction_id = identifier(fields["transaction_id"], "transaction_id", limits)
    customer_id = identifier(fields["customer_id"], "customer_id", limits)
    instant, minutes = read_instant(fields["timestamp"], "timestamp", limits)
    kind = fields["type"]
    if type(kind) is not str or kind not in TYPES:
        raise Rejected(Reason.TYPE_UNKNOWN, f"not one of {', '.join(TYPES)}", "type")
    cents = amount(fields["amount"], limits)
    columns = [transaction_id, customer_id, instant, minutes, kind, "OUT", cents]
    invalid: list[str] = []
    for field, column, check in OPTIONAL:
        found = fields.get(field)
        if found is None and field in SUCCESSORS:
            found = fields.get(SUCCESSORS[field])
        if found is not None:
            try:
                found = check(found, limits)
            except Invalid:
                found = None
                invalid.append(column)
        columns.append(found)
    return Message(tuple(columns), invalid, unknown)


# Characters that no terminal shows, or that turn what stands around them: C0, C1, zero width, line separators, direction marks.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def identifier(value: Any, field: str, limits: Limits) -> str:
    if type(value) is not str:
        raise Rejected(Reason.ID_NOT_TEXT, "not a string", field)
    if len(value) > limits.id_characters:
        raise Rejected(Reason.ID_TOO_LONG, f"{len(value)} characters; at most {limits.id_characters} are read", field)
    if _CONTROL.search(value):
        raise Rejected(Reason.ID_CONTROL_CHARACTER, "holds a control character", field)
    if not value or value.isspace():
        raise Rejected(Reason.ID_BLANK, "empty or only spaces", field)
    return value


def amount(value: Any, limits: Limits) -> int:
    if type(value) is not Number:
        raise Rejected(Reason.AMOUNT_NOT_A_NUMBER, f"{_kind(value)} where a JSON number is expected", "amount")
    double = float(value)
    if not isfinite(double):
        raise Rejected(Reason.AMOUNT_NOT_FINITE, "NaN, infinite or beyond every double", "amount")
    # The sign is read from the text: so small a negative number that no double holds it is negative all the same.
    if value[0] == "-" and any(digit in "123456789" for digit in value.lower().partition("e")[0]):
        raise Rejected(Reason.AMOUNT_NEGATIVE, "below zero; a reversal is a transaction of its own direction", "amount")
    cents = scaled_half_up(value, 2)
    if cents > limits.amount_cents:
        raise Rejected(Reason.AMOUNT_TOO_LARGE, f"more than {limits.amount_cents} cents", "amount")
    return cents


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"


def _missing(missing: list[str], fields: dict[str, Any]) -> str:
    said = f"missing or null: {', '.join(missing)}"
    hints = [f"{old} is {new}" for old, new in PORTUGUESE.items() if new in missing and old in fields]
    return f"{said}; this looks like the original's Portuguese form: {', '.join(hints)}" if hints else said
