"""Crash points fire only in tests; Spark's planned offsets are read or refused, never guessed."""

import pytest

from comporta.line.crash import crash_hook
from comporta.line.offsets import parse_offsets, starting_offsets
from comporta.words.errors import DamagedState, Setup


def test_a_crash_point_outside_test_mode_is_refused() -> None:
    with pytest.raises(Setup, match="outside test mode"):
        crash_hook("after_copy", test_mode=False)


@pytest.mark.parametrize("wish", ["nowhere", "after_copy:x", "after_copy:1:dance"])
def test_an_unknown_crash_point_is_refused(wish: str) -> None:
    with pytest.raises(Setup, match="no crash point"):
        crash_hook(wish, test_mode=True)


def test_without_a_wish_nothing_happens_at_any_point() -> None:
    crash_hook(None, test_mode=False)("after_copy")


def test_the_planned_ends_are_the_last_line_of_the_offset_file() -> None:
    assert parse_offsets('v1\n{"batchWatermarkMs":0}\n{"t":{"1":7,"0":12}}', "t", "offsets/3") == {0: 12, 1: 7}


@pytest.mark.parametrize("text", ["", "v1\n{}\n-", 'v1\n{}\n{"other":{"0":1}}', 'v1\n{}\n{"t":{"0":null}}', "v1\n{}\n[1]"])
def test_a_damaged_offset_file_is_refused(text: str) -> None:
    with pytest.raises(DamagedState, match="offsets/3: the batch's planned offsets"):
        parse_offsets(text, "t", "offsets/3")


def test_the_query_starts_where_the_ledger_stands() -> None:
    assert starting_offsets("t", {1: 5, 0: 9}) == '{"t": {"0": 9, "1": 5}}'
