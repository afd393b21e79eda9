"""Which control event a record obeys."""

from datetime import UTC, datetime

import pytest

from comporta.postgres.control import StoredEvent, holding_at

AT = datetime(2026, 3, 1, tzinfo=UTC)
EVENTS = [
    StoredEvent("pack_activated", "first", {0: 0, 1: 0}, "ana", 1, AT),
    StoredEvent("dedupe_window", 14, {0: 0, 1: 0}, "ana", 2, AT),
    StoredEvent("pack_activated", "second", {0: 100, 1: 50}, "eva", 3, AT),
    StoredEvent("pack_activated", "corrected at once", {0: 100, 1: 50}, "eva", 4, AT),
]


@pytest.mark.parametrize(
    ("kind", "partition", "offset", "value"),
    [
        pytest.param("pack_activated", 0, 0, "first", id="from the first record on"),
        pytest.param("pack_activated", 0, 99, "first", id="up to the last record before the change"),
        pytest.param("pack_activated", 0, 100, "corrected at once", id="at the change, the later of two"),
        pytest.param("pack_activated", 1, 60, "corrected at once", id="each partition has its own offset"),
        pytest.param("pack_activated", 7, 0, "corrected at once", id="a partition that came later obeys from its first record"),
        pytest.param("dedupe_window", 1, 10**9, 14, id="only events of the kind count"),
        pytest.param("decode_limits", 0, 5, None, id="none of this kind"),
    ],
)
def test_a_record_obeys_the_latest_event_that_is_not_after_it(kind: str, partition: int, offset: int, value: object) -> None:
    event = holding_at(EVENTS, kind, partition, offset)
    assert (event.value if event else None) == value
