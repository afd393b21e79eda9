"""ISO 8601 text to an instant: São Paulo's clock by tzdata, its doubled and missing hours, explicit offsets, nonsense."""

from datetime import UTC, datetime

import pytest

from comporta.decoding.instants import read_instant
from comporta.decoding.limits import LIMITS
from comporta.decoding.reasons import Reason, Rejected

READ = [
    # a sentence, the text, the same in UTC, minutes ahead of UTC
    ("winter and summer alike since 2019", "2025-01-15T10:30:00", "2025-01-15T13:30:00", -180),
    ("summer time while there was one", "2018-12-15T10:30:00", "2018-12-15T12:30:00", -120),
    ("winter in the same years", "2018-07-15T10:30:00", "2018-07-15T13:30:00", -180),
    ("an hour that never was: as if the clock had not been moved yet", "2018-11-04T00:30:00", "2018-11-04T03:30:00", -120),
    ("the first hour of summer time", "2018-11-04T01:00:00", "2018-11-04T03:00:00", -120),
    ("an hour that came twice: the first one", "2019-02-16T23:30:00", "2019-02-17T01:30:00", -120),
    ("the hour after it", "2019-02-17T00:00:00", "2019-02-17T03:00:00", -180),
    ("with microseconds", "2025-01-15T10:30:00.123456", "2025-01-15T13:30:00.123456", -180),
    ("with milliseconds", "2025-01-15T10:30:00.5", "2025-01-15T13:30:00.500000", -180),
    ("nanoseconds are cut", "2025-01-15T10:30:00.123456999", "2025-01-15T13:30:00.123456", -180),
    ("without seconds", "2025-01-15T10:30", "2025-01-15T13:30:00", -180),
    ("with a blank instead of the T", "2025-01-15 10:30:00", "2025-01-15T13:30:00", -180),
    ("UTC", "2025-01-15T10:30:00Z", "2025-01-15T10:30:00", 0),
    ("an offset", "2025-01-15T10:30:00+05:30", "2025-01-15T05:00:00", 330),
    ("an offset without colon", "2025-01-15T10:30:00-0400", "2025-01-15T14:30:00", -240),
    ("an offset of hours", "2025-01-15T10:30:00-04", "2025-01-15T14:30:00", -240),
    ("a leap day", "2024-02-29T00:00:00Z", "2024-02-29T00:00:00", 0),
    ("the first instant", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00", 0),
    ("the last instant", "2099-12-31T23:59:59.999999Z", "2099-12-31T23:59:59.999999", 0),
]


@pytest.mark.parametrize(("text", "utc", "minutes"), [row[1:] for row in READ], ids=[row[0] for row in READ])
def test_a_time_is_read_as(text: str, utc: str, minutes: int) -> None:
    instant, offset = read_instant(text, "timestamp", LIMITS)
    assert datetime.fromtimestamp(instant // 1_000_000, UTC).replace(
        microsecond=instant % 1_000_000, tzinfo=None
    ) == datetime.fromisoformat(utc)
    assert offset == minutes


REFUSED = [
    ("", Reason.TIME_UNREADABLE),
    ("2025-01-15", Reason.TIME_UNREADABLE),
    ("2025-01-15T10", Reason.TIME_UNREADABLE),
    ("20250115T103000", Reason.TIME_UNREADABLE),
    ("2025-W03-3T10:30:00", Reason.TIME_UNREADABLE),
    ("15/01/2025 10:30:00", Reason.TIME_UNREADABLE),
    ("2025-01-15T10:30:00 -03:00", Reason.TIME_UNREADABLE),
    ("2025-01-15T10:30:00 BRT", Reason.TIME_UNREADABLE),
    ("2025-01-15T10:30:00\n", Reason.TIME_UNREADABLE),
    ("\uff12\uff1025-01-15T10:30:00", Reason.TIME_UNREADABLE),
    ("2025-01-15T10:30:00.", Reason.TIME_UNREADABLE),
    ("2025-01-15T10:30:00+05:75", Reason.TIME_UNREADABLE),
    ("+12025-01-15T10:30:00", Reason.TIME_UNREADABLE),
    ("1736937000", Reason.TIME_UNREADABLE),
    (1736937000, Reason.TIME_UNREADABLE),
    (None, Reason.TIME_UNREADABLE),
    (["2025-01-15T10:30:00"], Reason.TIME_UNREADABLE),
    ("2025-02-30T10:30:00", Reason.TIME_IMPOSSIBLE),
    ("2025-13-01T10:30:00", Reason.TIME_IMPOSSIBLE),
    ("2023-02-29T10:30:00", Reason.TIME_IMPOSSIBLE),
    ("2025-01-15T24:00:00", Reason.TIME_IMPOSSIBLE),
    ("2025-01-15T10:60:00", Reason.TIME_IMPOSSIBLE),
    ("2016-12-31T23:59:60Z", Reason.TIME_IMPOSSIBLE),
    ("2025-01-15T10:30:00+99:00", Reason.TIME_IMPOSSIBLE),
    ("2025-01-15T10:30:00+14:01", Reason.TIME_IMPOSSIBLE),
    ("0000-01-15T10:30:00", Reason.TIME_IMPOSSIBLE),
    ("0001-01-01T00:00:00", Reason.TIME_OUT_OF_RANGE),
    ("0001-01-01T00:00:00+14:00", Reason.TIME_OUT_OF_RANGE),
    ("9999-12-31T23:59:59", Reason.TIME_OUT_OF_RANGE),
    ("1969-12-31T23:59:59Z", Reason.TIME_OUT_OF_RANGE),
    ("2100-01-01T00:00:00Z", Reason.TIME_OUT_OF_RANGE),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_a_time_is_refused(text: object, reason: Reason) -> None:
    with pytest.raises(Rejected) as refused:
        read_instant(text, "timestamp", LIMITS)
    assert (refused.value.reason, refused.value.field) == (reason, "timestamp")


def test_the_machines_own_zone_files_are_never_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("PYTHONTZPATH", "/nowhere")
    assert read_instant("2018-12-15T10:30:00", "timestamp", LIMITS)[1] == -120
