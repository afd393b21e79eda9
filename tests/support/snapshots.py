"""Values that the page's tests are written with: a moment, and what is known at it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from comporta.dashboard.recent import WINDOW, Recent
from comporta.dashboard.snapshot import Ends, Health, Snapshot
from comporta.postgres.page_queries import Alert, Commit, Owner, Position, Reading, Seen, Totals

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
# The monotonic time at which NOON was read.
NOW = 1_000.0
TOPIC = UUID(int=7)


def before(seconds: float) -> datetime:
    return NOON - timedelta(seconds=seconds)


def commit(
    ago: float,
    transactions: int = 0,
    *,
    batch: int | None = None,
    partition: int = 0,
    waits: tuple[float, float] | None = None,
    **levels: int,
) -> Commit:
    """So many transactions committed so many seconds before NOON; those of a level are named, the rest is NORMAL."""
    alerts = levels.get("CRITICAL", 0) + levels.get("HIGH", 0)
    rest = transactions - sum(levels.values())
    typical, longest = waits or (None, None)
    return Commit(
        batch=round(-ago * 1000) if batch is None else batch,
        partition=partition,
        committed_at=before(ago),
        transactions=transactions,
        alerts=alerts,
        amount_cents=100 * transactions,
        alert_amount_cents=100 * alerts,
        levels=dict(levels) | {"NORMAL": rest},
        typical_wait=typical,
        longest_wait=longest,
    )


def owner(*, alive: bool = True, since: datetime = NOON - timedelta(hours=2)) -> Owner:
    return Owner(TOPIC, "transactions", 4711, "host", since, alive)


def healthy(
    *,
    positions: Mapping[int, int] | None = None,
    ends: Mapping[int, tuple[int, int]] | None = None,
    commits: tuple[Commit, ...] = (),
    known_since: datetime = NOON - 2 * WINDOW,
    totals: Totals | None = None,
    last_commit: datetime | None = None,
) -> Snapshot:
    """At NOON the line runs and both sources answer; positions and ends are those of one partition without lag unless given."""
    places = {0: 100} if positions is None else positions
    last = last_commit or (commits[-1].committed_at if commits else before(3600))
    reading = Reading(
        at=NOON, owner=owner(), positions=tuple(Position(number, place, before(30)) for number, place in places.items()), last_commit=last
    )
    memory = Recent(Seen(TOPIC, dict(places)), totals or Totals(), commits, known_since, last, moved_at=before(1))
    return Snapshot(
        line="line",
        topic="transactions",
        database=Health(NOW),
        kafka=Health(NOW),
        reading=reading,
        read_at=NOW,
        memory=memory,
        ends=Ends({0: (0, 100)} if ends is None else ends, places),
    )


def stopped(snapshot: Snapshot) -> Snapshot:
    """The same, but nobody holds the line's lock."""
    assert snapshot.reading is not None
    return replace(snapshot, reading=replace(snapshot.reading, owner=owner(alive=False)))


def alert(number: int = 1, **changes: object) -> Alert:
    plain = Alert(
        partition=0,
        offset=number,
        transaction_id=f"T{number}",
        customer_id="C1",
        event_time=NOON,
        type="PIX",
        channel="MOBILE_APP",
        merchant_name="Padaria",
        amount_cents=731_000,
        currency="BRL",
        score=92.5,
        level="CRITICAL",
        action="BLOCK",
        message_score=80.0,
        reasons='[{"rule":"is_pix_new_beneficiary","points":25,"values":{"type":"PIX","classic_new_beneficiary":true}}]',
        pack="classic-v1",
        pack_version=1,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]  # the fields of an Alert, by name
