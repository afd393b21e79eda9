"""The log is compared with the ledger before a query starts: what no longer fits stops the line with one sentence."""

from dataclasses import replace
from uuid import UUID

import pytest

from comporta.line.reconcile import LogView, reconcile
from comporta.words.batches import LedgerRow
from comporta.words.errors import DataLoss, Setup

ID, OTHER = UUID(int=1), UUID(int=2)
HASH = b"h" * 16
LEDGER = {0: LedgerRow(10, clock_us=3, last_offset=9, last_hash=HASH)}
VIEW = LogView(topic="t", topic_id=ID, earliest={0: 0}, latest={0: 25}, last_hashes={0: HASH})


@pytest.mark.parametrize(
    ("ledger", "view"),
    [
        (LEDGER, VIEW),
        (LEDGER, replace(VIEW, latest={0: 10})),
        (LEDGER, replace(VIEW, earliest={0: 10}, last_hashes={0: None})),
        (LEDGER, replace(VIEW, earliest={0: 0, 1: 0}, latest={0: 25, 1: 4})),
        ({0: LedgerRow(10)}, replace(VIEW, last_hashes={})),
    ],
    ids=["in the middle", "caught up", "the last record has aged away after it was judged", "a partition was added", "a new line"],
)
def test_a_log_that_continues_the_ledger_is_let_through(ledger: dict[int, LedgerRow], view: LogView) -> None:
    assert reconcile(ID, ledger, view) is None


@pytest.mark.parametrize(
    ("view", "says"),
    [
        (replace(VIEW, topic_id=OTHER), str(OTHER)),
        (replace(VIEW, latest={0: 7}), "[7, 10) is gone"),
        (replace(VIEW, earliest={0: 14}), "[10, 14), 4 messages"),
        (replace(VIEW, last_hashes={0: b"x" * 16}), "offset 9 is not the one"),
        (replace(VIEW, last_hashes={0: None}), "offset 9 is not the one"),
        (replace(VIEW, earliest={0: 0, 1: 5}, latest={0: 25, 1: 9}), "t-1: retention has passed the reader: [0, 5)"),
        (replace(VIEW, earliest={}, latest={}), "the partition is gone"),
    ],
    ids=[
        "topic recreated",
        "log cut",
        "retention passed",
        "cut and grown again",
        "last record gone",
        "new partition already cut",
        "partition gone",
    ],
)
def test_a_log_that_lost_something_is_refused_with_the_range(view: LogView, says: str) -> None:
    problem = reconcile(ID, LEDGER, view)
    assert isinstance(problem, DataLoss)
    assert says in str(problem)


def test_a_compacted_topic_is_refused() -> None:
    assert isinstance(reconcile(ID, LEDGER, replace(VIEW, compacted=True)), Setup)
