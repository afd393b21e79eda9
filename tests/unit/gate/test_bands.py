"""The engineers' limits of lag: 10,000, 50,000, 500,000."""

import pytest

from comporta.gate.bands import NOTES, Band, band


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (None, Band.UNKNOWN),
        (0, Band.NONE),
        (1, Band.SMALL),
        (9_999, Band.SMALL),
        (10_000, Band.INVESTIGATE),
        (50_000, Band.INVESTIGATE),
        (50_001, Band.LARGE),
        (132_088, Band.LARGE),
        (500_000, Band.LARGE),
        (500_001, Band.CRITICAL),
        (3_000_000, Band.CRITICAL),
    ],
)
def test_a_lag_lies_in_its_band(messages: int | None, expected: Band) -> None:
    assert band(messages) is expected


def test_every_band_has_a_note() -> None:
    assert set(NOTES) == set(Band)


def test_no_note_advises_to_delete_anything() -> None:
    assert not any(word in note for note in NOTES.values() for word in ("start over", "clear", "delete it"))
