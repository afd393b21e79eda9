"""Bytes to the members of exactly one JSON object, strictly: what RFC 8259 leaves to taste is refused or decided here.

A key that stands twice in one object, at whatever depth, makes the record a dead letter. Numbers stay text, so that money is never a double.
NaN, Infinity and -Infinity, which JSON does not have but many writers produce, are read as numbers; each field then refuses them by name.
"""

import json
import re
from functools import lru_cache
from typing import Any

from comporta.decoding.limits import Limits
from comporta.decoding.reasons import Reason, Rejected


class Number(str):
    """A JSON number as it was written."""

    __slots__ = ()


class Doubt(ValueError):
    """The fast reading cannot prove that it was right; the strict one decides."""


def read_object(value: bytes, limits: Limits) -> dict[str, Any]:
    """The members of the object that `value` holds; anything else is `Rejected`."""
    if len(value) > limits.value_bytes:
        raise Rejected(Reason.TOO_LARGE, f"{len(value)} bytes; at most {limits.value_bytes} are read")
    text = _utf8(value)
    # The standard library's scanner is strict enough when nothing can be nested too deeply and no surrogate stands alone.
    if value.count(b"{") + value.count(b"[") <= limits.nesting and b"\\ud" not in value and b"\\uD" not in value:
        try:
            members: dict[str, Any] = _fast(limits.number_characters).decode(text)
        except ValueError:
            pass
        else:
            return members
    return _Reading(text, limits).whole()


def _utf8(value: bytes) -> str:
    if value[1:2] == b"\x00":
        raise Rejected(Reason.ENCODING, "not UTF-8: looks like UTF-16 or UTF-32; send UTF-8")
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise Rejected(Reason.ENCODING, f"not UTF-8 at byte {error.start + 1}; send UTF-8") from None


@lru_cache(maxsize=8)
def _fast(longest_number: int) -> json.JSONDecoder:
    def number(text: str) -> Number:
        if len(text) > longest_number:
            raise Doubt
        return Number(text)

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise Doubt
        return found

    return json.JSONDecoder(object_pairs_hook=members, parse_float=number, parse_int=number, parse_constant=Number)


_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_WORDS: tuple[tuple[str, Any], ...] = (
    ("true", True),
    ("false", False),
    ("null", None),
    ("NaN", Number("NaN")),
    ("Infinity", Number("Infinity")),
    ("-Infinity", Number("-Infinity")),
)
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HIGH, _LOW, _END = 0xD800, 0xDC00, 0xE000


class _Reading:
    """The strict reading, from left to right: the first thing wrong is the reason, and its place is known."""

    def __init__(self, text: str, limits: Limits) -> None:
        self.text, self.limits = text, limits

    def whole(self) -> dict[str, Any]:
        members, end = self.object(0, depth=1)
        end = self.skip(end)
        if end != len(self.text):
            raise Rejected(Reason.JSON_TRAILING, f"something follows the object at {self.place(end)}; send one object per record")
        return members

    def object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        self.check_depth(at, depth)
        members: dict[str, Any] = {}
        at = self.skip(at + 1)
        if self.text.startswith("}", at):
            return members, at + 1
        while True:
            start = at
            if not self.text.startswith('"', at):
                raise self.syntax(at, "a key in double quotes is expected")
            key, at = self.string(at)
            if key in members:
                raise Rejected(Reason.JSON_DUPLICATE_KEY, f"a key stands twice in one object, again at {self.place(start)}", key)
            at = self.skip(at)
            if not self.text.startswith(":", at):
                raise self.syntax(at, "a colon is expected")
            members[key], at = self.value(self.skip(at + 1), depth)
            at = self.skip(at)
            if self.text.startswith("}", at):
                return members, at + 1
            if not self.text.startswith(",", at):
                raise self.syntax(at, "a comma or a closing brace is expected")
            at = self.skip(at + 1)

    def array(self, at: int, depth: int) -> tuple[list[Any], int]:
        self.check_depth(at, depth)
        items: list[Any] = []
        at = self.skip(at + 1)
        if self.text.startswith("]", at):
            return items, at + 1
        while True:
            item, at = self.value(at, depth)
            items.append(item)
            at = self.skip(at)
            if self.text.startswith("]", at):
                return items, at + 1
            if not self.text.startswith(",", at):
                raise self.syntax(at, "a comma or a closing bracket is expected")
            at = self.skip(at + 1)

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        first = self.text[at : at + 1]
        if first == '"':
            return self.string(at)
        if first == "{":
            return self.object(at, depth + 1)
        if first == "[":
            return self.array(at, depth + 1)
        for word, meaning in _WORDS:
            if self.text.startswith(word, at):
                return meaning, at + len(word)
        number = _NUMBER.match(self.text, at)
        if not number:
            raise self.syntax(at, "a value is expected")
        if number.end() - at > self.limits.number_characters:
            raise Rejected(Reason.JSON_LIMIT, f"a number longer than {self.limits.number_characters} characters at {self.place(at)}")
        return Number(number.group()), number.end()

    def string(self, at: int) -> tuple[str, int]:
        start, at = at, at + 1
        parts: list[str] = []
        while True:
            end = self.plain(at)
            parts.append(self.text[at:end])
            at = end
            following = self.text[at : at + 1]
            if following == '"':
                return "".join(parts), at + 1
            if following != "\\":
                what = "a string has no end" if not following else "a control character stands in a string unescaped"
                raise self.syntax(at if following else start, what)
            character, at = self.escape(at)
            parts.append(character)

    def escape(self, at: int) -> tuple[str, int]:
        letter = self.text[at + 1 : at + 2]
        if letter != "u":
            if letter not in _ESCAPES or not letter:
                raise self.syntax(at, "an unknown escape")
            return _ESCAPES[letter], at + 2
        code = self.code(at)
        if not _HIGH <= code < _END:
            return chr(code), at + 6
        # A surrogate means something only as the first of a pair.
        following = self.code(at + 6) if code < _LOW and self.text.startswith("\\u", at + 6) else 0
        if not _LOW <= following < _END:
            raise Rejected(Reason.ENCODING, f"half of a surrogate pair stands alone at {self.place(at)}")
        return chr(0x10000 + ((code - _HIGH) << 10) + (following - _LOW)), at + 12

    def code(self, at: int) -> int:
        digits = _HEX.match(self.text, at + 2)
        if not digits:
            raise self.syntax(at, "four hexadecimal digits are expected after \\u")
        return int(digits.group(), 16)

    def skip(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def plain(self, at: int) -> int:
        found = _PLAIN.match(self.text, at)
        return found.end() if found else at

    def check_depth(self, at: int, depth: int) -> None:
        if depth > self.limits.nesting:
            raise Rejected(Reason.JSON_LIMIT, f"nested deeper than {self.limits.nesting} levels at {self.place(at)}")

    def syntax(self, at: int, what: str) -> Rejected:
        return Rejected(Reason.JSON_SYNTAX, f"{what} at {self.place(at)}")

    def place(self, at: int) -> str:
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        return f"column {column}" if line == 1 else f"line {line} column {column}"
