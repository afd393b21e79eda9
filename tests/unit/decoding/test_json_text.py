"""Bytes to the members of one JSON object: what is refused, where it is wrong, and that the quick reading agrees with the strict one."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comporta.decoding import json_text
from comporta.decoding.json_text import Number, read_object
from comporta.decoding.limits import LIMITS, Limits
from comporta.decoding.reasons import Reason, Rejected

BROKEN = [
    (b"{", Reason.JSON_SYNTAX, "column 2"),
    (b"{]", Reason.JSON_SYNTAX, "column 2"),
    (b"{a:1}", Reason.JSON_SYNTAX, "column 2"),
    (b"{'a':1}", Reason.JSON_SYNTAX, "column 2"),
    (b'{"a" 1}', Reason.JSON_SYNTAX, "column 6"),
    (b'{"a":}', Reason.JSON_SYNTAX, "column 6"),
    (b'{"a":1', Reason.JSON_SYNTAX, "column 7"),
    (b'{"a":1,}', Reason.JSON_SYNTAX, "column 8"),
    (b'{"a":1;"b":2}', Reason.JSON_SYNTAX, "column 7"),
    (b'{"a":[1,]}', Reason.JSON_SYNTAX, "column 9"),
    (b'{"a":[1 2]}', Reason.JSON_SYNTAX, "column 9"),
    (b'{"a":01}', Reason.JSON_SYNTAX, "column 7"),
    (b'{"a":+1}', Reason.JSON_SYNTAX, "column 6"),
    (b'{"a":1.}', Reason.JSON_SYNTAX, "column 7"),
    (b'{"a":.5}', Reason.JSON_SYNTAX, "column 6"),
    (b'{"a":1e}', Reason.JSON_SYNTAX, "column 7"),
    (b'{"a":0x1}', Reason.JSON_SYNTAX, "column 7"),
    (b'{"a":True}', Reason.JSON_SYNTAX, "column 6"),
    (b'{"a":nan}', Reason.JSON_SYNTAX, "column 6"),
    (b'{"a":"b}', Reason.JSON_SYNTAX, "column 6"),
    (b'{"a":"b\nc"}', Reason.JSON_SYNTAX, "column 8"),
    (b'{"a":"\\q"}', Reason.JSON_SYNTAX, "column 7"),
    (b'{"a":"\\u12g4"}', Reason.JSON_SYNTAX, "column 7"),
    (b'{"a":"\\', Reason.JSON_SYNTAX, "column 7"),
    (b'{"a":1 // no\n}', Reason.JSON_SYNTAX, "column 8"),
    (b'{\n "a": 1,\n "b" 2}', Reason.JSON_SYNTAX, "line 3 column 6"),
    (b'{"a":1}{"b":2}', Reason.JSON_TRAILING, "column 8"),
    (b'{"a":1}\n{"b":2}', Reason.JSON_TRAILING, "line 2 column 1"),
    (b'{"a":1} x', Reason.JSON_TRAILING, "column 9"),
    (b'{"a":1}\x00', Reason.JSON_TRAILING, "column 8"),
    (b'{"a":1,"a":1}', Reason.JSON_DUPLICATE_KEY, "column 8"),
    (b'{"a":1,"\\u0061":1}', Reason.JSON_DUPLICATE_KEY, "column 8"),
    (b'{"x":{"a":1,"b":[{"c":1,"c":2}]}}', Reason.JSON_DUPLICATE_KEY, "column 25"),
    (b'{"a":"\xff"}', Reason.ENCODING, "byte 7"),
    ('{"a":"São"}'.encode("latin-1"), Reason.ENCODING, "byte 8"),
    ('{"a":1}'.encode("utf-16-le"), Reason.ENCODING, "UTF-16"),
    (b'{"a":"\xed\xa0\x80"}', Reason.ENCODING, "byte 7"),
    (b'{"a":"\\ud83d"}', Reason.ENCODING, "column 7"),
    (b'{"a":"\\uDE00"}', Reason.ENCODING, "column 7"),
    (b'{"a":"\\ud83d\\ud83d"}', Reason.ENCODING, "column 7"),
    (b'{"\\ud83dx":1}', Reason.ENCODING, "column 3"),
    (b'{"a":' + b"[" * 16 + b"]" * 16 + b"}", Reason.JSON_LIMIT, "16 levels"),
    (b'{"a":' * 17 + b"1" + b"}" * 17, Reason.JSON_LIMIT, "16 levels"),
    (b'{"a":' + b"[" * 100_000, Reason.JSON_LIMIT, "16 levels"),
    (b'{"a":' + b"1" * 101 + b"}", Reason.JSON_LIMIT, "100 characters"),
    (b'{"a":' + b"1" * 10_000 + b"}", Reason.JSON_LIMIT, "100 characters"),
    (b'{"a":"' + b"x" * 262_144 + b'"}', Reason.TOO_LARGE, "262144"),
]


@pytest.mark.parametrize(("value", "reason", "place"), BROKEN, ids=[repr(value[:24]) for value, _, _ in BROKEN])
def test_what_is_not_exactly_one_json_object_is_refused_with_its_place(value: bytes, reason: Reason, place: str) -> None:
    with pytest.raises(Rejected) as refused:
        read_object(value, LIMITS)
    assert refused.value.reason is reason
    assert place in refused.value.detail


def test_the_key_that_stands_twice_is_named() -> None:
    with pytest.raises(Rejected) as refused:
        read_object(b'{"amount":1,"amount":2}', LIMITS)
    assert refused.value.field == "amount"


def test_the_limits_themselves_are_still_read() -> None:
    nested = b'{"a":' + b"[" * 15 + b"]" * 15 + b"}"
    assert read_object(nested, LIMITS)["a"] is not None
    assert read_object(b'{"a":' + b"1" * 100 + b"}", LIMITS) == {"a": "1" * 100}
    assert len(read_object(b'{"a":"' + b"x" * (262_144 - 8) + b'"}', LIMITS)["a"]) == 262_144 - 8
    assert read_object(b'{"a":"' + b"[{" * 1000 + b'"}', LIMITS) == {"a": "[{" * 1000}


def test_numbers_stay_as_they_were_written() -> None:
    members = read_object(b'{"a":1.10,"b":-0,"c":1E+2,"d":NaN,"e":-Infinity}', LIMITS)
    assert members == {"a": "1.10", "b": "-0", "c": "1E+2", "d": "NaN", "e": "-Infinity"}
    assert all(type(member) is Number for member in members.values())


def test_surrogate_pairs_and_escapes_become_their_characters() -> None:
    assert read_object(b'{"a":"\\ud83d\\ude00\\n\\u00e3\\/"}', LIMITS) == {"a": "\U0001f600\nã/"}


def strict(value: bytes, limits: Limits = LIMITS) -> object:
    try:
        return json_text._Reading(value.decode(), limits).whole()  # noqa: SLF001 - the reading that decides
    except Rejected as rejected:
        return rejected.reason


def whole(value: bytes, limits: Limits = LIMITS) -> object:
    try:
        return read_object(value, limits)
    except Rejected as rejected:
        return rejected.reason


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=8), JSON, max_size=8), st.booleans())
def test_what_json_writes_is_read_back(document: dict[str, object], ascii_only: bool) -> None:
    try:
        value = json.dumps(document, ensure_ascii=ascii_only).encode()
    except UnicodeEncodeError:
        return
    found = whole(value)
    assert found == strict(value)
    if isinstance(found, dict):
        assert plain(found) == plain(document)


def plain(document: object) -> object:
    if isinstance(document, Number):
        return repr(float(document))
    if isinstance(document, dict):
        return {key: plain(value) for key, value in document.items()}
    if isinstance(document, list):
        return [plain(value) for value in document]
    if isinstance(document, int | float) and not isinstance(document, bool):
        return repr(math.nan if document != document else float(document))  # noqa: PLR0124 - NaN
    return document


PIECES = st.sampled_from(
    ["{", "}", "[", "]", ":", ",", '"', '"a"', '"a":', '"b":1', "1", "-", "0", ".5", "e9", "true", "null", "NaN", "Infinity", "\\", "\\u00", "\\ud8",
     "\\u0041", " ", "\n", "\t", "\x00", "\x7f", "ã", "\U0001f600", "1" * 101]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(PIECES, max_size=12).map(lambda pieces: ("{" + "".join(pieces)).encode()))
def test_the_quick_reading_and_the_strict_one_agree_on_anything(value: bytes) -> None:
    if value[1:2] == b"\x00":
        return
    assert whole(value) == strict(value)
