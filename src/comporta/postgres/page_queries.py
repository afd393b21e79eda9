"""What the page reads, as plain functions over one connection of the reader role.

The ledger is the clock of all of it: a look asks for what was committed behind the positions that the page has seen, by the primary
keys, so it costs what the line has done in between and not what the tables hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from comporta.postgres.connections import Connection, connect
from comporta.postgres.failures import told
from comporta.postgres.ownership import holder
from comporta.words.levels import Level

# A look that would have to read more decisions than this starts anew: totals from the minute metrics, commits as far back as this reaches.
MOST_ROWS = 500_000
# The alerts among which each level's latest are looked for.
_ALERTS_SEARCHED = 1_000
# Answers come in milliseconds, so that neither compiling them nor a second process pays; whoever waits for seconds had better say so.
_SESSION = (
    "set statement_timeout = '5s'",
    "set jit = off",
    "set max_parallel_workers_per_gather = 0",
    "set plan_cache_mode = force_custom_plan",
)


@dataclass(frozen=True)
class Owner:
    """Whose line it is. `alive`: its session still holds the lock."""

    topic_id: UUID
    topic: str
    pid: int
    host: str
    since: datetime
    alive: bool


@dataclass(frozen=True)
class Position:
    """How far the line has come in one partition; `clock` is the largest append time it has seen there."""

    partition: int
    next_offset: int
    clock: datetime | None


@dataclass(frozen=True)
class Commit:
    """What one batch did in one partition. Waits are seconds from the append to the commit: the typical one and the longest."""

    batch: int
    partition: int
    committed_at: datetime
    transactions: int
    alerts: int
    amount_cents: int
    alert_amount_cents: int
    levels: Mapping[str, int]
    typical_wait: float | None
    longest_wait: float | None


@dataclass(frozen=True)
class Totals:
    """All that the line ever judged. Money counts BRL only."""

    transactions: int = 0
    amount_cents: int = 0
    alerts: int = 0
    alert_amount_cents: int = 0
    levels: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Alert:
    """One alert as it is stored; `reasons` is the JSON text that judging wrote."""

    partition: int
    offset: int
    transaction_id: str
    customer_id: str
    event_time: datetime
    type: str
    channel: str | None
    merchant_name: str | None
    amount_cents: int
    currency: str | None
    score: float
    level: str
    action: str
    message_score: float | None
    reasons: str
    pack: str
    pack_version: int


@dataclass(frozen=True)
class Reading:
    """One look, all of it as of one instant.

    With `totals` it starts anew: they hold everything up to now, and `commits` reach back to `known_since`. Without, `commits` are
    what came behind the positions that were given. `alerts` is None when there can be no new ones.
    """

    at: datetime
    owner: Owner | None = None
    positions: tuple[Position, ...] = ()
    last_commit: datetime | None = None
    commits: tuple[Commit, ...] = ()
    totals: Totals | None = None
    known_since: datetime | None = None
    alerts: tuple[Alert, ...] | None = None


@dataclass(frozen=True)
class Done:
    """What was done since an instant, beside the decisions: and of those, the alerts of the highest scores."""

    dead_letters: int
    duplicates: int
    top_alerts: tuple[Alert, ...]


@dataclass(frozen=True)
class Seen:
    """How far the page has read: which topic, and the position in each of its partitions."""

    topic_id: UUID
    positions: Mapping[int, int]


@dataclass(frozen=True)
class Wanted:
    """What a look is for: where, which line, how far back the first one reaches, and how many alerts of each level it brings."""

    dsn: str = field(repr=False)
    line: str
    window: timedelta
    alerts_per_level: int


def open_reader(dsn: str) -> Connection:
    """A connection that only reads, each look of it as of one instant, and that gives up rather than wait."""
    connection = connect(dsn, "comporta dashboard", autocommit=True, read_only=True)
    with told(dsn):
        for setting in _SESSION:
            connection.execute(setting.encode())
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    return connection


def look(connection: Connection, wanted: Wanted, seen: Seen | None) -> Reading:
    """One look at a line: what is new behind `seen`, or everything of the window when that cannot be told from it."""
    with told(wanted.dsn):
        try:
            with connection.transaction():
                return _look(connection, wanted, seen)
        except psycopg.errors.UndefinedTable:
            # An empty database: the first `comporta stream` migrates it.
            return Reading(_rows(connection, "select clock_timestamp() as at")[0]["at"])


def done_since(connection: Connection, wanted: Wanted, since: datetime) -> Done:
    """What a line has done since an instant; `alerts_per_level` is then how many alerts in all."""
    with told(wanted.dsn):
        (counted,) = _rows(connection, _DONE, line=wanted.line, since=since)
        alerts = _rows(connection, _TOP_ALERTS.format(columns=_ALERT_COLUMNS), line=wanted.line, since=since, most=wanted.alerts_per_level)
    return Done(int(counted["dead_letters"]), int(counted["duplicates"]), tuple(Alert(**row) for row in alerts))


def _look(connection: Connection, wanted: Wanted, seen: Seen | None) -> Reading:
    row = _rows(connection, _OWNER, line=wanted.line)[0]
    if row["topic_id"] is None:
        return Reading(row["at"])
    topic_id = row["topic_id"]
    ledger = _rows(connection, _LEDGER, topic_id=topic_id)
    reading = Reading(
        at=row["at"],
        owner=Owner(topic_id, row["topic"], row["pid"], row["host"], row["since"], alive=holder(connection, topic_id) is not None),
        positions=tuple(Position(one["partition"], one["next_offset"], one["clock"]) for one in ledger),
        last_commit=max((one["committed_at"] for one in ledger if one["last_offset"] is not None), default=None),
    )
    behind = _distance(seen, topic_id, reading.positions)
    if seen is None or behind is None or behind > MOST_ROWS:
        return _anew(connection, wanted, reading, topic_id)
    if behind == 0:
        return reading
    places = {place.partition: seen.positions.get(place.partition, 0) for place in reading.positions}
    commits = _commits(connection, _NEW_HISTORY, topic_id=topic_id, partitions=list(places), offsets=list(places.values()), most=MOST_ROWS)
    if not any(commit.alerts for commit in commits):
        return replace(reading, commits=commits)
    return replace(reading, commits=commits, alerts=_alerts(connection, topic_id, wanted.alerts_per_level))


def _anew(connection: Connection, wanted: Wanted, reading: Reading, topic_id: UUID) -> Reading:
    """All of it; of the commits only as many of the newest as hold MOST_ROWS."""
    since = reading.at - wanted.window
    cut = _rows(connection, _CUT, topic_id=topic_id, since=since, most=MOST_ROWS)[0]["cut"]
    known_since = max(since, cut) if cut else since
    return replace(
        reading,
        totals=_totals(connection, wanted.line),
        known_since=known_since,
        commits=_commits(connection, _RECENT_HISTORY, topic_id=topic_id, since=known_since),
        alerts=_alerts(connection, topic_id, wanted.alerts_per_level),
    )


def _distance(seen: Seen | None, topic_id: UUID, positions: tuple[Position, ...]) -> int | None:
    """Offsets between what was seen and now; None when this is not the ledger that was seen, but another's or an earlier one."""
    now = {position.partition: position.next_offset for position in positions}
    if seen is None or seen.topic_id != topic_id or any(now.get(partition, -1) < place for partition, place in seen.positions.items()):
        return None
    return sum(place - seen.positions.get(partition, 0) for partition, place in now.items())


