"""Why a record became a dead letter; docs/dead-letters.md says what each reason means and what to do about it."""

from enum import StrEnum


class Reason(StrEnum):
    """In the order in which a record is looked at; the first that holds is the one that is named."""

    EMPTY = "EMPTY"
    AVRO_MAGIC = "AVRO_MAGIC"
    TOO_LARGE = "TOO_LARGE"
    ENCODING = "ENCODING"
    JSON_LIMIT = "JSON_LIMIT"
    JSON_SYNTAX = "JSON_SYNTAX"
    JSON_DUPLICATE_KEY = "JSON_DUPLICATE_KEY"
    JSON_TRAILING = "JSON_TRAILING"
    MISSING_FIELD = "MISSING_FIELD"
    ID_NOT_TEXT = "ID_NOT_TEXT"
    ID_BLANK = "ID_BLANK"
    ID_TOO_LONG = "ID_TOO_LONG"
    ID_CONTROL_CHARACTER = "ID_CONTROL_CHARACTER"
    TIME_UNREADABLE = "TIME_UNREADABLE"
    TIME_IMPOSSIBLE = "TIME_IMPOSSIBLE"
    TIME_OUT_OF_RANGE = "TIME_OUT_OF_RANGE"
    TYPE_UNKNOWN = "TYPE_UNKNOWN"
    AMOUNT_NOT_A_NUMBER = "AMOUNT_NOT_A_NUMBER"
    AMOUNT_NOT_FINITE = "AMOUNT_NOT_FINITE"
    AMOUNT_NEGATIVE = "AMOUNT_NEGATIVE"
    AMOUNT_TOO_LARGE = "AMOUNT_TOO_LARGE"


class Rejected(Exception):
    """The record is a dead letter. `detail` says where and why, and never holds a value of the record."""

    def __init__(self, reason: Reason, detail: str, field: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.detail, self.field = reason, detail, field
