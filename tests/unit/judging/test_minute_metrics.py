"""Decisions counted by minute and level: the money of BRL alone, nothing from the future, and sums that any split leaves as they are."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from comporta.judging.metrics import minute_metrics
from comporta.words.tables import DECISIONS, METRICS_MINUTE

MOMENT = datetime(2025, 1, 15, 13, 30, tzinfo=UTC)


def decisions(rows: list[dict[str, Any]]) -> pa.Table:
    """Decisions of which only what the metrics look at is filled in."""
    columns = [pa.array([row.get(field.name) for row in rows], field.type) for field in DECISIONS]
    return pa.table(columns, names=DECISIONS.names)


def row(seconds: float, level: str, cents: int, **values: Any) -> dict[str, Any]:
    alert = level in {"CRITICAL", "HIGH"}
    return {
        "event_time": MOMENT + timedelta(seconds=seconds),
        "level": level,
        "amount_cents": cents,
        "currency": "BRL",
        "alert": alert,
        "ahead_of_log": False,
        **values,
    }


def test_each_minute_is_counted_in_total_and_by_level_in_key_order() -> None:
    rows = [row(59.999999, "HIGH", 300), row(0, "NORMAL", 100), row(60, "NORMAL", 50)]
    metrics = minute_metrics(decisions(rows))
    assert metrics.schema == METRICS_MINUTE
    names = ("minute", "dimension", "value", "transactions", "amount_cents", "max_amount_cents", "alerts", "alert_amount_cents")
    assert [tuple(found[name] for name in names) for found in metrics.to_pylist()] == [
        (MOMENT, "level", "HIGH", 1, 300, 300, 1, 300),
        (MOMENT, "level", "NORMAL", 1, 100, 100, 0, 0),
        (MOMENT, "total", "", 2, 400, 300, 1, 300),
        (MOMENT + timedelta(minutes=1), "level", "NORMAL", 1, 50, 50, 0, 0),
        (MOMENT + timedelta(minutes=1), "total", "", 1, 50, 50, 0, 0),
    ]


def test_money_counts_brl_only_and_an_unknown_currency_is_none() -> None:
    rows = [row(0, "HIGH", 300, currency="USD"), row(1, "HIGH", 70), row(2, "HIGH", 500, currency=None)]
    total = minute_metrics(decisions(rows)).to_pylist()[-1]
    assert (total["transactions"], total["amount_cents"], total["max_amount_cents"]) == (3, 70, 70)
    assert (total["alerts"], total["alert_amount_cents"]) == (3, 70)


def test_an_event_from_the_future_counts_like_any_other() -> None:
    assert minute_metrics(decisions([row(0, "HIGH", 300, ahead_of_log=True)])).num_rows == 2


def test_no_decisions_are_no_rows() -> None:
    assert minute_metrics(decisions([])).schema == METRICS_MINUTE


ROWS = st.lists(
    st.builds(row, st.integers(0, 300), st.sampled_from(["CRITICAL", "HIGH", "MEDIUM", "LOW", "NORMAL"]), st.integers(0, 10**12)),
    max_size=20,
)


def added(tables: list[pa.Table]) -> dict[tuple[Any, ...], list[int]]:
    sums: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])
    for found in (line for table in tables for line in table.to_pylist()):
        entry = sums[(found["minute"], found["dimension"], found["value"])]
        for place, name in enumerate(("transactions", "amount_cents", "alerts", "alert_amount_cents")):
            entry[place] += found[name]
        entry[4] = max(entry[4], found["max_amount_cents"])
    return sums


@settings(deadline=None)
@given(ROWS, st.integers(0, 20))
def test_adding_up_the_metrics_of_two_batches_gives_those_of_one(rows: list[dict[str, Any]], cut: int) -> None:
    parts = [minute_metrics(decisions(rows[:cut])), minute_metrics(decisions(rows[cut:]))]
    assert added(parts) == added([minute_metrics(decisions(rows))])
