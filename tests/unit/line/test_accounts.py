"""Every offset of a batch is accounted for, or nothing of it is committed."""

from typing import Any

import pytest

from comporta.line.accounts import Planned, planned_steps, settle
from comporta.words.batches import LedgerRow
from comporta.words.errors import DamagedState, DataLoss


def account(partition: int = 0, first: int = 10, last: int = 19, **changes: Any) -> dict[str, Any]:
    return {
        "partition": partition,
        "first_offset": first,
        "last_offset": last,
        "transactions": last - first + 1,
        "dead_letters": 0,
        "duplicates": 0,
        "tombstones": [],
        "gaps": [],
        "clock_us": 5,
        "last_hash": b"h" * 16,
    } | changes


LEDGER = {0: LedgerRow(10, clock_us=3, last_offset=9, last_hash=b"g" * 16)}
PLAN = [Planned(0, 10, 20)]


def test_a_batch_starts_where_the_ledger_stands_and_a_new_partition_at_zero() -> None:
    assert planned_steps(LEDGER, {0: 20, 1: 7}) == [Planned(0, 10, 20), Planned(1, 0, 7)]


def test_a_plan_that_ends_before_the_ledger_is_refused() -> None:
    with pytest.raises(DamagedState, match="before the ledger's position 10"):
        planned_steps(LEDGER, {0: 9})


def test_a_full_account_becomes_a_step_with_clock_and_last_record() -> None:
    (step,) = settle("t", LEDGER, PLAN, [account(transactions=8, tombstones=[12, 14])])
    assert (step.from_offset, step.to_offset, step.transactions, step.tombstones) == (10, 20, 8, 2)
    assert (step.tombstone_offsets, step.clock_us, step.last_offset, step.last_hash) == (((12, 14),), 5, 19, b"h" * 16)


@pytest.mark.parametrize(
    ("accounts", "missing"),
    [
        ([], "[10, 20)"),
        ([account(first=12)], "[10, 12)"),
        ([account(last=17)], "[18, 20)"),
        ([account(gaps=[13, 15])], "[13, 15)"),
        ([account(first=11, last=18, gaps=[13, 15])], "[10, 11), [13, 15), [19, 20)"),
    ],
    ids=["nobody answered", "hole at the start", "hole at the end", "hole in the middle", "three holes"],
)
def test_an_offset_that_nobody_saw_is_a_loss_with_its_exact_range(accounts: list[dict[str, Any]], missing: str) -> None:
    with pytest.raises(DataLoss) as loss:
        settle("t", LEDGER, PLAN, accounts)
    assert missing in str(loss.value)


@pytest.mark.parametrize("accounts", [[account(first=9)], [account(last=20)], [account(), account()], [account(partition=3)]])
def test_an_account_of_other_offsets_than_planned_is_refused(accounts: list[dict[str, Any]]) -> None:
    with pytest.raises(DamagedState):
        settle("t", LEDGER, PLAN, accounts)


def test_a_partition_without_news_makes_no_step_but_a_new_one_is_entered_at_zero() -> None:
    steps = settle("t", LEDGER, [Planned(0, 10, 10), Planned(1, 0, 0)], [])
    assert [(step.partition, step.from_offset, step.to_offset) for step in steps] == [(1, 0, 0)]
