"""The figures that are looked at first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from comporta.dashboard import phrases
from comporta.dashboard.lags import TONES, line_lag
from comporta.dashboard.panels.rates import rates_now
from comporta.dashboard.snapshot import Snapshot
from comporta.gate.bands import Band
from comporta.gate.lag import Lag
from comporta.postgres.page_queries import Commit

_WAITS = timedelta(minutes=1)


@dataclass(frozen=True)
class Tile:
    """One figure with its unit and a line that puts it into proportion."""

    key: str
    label: str
    value: str
    unit: str
    note: str
    tone: str = ""
    exact: str = ""


@dataclass(frozen=True)
class Headline:
    tiles: tuple[Tile, ...]


def view(snapshot: Snapshot, now: float) -> Headline:
    memory = snapshot.memory
    away = snapshot.database.silent_for(now) is not None
    transactions, alerts_now = (None, None) if away else rates_now(snapshot, now)
    totals = memory.totals if memory else None
    return Headline(
        tiles=(
            Tile(
                "transactions",
                "Transactions",
                phrases.rate(transactions),
                "per second",
                f"{phrases.count(totals.transactions if totals else None)} judged in all",
                exact=f"{totals.transactions:,}" if totals else "",
            ),
            Tile(
                "alerts",
                "Alerts",
                phrases.rate(alerts_now),
                "per second",
                f"{phrases.count(totals.alerts)} in all, {phrases.share(totals.alerts, totals.transactions)}"
                if totals
                else f"{phrases.UNKNOWN} in all",
                exact=f"{totals.alerts:,}" if totals else "",
            ),
            Tile(
                "amount",
                "Amount judged",
                phrases.money(totals.amount_cents if totals else None),
                "",
                f"{phrases.money(totals.alert_amount_cents if totals else None)} of it in alerts; BRL only",
                exact=phrases.exact_money(totals.amount_cents, "BRL") if totals else "",
            ),
            _wait_tile(snapshot, now, away=away),
            _lag_tile(line_lag(snapshot, now)),
        )
    )


def _wait_tile(snapshot: Snapshot, now: float, *, away: bool) -> Tile:
    clock = snapshot.clock(now)
    typical, longest = (None, None)
    if clock is not None and snapshot.memory is not None and not away:
        typical, longest = waits(snapshot.memory.commits, clock - _WAITS)
    note = f"typical of the last minute; longest {phrases.span(longest)}" if typical is not None else "nothing committed in the last minute"
    if away or snapshot.memory is None:
        note = "unknown"
    return Tile("wait", "Append to commit", phrases.span(typical), "", note)


def _lag_tile(lag: Lag) -> Tile:
    if lag.messages is None:
        return Tile("lag", "Lag", phrases.UNKNOWN, "", "unknown", tone=TONES[Band.UNKNOWN])
    late = "nothing waits" if lag.messages == 0 else f"{phrases.span(lag.seconds)} behind"
    unit = "message" if lag.messages == 1 else "messages"
    return Tile("lag", "Lag", phrases.count(lag.messages), unit, late, tone=TONES[lag.band], exact=f"{lag.messages:,}")


def waits(commits: Sequence[Commit], since: datetime) -> tuple[float | None, float | None]:
    """The typical and the longest wait from append to commit: a median of medians, each weighing as much as its rows."""
    counted = sorted(
        (commit.typical_wait, commit.transactions, commit.longest_wait or 0.0)
        for commit in commits
        if commit.committed_at >= since and commit.typical_wait is not None and commit.transactions
    )
    if not counted:
        return None, None
    half, seen = sum(rows for _, rows, _ in counted) / 2, 0
    for typical, rows, _ in counted:
        seen += rows
        if seen >= half:
            return typical, max(longest for _, _, longest in counted)
    raise AssertionError("half of the rows come before the last of them")
