"""Transactions to decisions: which rules of a pack hold, what they add up to, which level that is and what follows.

Each row is judged by itself and its customer's memory: the same row gives the same decision alone and among a hundred thousand.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from comporta.judging.packs import Pack, compiled
from comporta.judging.reasons import reasons_column
from comporta.judging.scoring import half_up
from comporta.words.tables import DECISIONS


@dataclass(frozen=True)
class References:
    """What judging needs besides the log, each with its version recorded in the decision."""

    pack: Pack


@dataclass(frozen=True)
class Judged:
    """The decisions, row by row those of the transactions, and the memory as it is after them."""

    decisions: pa.Table
    memory: pa.Table


# Columns of a decision that are columns of the transaction under another name.
_RENAMED = {
    "mcc_risk_level": "classic_mcc_risk_level",
    "new_payee": "classic_new_beneficiary",
    "distance_km": "classic_distance_km",
    "transactions_24h": "classic_transactions_24h",
    "accumulated_24h_cents": "classic_accumulated_24h_cents",
    "message_score": "classic_fraud_score",
    "message_is_fraud": "classic_is_fraud",
    "message_fraud_type": "classic_fraud_type",
}
_JUMP = "is_location_jump"


def judge(transactions: pa.Table, memory: pa.Table, references: References) -> Judged:
    """Decides on each transaction (TRANSACTIONS, in offset order) by the references and what is remembered (MEMORY)."""
    pack = references.pack
    fired, base = _evaluate(transactions, pack)
    points = np.zeros(transactions.num_rows, dtype=np.int64)
    for rule, rows in zip(pack.rules, fired, strict=True):
        points += rule.points * rows
    scores = half_up(base + pack.weight * points, pack.decimals)
    steps = _steps(scores, pack)
    made = {
        "location_jump": _jumped(transactions, pack, fired),
        "score": pa.array(scores, pa.float64()),
        "level": pa.array([step.level.value for step in pack.levels]).take(steps),
        "action": pa.array([step.action.value for step in pack.levels]).take(steps),
        "alert": pa.array([step.alert for step in pack.levels]).take(steps),
        "reasons": reasons_column(transactions, pack, fired),
        "pack": pa.repeat(pa.scalar(pack.name), transactions.num_rows),
        "pack_version": pa.repeat(pa.scalar(pack.version, pa.int32()), transactions.num_rows),
        "model_version": pa.nulls(transactions.num_rows, pa.string()),
    }
    columns = [made[name] if name in made else transactions.column(_RENAMED.get(name, name)) for name in DECISIONS.names]
    return Judged(pa.Table.from_arrays(columns, schema=DECISIONS), memory)


def _evaluate(transactions: pa.Table, pack: Pack) -> tuple[list[NDArray[np.bool_]], NDArray[np.float64]]:
    """Per rule the rows on which it holds, a null counting as false, and per row the base of the score, a null counting as 0."""
    expressions = compiled(pack)
    frame = pl.DataFrame(transactions.select(list(expressions.fields)))
    conditions = [
        condition.fill_null(value=False).alias(rule.id) for rule, condition in zip(pack.rules, expressions.conditions, strict=True)
    ]
    answers = frame.select(conditions)
    fired = [answers[rule.id].to_numpy() for rule in pack.rules]
    if expressions.base is None:
        return fired, np.zeros(transactions.num_rows)
    base = frame.select(expressions.base.cast(pl.Float64).fill_null(0.0).alias("base"))["base"]
    return fired, base.to_numpy()


def _steps(scores: NDArray[np.float64], pack: Pack) -> pa.Array:
    """Per row the place of its level in the pack. A score that is not a number counts as above all, as in SQL."""
    places = np.full(len(scores), len(pack.levels) - 1, dtype=np.int64)
    for place, step in reversed(list(enumerate(pack.levels))):
        if step.at_least is not None:
            places[~(scores < step.at_least)] = place
    return pa.array(places)


def _jumped(transactions: pa.Table, pack: Pack, fired: list[NDArray[np.bool_]]) -> pa.Array:
    for rule, rows in zip(pack.rules, fired, strict=True):
        if rule.id == _JUMP:
            return pa.array(rows, pa.bool_())
    return pa.nulls(transactions.num_rows, pa.bool_())
