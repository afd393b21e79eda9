"""Decisions counted by the minute of their event, for the pages and the real-time views."""

import polars as pl
import pyarrow as pa

from comporta.words.tables import METRICS_MINUTE

_KEYS = ["minute", "dimension", "value"]


def minute_metrics(decisions: pa.Table) -> pa.Table:
    """One row (METRICS_MINUTE) per minute in total and per minute and level, in key order; sums over any split of the decisions are the same.

    Money counts BRL only. Every decision is in, also one whose event claims to come from the future.
    """
    columns = ["event_time", "currency", "amount_cents", "level", "alert"]
    frame = pl.DataFrame(decisions.select(columns)).with_columns(
        minute=pl.col("event_time").dt.truncate("1m"),
        reais=pl.when(pl.col("currency") == "BRL").then("amount_cents").otherwise(0),
    )
    total = _counted(frame, pl.lit("total"), pl.lit(""))
    levels = _counted(frame, pl.lit("level"), pl.col("level"))
    return pl.concat([total, levels]).sort(_KEYS).to_arrow().cast(METRICS_MINUTE)


def _counted(frame: pl.DataFrame, dimension: pl.Expr, value: pl.Expr) -> pl.DataFrame:
    return (
        frame.with_columns(dimension=dimension, value=value)
        .group_by(_KEYS)
        .agg(
            transactions=pl.len().cast(pl.Int64),
            amount_cents=pl.col("reais").sum(),
            max_amount_cents=pl.col("reais").max(),
            alerts=pl.col("alert").sum().cast(pl.Int64),
            alert_amount_cents=pl.col("reais").filter(pl.col("alert")).sum(),
        )
    )
