"""How large, deep and long a record may be; another value here is another reading of the log, so it is recorded as a control event."""

from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property


@dataclass(frozen=True)
class Limits:
    """What decoding accepts at most. Everything beyond is a dead letter or an invalid field, never a guess."""

    value_bytes: int = 262_144
    nesting: int = 16
    number_characters: int = 100
    id_characters: int = 128
    text_characters: int = 1_000
    amount_cents: int = 999_999_999_999
    accumulated_cents: int = 999_999_999_999_999
    count: int = 2_147_483_647
    score: int = 1_000_000
    installments: int = 99
    # First instant accepted and first one no longer accepted, in UTC.
    earliest: str = "1970-01-01T00:00:00+00:00"
    latest: str = "2100-01-01T00:00:00+00:00"
    utc_offset_minutes: int = 14 * 60
    # An event further ahead of its append time than this is flagged and stays outside all windows.
    ahead_minutes: int = 15

    @cached_property
    def instants(self) -> tuple[datetime, datetime]:
        """`earliest` and `latest` as instants."""
        return datetime.fromisoformat(self.earliest), datetime.fromisoformat(self.latest)

    def document(self) -> dict[str, int | str]:
        """The limits as the value of a control event."""
        return asdict(self)


LIMITS = Limits()