def _commits(connection: Connection, history: str, **values: object) -> tuple[Commit, ...]:
    return tuple(
        Commit(
            batch=row["batch"],
            partition=row["partition"],
            committed_at=row["committed_at"],
            transactions=row["transactions"],
            alerts=row["alerts"],
            amount_cents=int(row["amount_cents"]),
            alert_amount_cents=int(row["alert_amount_cents"]),
            levels={level: row[f"level_{level.lower()}"] for level in Level},
            typical_wait=row["typical_wait"],
            longest_wait=row["longest_wait"],
        )
        for row in _rows(connection, _COMMITS.format(history=history, levels=_LEVEL_COUNTS), **values)
    )


def _totals(connection: Connection, line: str) -> Totals:
    rows = {(row["dimension"], row["value"]): row for row in _rows(connection, _TOTALS, line=line)}
    whole = rows.get(("total", ""))
    if whole is None:
        return Totals()
    return Totals(
        transactions=int(whole["transactions"]),
        amount_cents=int(whole["amount_cents"]),
        alerts=int(whole["alerts"]),
        alert_amount_cents=int(whole["alert_amount_cents"]),
        levels={value: int(row["transactions"]) for (dimension, value), row in rows.items() if dimension == "level"},
    )


def _alerts(connection: Connection, topic_id: UUID, per_level: int) -> tuple[Alert, ...]:
    return tuple(
        Alert(**row)
        for row in _rows(
            connection, _ALERTS.format(columns=_ALERT_COLUMNS), topic_id=topic_id, searched=_ALERTS_SEARCHED, per_level=per_level
        )
    )


