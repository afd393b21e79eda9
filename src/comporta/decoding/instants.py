"""ISO 8601 text to an instant in UTC and the offset that its clock had.

Text without offset is local time of São Paulo, by the zone rules of the tzdata package (never the machine's own files). Where summer time ended, an hour
came twice: the first one is meant. Where it began, an hour never was: it is read as if the clock had not yet been moved. Java and Spark decide alike.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo

from comporta.decoding.limits import Limits
from comporta.decoding.reasons import Reason, Rejected

_FORM = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ](?P<hour>[0-9]{2}):[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?"
    r"(?P<offset>Z|[+-][0-9]{2}(?::?[0-5][0-9])?)?"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@cache
def sao_paulo() -> ZoneInfo:
    """The zone from the tzdata package: the same on every machine that has the same lock."""
    with files("tzdata.zoneinfo.America").joinpath("Sao_Paulo").open("rb") as rules:
        return ZoneInfo.from_file(rules, key="America/Sao_Paulo")


def microseconds(moment: datetime) -> int:
    """Since the epoch, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def read_instant(text: object, field: str, limits: Limits) -> tuple[int, int]:
    """Microseconds since the epoch in UTC, and minutes that the writer's clock was ahead of UTC."""
    form = _FORM.fullmatch(text) if type(text) is str else None
    if form is None:
        raise Rejected(Reason.TIME_UNREADABLE, "not an ISO 8601 date and time such as 2025-01-31T23:59:59", field)
    moment = _moment(form)
    if moment is None or abs(offset := _minutes(moment)) > limits.utc_offset_minutes:
        raise Rejected(Reason.TIME_IMPOSSIBLE, "no such date, time or offset", field)
    earliest, latest = limits.instants
    # By the year first: at the ends of the calendar nothing can be moved between zones.
    if earliest.year - 1 <= moment.year <= latest.year + 1:
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=sao_paulo()).astimezone(UTC)
            # An hour that never was gets the offset that held at the instant it stands for.
            offset = _minutes(moment.astimezone(sao_paulo()))
        if earliest <= moment < latest:
            return microseconds(moment), offset
    raise Rejected(Reason.TIME_OUT_OF_RANGE, f"not between {limits.earliest[:10]} and {limits.latest[:10]}", field)


def _moment(form: re.Match[str]) -> datetime | None:
    # Later Pythons read 24:00 as the next day's midnight; what a record means must not depend on that.
    if form["hour"] == "24":
        return None
    try:
        return datetime.fromisoformat(form.group())
    except ValueError:
        return None


def _minutes(moment: datetime) -> int:
    offset = moment.utcoffset()
    return 0 if offset is None else offset // timedelta(minutes=1)
