"""What the page reads is what the tables hold, and it reads no more of them than is new."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest

from comporta.dashboard.recent import remember
from comporta.postgres import migrate, ownership, page_queries
from comporta.postgres.page_queries import Reading, Seen, Wanted, look, open_reader
from comporta.services.addresses import Addresses
from support.lines import Lines, message, produce, rows, sent

MINUTES = timedelta(minutes=5)


def wanted(at: Addresses) -> Wanted:
    return Wanted(at.reader_dsn, "line", MINUTES, alerts_per_level=20)


def looked(at: Addresses, seen: Seen | None = None) -> Reading:
    with open_reader(at.reader_dsn) as connection:
        return look(connection, wanted(at), seen)


def seen_in(reading: Reading) -> Seen:
    assert reading.owner is not None
    return Seen(reading.owner.topic_id, {place.partition: place.next_offset for place in reading.positions})


def migrated(at: Addresses) -> Addresses:
    migrate.ensure(at.owner_dsn, at.writer_dsn, at.reader_dsn)
    return at


def test_a_database_without_tables_or_without_a_line_is_a_reading_without_an_owner(fresh_database: Addresses) -> None:
    before = datetime.now(UTC) - timedelta(minutes=1)
    for at in (fresh_database, migrated(fresh_database)):
        reading = looked(at)
        assert reading == Reading(reading.at)
        assert reading.at > before


def test_whether_the_line_lives_is_whether_its_lock_is_held(fresh_database: Addresses) -> None:
    at = migrated(fresh_database)
    with ownership.take(at.writer_dsn, uuid4(), "transactions", "line"):
        owner = looked(at).owner
        assert owner is not None
        assert owner.alive
        assert owner.topic == "transactions"
    owner = looked(at).owner
    assert owner is not None
    assert not owner.alive


def test_the_page_can_only_read(fresh_database: Addresses) -> None:
    with open_reader(migrated(fresh_database).reader_dsn) as connection, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        connection.execute("create temporary table something (id int)")


def test_the_first_look_and_every_later_one_say_what_the_tables_hold(
    lines: Lines, topic: Callable[..., str], fresh_database: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, name = fresh_database, topic(partitions=2)
    chance = random.Random(5)  # noqa: S311 - chosen for being repeatable
    produce(at.kafka_bootstrap, name, [sent(message(number, chance)) for number in range(3_000)])
    lines.drain(at, name, COMPORTA_LINE_MAX_OFFSETS="1000")

    first = looked(at)
    assert first.totals is not None
    assert first.owner is not None
    assert [(p.partition, p.next_offset) for p in first.positions] == rows(
        at.reader_dsn, "select partition, next_offset from line_ledger order by 1"
    )
    assert [(first.totals.transactions, first.totals.amount_cents, first.totals.alerts, first.totals.alert_amount_cents)] == rows(
        at.reader_dsn,
        "select count(*), sum(amount_cents)::bigint, count(*) filter (where alert), (sum(amount_cents) filter (where alert))::bigint from decisions",
    )
    levels = dict(rows(at.reader_dsn, "select level, count(*) from decisions group by 1"))
    assert {level: count for level, count in first.totals.levels.items() if count} == levels
    assert sum(commit.transactions for commit in first.commits) == 3_000
    assert {level: sum(commit.levels[level] for commit in first.commits) for level in levels} == levels
    assert sum(commit.amount_cents for commit in first.commits) == first.totals.amount_cents
    for commit in first.commits:
        assert commit.typical_wait is not None
        assert commit.longest_wait is not None
        assert 0 < commit.typical_wait <= commit.longest_wait < 600
    assert first.alerts is not None
    latest = 'select transaction_id from decisions where level = %s order by append_time desc, partition, "offset" desc limit 20'
    for level in ("CRITICAL", "HIGH"):
        told = [alert.transaction_id for alert in first.alerts if alert.level == level]
        assert told == [name for (name,) in rows(at.reader_dsn, latest.replace("%s", f"'{level}'"))]

    # Nothing new: nothing is read but the positions.
    again = looked(at, seen_in(first))
    assert (again.commits, again.totals, again.alerts, again.positions) == ((), None, None, first.positions)

    # Something new: only that, and it adds up.
    produce(at.kafka_bootstrap, name, [sent(message(number, chance)) for number in range(3_000, 3_700)])
    lines.drain(at, name)
    later = looked(at, seen_in(first))
    assert later.totals is None
    assert sum(commit.transactions for commit in later.commits) == 700
    memory, anew = remember(remember(None, first), later), looked(at)
    assert memory is not None
    assert anew.totals is not None
    assert memory.totals.transactions == 3_700
    assert (memory.totals.amount_cents, memory.totals.alerts) == (anew.totals.amount_cents, anew.totals.alerts)
    assert {level: count for level, count in memory.totals.levels.items() if count} == anew.totals.levels

    # A ledger that stands before what was seen, or another topic's, is read anew.
    ahead = Seen(first.owner.topic_id, {0: 10**9, 1: 0})
    assert looked(at, ahead).totals == anew.totals
    assert looked(at, Seen(uuid4(), seen_in(anew).positions)).totals == anew.totals

    # Too much to count by commits: totals are whole all the same, and since when commits are known is said.
    monkeypatch.setattr(page_queries, "MOST_ROWS", 1_500)
    short = looked(at)
    assert short.totals == anew.totals
    assert short.known_since is not None
    assert anew.known_since is not None
    assert short.known_since > anew.known_since
    assert 700 <= sum(commit.transactions for commit in short.commits) <= 1_500
    assert all(commit.committed_at > short.known_since for commit in short.commits)
