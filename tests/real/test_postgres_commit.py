"""The commit: all of a batch or nothing, once, and only by the owner."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import adbc_driver_postgresql.dbapi
import psycopg
import pyarrow as pa
import pytest

from comporta.postgres import ownership, readers
from comporta.postgres.commit import Committer
from comporta.postgres.digests import digest
from comporta.postgres.ownership import Owner
from comporta.services.addresses import Addresses
from comporta.words.batches import Append, Overwrite, TableWrite
from comporta.words.errors import AnotherOwner, Bug, DamagedState, DataLoss, Setup, Unreachable
from comporta.words.tables import DECISIONS
from support.batches import (
    NOON,
    TOPIC_ID,
    Ready,
    batch,
    dead_letters,
    decisions,
    duplicates,
    identities,
    identity,
    later,
    metrics,
    metrics_write,
    microseconds,
    plain,
    ready,
    step,
)

WINDOW = timedelta(days=14)
OTHER_TOPIC = TOPIC_ID.__class__(int=7)


@pytest.fixture
def base(fresh_database: Addresses) -> Ready:
    return ready(fresh_database)


@pytest.fixture
def owner(base: Ready) -> Iterator[Owner]:
    with base.own() as owner:
        yield owner


@pytest.fixture
def committer(base: Ready) -> Iterator[Committer]:
    with Committer(base.at.writer_dsn) as committer:
        yield committer


def test_rows_ledger_and_history_appear_together(base: Ready, owner: Owner, committer: Committer) -> None:
    whole = batch(
        step(0, 10, transactions=4, dead_letters=2, duplicates=1, tombstones=2, tombstone_offsets=((2, 3), (8, 9)), gaps=((5, 6),)),
        writes=[
            TableWrite("decisions", decisions([0, 1, 3, 9]), digest=True),
            TableWrite("dead_letters", dead_letters([4, 6], key=[b"\x00\xff", None]), digest=True),
            TableWrite("duplicates", duplicates([7]), digest=True),
            TableWrite("identities", identities([0, 1, 3, 9])),
            metrics_write(metrics(transactions=4)),
        ],
        number=3,
    )
    done = committer.commit(owner, whole)
    assert (done.again, done.next_offsets, done.rows["decisions"]) == (False, {0: 10}, 4)
    assert base.rows('select "offset" from decisions order by 1') == [(0,), (1,), (3,), (9,)]
    assert base.rows('select "offset", key, reason, replayed_at from dead_letters order by 1') == [
        (4, b"\x00\xff", "JSON_SYNTAX", None),
        (6, None, "JSON_SYNTAX", None),
    ]
    (row,) = ownership.ledger_rows(owner.session, TOPIC_ID).values()
    assert (row.next_offset, row.epoch, row.token, row.clock, row.last_offset, row.last_hash) == (
        10,
        owner.epoch,
        owner.token,
        NOON,
        9,
        identity(9),
    )
    assert base.rows(
        """select from_offset, to_offset, batch, epoch, token, transactions, dead_letters, duplicates, tombstones, gaps,
                  tombstone_offsets::text, gap_offsets::text, digest_version, committed_at from ledger_history"""
    ) == [(0, 10, 3, owner.epoch, owner.token, 4, 2, 1, 2, 1, "{[2,3),[8,9)}", "{[5,6)}", 1, done.committed_at)]


def test_digests_in_the_history_are_those_of_the_rows_as_they_are_stored(base: Ready, owner: Owner, committer: Committer) -> None:
    stored = decisions(
        range(5),
        reasons=["[]", '[{"a":  1.10}]', '["\\u00e9", "é"]', "[]", " [ ] "],
        invalid_fields=[[], ["ip"], ["ip", "currency"], [], ["é"]],
        currency=["BRL", None, "", "USD", None],
        new_payee=[True, False, None, None, True],
        distance_km=[0.1, None, 1e300, -0.0, 5e-324],
        accumulated_24h_cents=[0, None, 999_999_999_999_999, 1, 2],
        message_score=[None, 65.5, -0.0, 99.99, 0.1],
        event_time=[NOON, later(microseconds=1), later(days=-20000), later(days=20000), later(hours=3)],
    )
    assert stored.schema.names == DECISIONS.names
    whole = batch(
        step(0, 8, transactions=5, dead_letters=2, duplicates=1),
        writes=[
            TableWrite("decisions", stored, digest=True),
            TableWrite("dead_letters", dead_letters([5, 7], key=[b"", None], field=["amount", None], schema_id=[None, 3]), digest=True),
            TableWrite("duplicates", duplicates([6]), digest=True),
        ],
    )
    committer.commit(owner, whole)
    kept = base.value("select digests from ledger_history")
    with adbc_driver_postgresql.dbapi.connect(base.at.reader_dsn) as connection, connection.cursor() as cursor:
        for table, expected in kept.items():
            cursor.execute(f'select * from {table} where partition = 0 and "offset" >= 0 and "offset" < 8 order by random()')
            assert digest(cursor.fetch_arrow_table()).hex() == expected, table


def test_a_table_that_has_nothing_to_do_with_fraud_is_committed_like_any_other(base: Ready, owner: Owner, committer: Committer) -> None:
    base.act(
        'create table readings (topic_id uuid, partition integer, "offset" bigint, celsius real, at date, primary key (topic_id, partition, "offset"))'
    )
    base.act("create table stations (name text primary key, seen bigint)")
    base.act("grant select, insert, update on readings, stations to comporta_writer")
    readings = pa.table(
        {
            "partition": pa.array([0, 0], pa.int32()),
            "offset": pa.array([0, 1], pa.int64()),
            "celsius": pa.array([21.5, None], pa.float32()),
            "at": pa.array([NOON.date()] * 2, pa.date32()),
        }
    )
    for start, seen in ((0, 1), (2, 9)):
        rows = readings.set_column(1, "offset", pa.array([start, start + 1], pa.int64())).select(["partition", "offset", "celsius"])
        stations = pa.table({"name": ["north"], "seen": pa.array([seen], pa.int64())})
        committer.commit(
            owner,
            batch(
                step(start, start + 2),
                writes=[TableWrite("readings", rows, Append(), digest=True), TableWrite("stations", stations, Overwrite(("name",)))],
            ),
        )
    assert base.rows('select topic_id, "offset", celsius from readings order by 2') == [
        (TOPIC_ID, 0, 21.5),
        (TOPIC_ID, 1, None),
        (TOPIC_ID, 2, 21.5),
        (TOPIC_ID, 3, None),
    ]
    assert base.rows("select * from stations") == [("north", 9)]


def test_the_same_batch_given_twice_is_stored_once(base: Ready, owner: Owner, committer: Committer) -> None:
    first = committer.commit(owner, plain(0, 10))
    second = committer.commit(owner, plain(0, 10))
    assert (second.again, second.committed_at, second.next_offsets) == (True, first.committed_at, {0: 10})
    assert base.value("select count(*) from decisions") == 10
    assert base.value("select transactions from metrics_minute") == 10


def test_other_rows_for_offsets_that_are_committed_are_refused(base: Ready, owner: Owner, committer: Committer) -> None:
    committer.commit(owner, plain(0, 10))
    other = plain(0, 10)
    other = replace(other, writes=(TableWrite("decisions", decisions(range(10), amount_cents=99), digest=True), *other.writes[1:]))
    with pytest.raises(DamagedState, match="other rows"):
        committer.commit(owner, other)
    assert base.value("select max(amount_cents) from decisions") == 1050


def test_a_batch_that_does_not_begin_where_the_ledger_stands_is_refused(base: Ready, owner: Owner, committer: Committer) -> None:
    committer.commit(owner, plain(0, 10))
    for start in (0, 5, 11):
        with pytest.raises(DamagedState, match=f"the ledger stands at 10, the batch begins at {start}"):
            committer.commit(owner, plain(start, 20))
    assert base.value("select count(*) from decisions") == 10


def test_a_new_partition_is_entered_at_its_first_offset_and_nowhere_else(base: Ready, owner: Owner, committer: Committer) -> None:
    with pytest.raises(DamagedState, match="stands at 0, the batch begins at 3"):
        committer.commit(owner, batch(step(3, 5, partition=7), writes=[TableWrite("decisions", decisions([3, 4], 7), digest=True)]))
    committer.commit(
        owner,
        batch(
            step(0, 2, partition=7),
            step(0, 0, partition=8, clock_us=None, last_offset=None, last_hash=None),
            writes=[TableWrite("decisions", decisions([0, 1], 7), digest=True)],
        ),
    )
    assert readers.ledger_positions(base.at.reader_dsn, TOPIC_ID) == {0: 0, 7: 2, 8: 0}
    assert base.rows("select partition from ledger_history") == [(7,)]


def test_who_has_an_old_token_writes_nothing_and_learns_who_is_the_owner(base: Ready, owner: Owner, committer: Committer) -> None:
    committer.commit(owner, plain(0, 10))
    new = ownership.renew(owner)
    with pytest.raises(AnotherOwner, match=r"owned by pid \d+ on .* since .* UTC"):
        committer.commit(owner, plain(10, 20))
    assert base.value("select count(*) from decisions") == 10
    assert committer.commit(new, plain(10, 20)).next_offsets == {0: 20}


def test_epochs_repeat_after_a_restored_backup_but_tokens_do_not(base: Ready, owner: Owner, committer: Committer) -> None:
    committer.commit(owner, plain(0, 10))
    base.act("update line_owner set token = gen_random_uuid()")
    with pytest.raises(AnotherOwner):
        committer.commit(owner, plain(10, 20))
    assert base.value("select count(*) from decisions") == 10


def test_a_batch_of_another_topic_id_or_line_is_refused(base: Ready, owner: Owner, committer: Committer) -> None:
    with pytest.raises(DataLoss, match=f"{OTHER_TOPIC}.*{TOPIC_ID}"):
        committer.commit(owner, replace(plain(0, 10), topic_id=OTHER_TOPIC))
    with pytest.raises(Bug, match="'other'"):
        committer.commit(owner, replace(plain(0, 10), line="other"))
    assert base.value("select count(*) from decisions") == 0


def test_a_database_that_was_migrated_meanwhile_is_left_alone(base: Ready, owner: Owner, committer: Committer) -> None:
    committer.commit(owner, plain(0, 10))
    base.act("insert into schema_migrations (version, name, sha256, shape) values (99, 'later', '', '{}')")
    with pytest.raises(Setup, match="version 99"):
        committer.commit(owner, plain(10, 20))
    assert base.value("select count(*) from decisions") == 10


def test_an_owner_row_that_is_gone_is_damage(base: Ready, owner: Owner, committer: Committer) -> None:
    base.act("truncate line_owner cascade")
    with pytest.raises(DamagedState, match="owner row"):
        committer.commit(owner, plain(0, 10))


def test_a_batch_that_forgets_an_offset_is_refused_before_anything_is_written(base: Ready, owner: Owner, committer: Committer) -> None:
    hole = batch(step(0, 10), writes=[TableWrite("decisions", decisions(range(9)), digest=True)])
    with pytest.raises(Bug, match="claims"):
        committer.commit(owner, hole)
    assert (
        base.value("select count(*) from pg_stat_activity where application_name like 'comporta commit%%' and datname = current_database()")
        == 0
    )


def test_an_identity_that_is_stored_already_means_damaged_state_and_no_value_leaves(
    base: Ready, owner: Owner, committer: Committer
) -> None:
    committer.commit(owner, plain(0, 10))
    again = plain(10, 20)
    again = replace(
        again, writes=(again.writes[0], TableWrite("identities", identities(range(10, 20), identity=[identity(n) for n in range(9, 19)])))
    )
    with pytest.raises(DamagedState, match=r"23505, constraint identities_pkey") as refused:
        committer.commit(owner, again)
    assert str(TOPIC_ID) not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None
    assert base.rows(
        "select (select count(*) from decisions), (select count(*) from identities), (select max(next_offset) from line_ledger)"
    ) == [(10, 10, 10)]


def test_an_identity_beyond_the_window_gives_way_to_its_new_first_copy(base: Ready, owner: Owner, committer: Committer) -> None:
    committer.commit(owner, plain(0, 2))
    again = batch(
        step(2, 4, clock_us=microseconds(later(days=10))),
        writes=[
            TableWrite("decisions", decisions([2, 3]), digest=True),
            TableWrite(
                "identities",
                identities([2, 3], identity=[identity(0), identity("new")], clock=later(days=10)),
                Append(stale=pa.table({"identity": pa.array([identity(0)], pa.binary(16)), "partition": pa.array([0], pa.int32())})),
            ),
        ],
    )
    committer.commit(owner, again)
    assert base.rows('select "offset", clock from identities order by 1') == [(1, NOON), (2, later(days=10)), (3, later(days=10))]


def test_a_stored_identity_that_is_not_older_does_not_give_way(owner: Owner, committer: Committer) -> None:
    committer.commit(owner, plain(0, 2))
    stale = pa.table({"identity": pa.array([identity(0)], pa.binary(16)), "partition": pa.array([0], pa.int32())})
    again = batch(
        step(2, 3),
        writes=[
            TableWrite("decisions", decisions([2]), digest=True),
            TableWrite("identities", identities([2], identity=[identity(0)], clock=NOON), Append(stale=stale)),
        ],
    )
    with pytest.raises(DamagedState, match="identities_pkey"):
        committer.commit(owner, again)


def test_identities_are_pruned_by_the_clock_of_their_partition_and_only_when_it_has_moved_by_an_hour(
    base: Ready, owner: Owner, committer: Committer
) -> None:
    def commit(partition: int, start: int, clock: timedelta) -> None:
        committer.commit(
            owner,
            batch(
                step(start, start + 1, partition=partition, clock_us=microseconds(NOON + clock)),
                writes=[
                    TableWrite("decisions", decisions([start], partition), digest=True),
                    TableWrite("identities", identities([start], partition, clock=NOON + clock)),
                ],
            ),
        )

    def kept() -> list[tuple[int, ...]]:
        return base.rows('select partition, "offset" from identities order by 1, 2')

    commit(0, 0, timedelta())
    commit(1, 0, timedelta())
    commit(0, 1, timedelta(minutes=30))
    commit(0, 2, WINDOW + timedelta(minutes=10))
    assert kept() == [(0, 1), (0, 2), (1, 0)], "what is older than the window went, in this partition only"
    commit(0, 3, WINDOW + timedelta(minutes=50))
    assert (0, 1) in kept(), "the clock has moved by less than an hour"
    commit(0, 4, WINDOW + timedelta(minutes=70))
    assert kept() == [(0, 2), (0, 3), (0, 4), (1, 0)]
    assert base.rows("select partition, pruned_to from line_ledger order by 1") == [(0, later(minutes=70)), (1, NOON - WINDOW)]


def test_minute_metrics_of_tasks_and_batches_add_up_and_keep_the_largest(base: Ready, owner: Owner, committer: Committer) -> None:
    for number, (start, largest) in enumerate(((0, 500), (1, 300))):
        rows = metrics(value=["", ""], dimension=["total", "total"], amount_cents=[100, 1], max_amount_cents=[largest, 7], alerts=[1, 0])
        whole = batch(
            step(start, start + 1), writes=[TableWrite("decisions", decisions([start]), digest=True), metrics_write(rows)], number=number
        )
        committer.commit(owner, whole)
    assert base.rows("select line, minute, transactions, amount_cents, max_amount_cents, alerts from metrics_minute") == [
        ("line", NOON, 4, 202, 500, 2)
    ]


BEYOND: list[tuple[str, Any]] = [
    ("amount_cents", -1),
    ("amount_cents", 1_000_000_000_000),
    ("score", float("nan")),
    ("score", float("inf")),
    ("message_score", float("nan")),
    ("message_score", 1_000_001.0),
    ("distance_km", -0.1),
    ("distance_km", float("nan")),
    ("transactions_24h", 2**31),
    ("accumulated_24h_cents", 10**15),
    ("level", "SEVERE"),
    ("action", "SHRUG"),
    ("type", "CHEQUE"),
    ("direction", "UP"),
    ("transaction_id", ""),
    ("customer_id", "C" * 129),
    ("utc_offset_minutes", 841),
    ("event_time", later(days=-30000)),
]


def test_what_decoding_never_lets_through_the_tables_refuse(base: Ready, owner: Owner, committer: Committer) -> None:
    for column, value in BEYOND:
        whole = batch(step(0, 1), writes=[TableWrite("decisions", decisions([0], **{column: value}), digest=True)])
        with pytest.raises(DamagedState, match=f"23514, constraint decisions_{column}_check"):
            committer.commit(owner, whole)
    assert base.value("select count(*) from ledger_history") == 0


def test_the_largest_values_that_decoding_lets_through_are_stored(base: Ready, owner: Owner, committer: Committer) -> None:
    largest = decisions(
        [0],
        transaction_id="é" * 128,
        customer_id="x" * 128,
        amount_cents=999_999_999_999,
        accumulated_24h_cents=999_999_999_999_999,
        transactions_24h=2**31 - 1,
        message_score=-1_000_000.0,
        utc_offset_minutes=840,
        merchant_name="漢" * 1000,
        score=1e6,
    )
    committer.commit(owner, batch(step(0, 1), writes=[TableWrite("decisions", largest, digest=True)]))
    assert base.rows("select fraud_score, fraud_score_total, transactions_last_24h, amount from transactions") == [
        (-1000000, 1000000, 2**31 - 1, 9999999999.99)
    ]


def test_a_column_that_the_table_does_not_have_is_named(base: Ready, owner: Owner, committer: Committer) -> None:
    base.act("alter table decisions drop column mcc cascade")
    with pytest.raises(Setup, match="no column mcc"):
        committer.commit(owner, plain(0, 1))


def test_after_its_session_was_ended_the_committer_says_so_and_then_commits_the_same_batch(
    base: Ready, owner: Owner, committer: Committer
) -> None:
    committer.commit(owner, plain(0, 10))
    base.act("select pg_terminate_backend(commit_backend_pid, 5000) from line_owner", as_writer=True)
    with pytest.raises(Unreachable):
        committer.commit(owner, plain(10, 20))
    assert committer.commit(owner, plain(10, 20)).again is False
    assert base.value("select count(*) from decisions") == 20


def test_a_hook_that_fails_leaves_nothing_behind(base: Ready, owner: Owner) -> None:
    class Stop(Exception):
        pass

    points: list[str] = []

    def hook(point: str) -> None:
        points.append(point)
        if point == "after_copy" and points.count(point) == 1:
            raise Stop

    with Committer(base.at.writer_dsn, hook=hook) as committer:
        with pytest.raises(Stop):
            committer.commit(owner, plain(0, 10))
        assert base.value("select count(*) from decisions") == 0
        committer.commit(owner, plain(0, 10))
    assert points == ["after_locks", "after_copy", "after_locks", "after_copy", "after_commit"]
    assert base.value("select count(*) from decisions") == 10


def test_nobody_there_is_a_bad_moment_and_a_refused_user_a_bad_setup(base: Ready, owner: Owner) -> None:
    parts = psycopg.conninfo.conninfo_to_dict(base.at.writer_dsn)
    nobody = psycopg.conninfo.make_conninfo(base.at.writer_dsn, port=1, password="canary")
    with Committer(nobody) as committer, pytest.raises(Unreachable) as away:
        committer.commit(owner, plain(0, 10))
    stranger = psycopg.conninfo.make_conninfo(base.at.writer_dsn, user="nobody_at_all", password="canary")
    with Committer(stranger) as committer, pytest.raises(Setup) as refused:
        committer.commit(owner, plain(0, 10))
    for error in (away.value, refused.value):
        assert "canary" not in str(error)
        assert str(parts["host"]) in str(error)