def _rows(connection: Connection, text: str, **values: object) -> list[dict[str, Any]]:
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(text.encode(), values).fetchall()


_OWNER = """
select clock_timestamp() as at, o.topic_id, o.topic, o.pid, o.host, o.since
from (select 1) as always
left join line_owner o on o.line = %(line)s
"""

_LEDGER = "select partition, next_offset, clock, last_offset, committed_at from line_ledger where topic_id = %(topic_id)s"

# In the order of the key, with a limit: so that it is read from the key's end and never as a whole.
_NEW_HISTORY = """
select h.*
from unnest(%(partitions)s::int[], %(offsets)s::bigint[]) as seen (partition, next_offset)
cross join lateral (
    select *
    from ledger_history
    where topic_id = %(topic_id)s and partition = seen.partition and from_offset >= seen.next_offset
    order by from_offset
    limit %(most)s
) as h
"""

_RECENT_HISTORY = "select * from ledger_history where topic_id = %(topic_id)s and committed_at > %(since)s"

_CUT = """
select max(committed_at) as cut
from (
    select committed_at, sum(transactions) over (order by committed_at desc, partition) as newer
    from ledger_history
    where topic_id = %(topic_id)s and committed_at > %(since)s
) as counted
where newer > %(most)s
"""

# Within a partition the append times rise with the offsets, so the middle record's stands for the typical one.
_COMMITS = """
select h.batch, h.partition, h.committed_at, h.transactions, d.*,
       extract(epoch from h.committed_at - d.earliest)::float8 as longest_wait,
       extract(epoch from h.committed_at - m.append_time)::float8 as typical_wait
from ({history}) as h
cross join lateral (
    select count(*) filter (where alert) as alerts,
           coalesce(sum(amount_cents) filter (where currency = 'BRL'), 0) as amount_cents,
           coalesce(sum(amount_cents) filter (where currency = 'BRL' and alert), 0) as alert_amount_cents,
           min(append_time) as earliest,
           {levels}
    from decisions
    where topic_id = h.topic_id and partition = h.partition and "offset" >= h.from_offset and "offset" < h.to_offset
) as d
left join lateral (
    select append_time
    from decisions
    where topic_id = h.topic_id and partition = h.partition
      and "offset" >= h.from_offset + (h.to_offset - h.from_offset) / 2 and "offset" < h.to_offset
    order by "offset"
    limit 1
) as m on true
order by h.committed_at, h.partition
"""
_LEVEL_COUNTS = ",\n".join(f"count(*) filter (where level = '{level}') as level_{level.lower()}" for level in Level)

_TOTALS = """
select dimension, value, sum(transactions) as transactions, sum(amount_cents) as amount_cents,
       sum(alerts) as alerts, sum(alert_amount_cents) as alert_amount_cents
from metrics_minute
where line = %(line)s and dimension in ('total', 'level')
group by dimension, value
"""

_ALERT_COLUMNS = """partition, "offset", transaction_id, customer_id, event_time, type, channel, merchant_name, amount_cents, currency,
       score, level, action, message_score, reasons::text as reasons, pack, pack_version"""

# Which ones is found on narrow rows; only those few are then read whole.
_ALERTS = """
select {columns}
from (
    select topic_id, partition, "offset", row_number() over (partition by level order by append_time desc, partition, "offset" desc) as place
    from (
        select topic_id, partition, "offset", level, append_time
        from decisions
        where alert and topic_id = %(topic_id)s
        order by append_time desc
        limit %(searched)s
    ) as latest
) as placed
join decisions using (topic_id, partition, "offset")
where place <= %(per_level)s
order by append_time desc, partition, "offset" desc
"""

_DONE = """
select coalesce(sum(dead_letters), 0) as dead_letters, coalesce(sum(duplicates), 0) as duplicates
from ledger_history join line_owner using (topic_id)
where line = %(line)s and committed_at > %(since)s
"""

_TOP_ALERTS = """
select {columns}
from decisions join line_owner using (topic_id)
where alert and line = %(line)s and append_time > %(since)s
order by decisions.score desc, append_time desc, partition, "offset" desc
limit %(most)s
"""
