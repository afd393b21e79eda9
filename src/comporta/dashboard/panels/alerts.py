"""The latest alerts, each with its reasons in words."""

from dataclasses import dataclass

from comporta.dashboard import phrases
from comporta.dashboard.explain import Explain
from comporta.dashboard.snapshot import Snapshot
from comporta.postgres.page_queries import Alert
from comporta.words.levels import Level


@dataclass(frozen=True)
class Reason:
    text: str
    points: str


@dataclass(frozen=True)
class AlertRow:
    id: str
    level: str
    action: str
    score: str
    at_ms: int
    amount: str
    kind: str
    place: str
    customer: str
    transaction: str
    where: str
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class Alerts:
    levels: tuple[str, ...]
    rows: tuple[AlertRow, ...]
    known: bool


def view(explain: Explain, snapshot: Snapshot, _now: float) -> Alerts:
    """The latest alerts, newest first, and the levels that can be chosen among."""
    found = snapshot.alerts
    always = {Level.CRITICAL, Level.HIGH}
    offered = tuple(level for level in Level if level in always or any(alert.level == level for alert in found))
    return Alerts(levels=offered, rows=tuple(_alert_row(alert, explain) for alert in found), known=snapshot.reading is not None)


def _alert_row(alert: Alert, explain: Explain) -> AlertRow:
    place = " · ".join(part for part in (phrases.channel(alert.channel), alert.merchant_name or "") if part)
    return AlertRow(
        id=f"{alert.partition}@{alert.offset}",
        level=alert.level,
        action=phrases.action(alert.action),
        score=phrases.score(alert.score),
        at_ms=round(alert.event_time.timestamp() * 1000),
        amount=phrases.exact_money(alert.amount_cents, alert.currency),
        kind=phrases.kind(alert.type),
        place=place,
        customer=alert.customer_id,
        transaction=alert.transaction_id,
        where=f"partition {alert.partition}, offset {alert.offset:,}",
        reasons=tuple(Reason(text, points) for text, points in explain(alert)),
    )
