"""A database is made ready at first use, brought on by a command, and refused when it is not ours or not as we left it."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from comporta.postgres import migrate
from comporta.postgres.migrate import LATEST, Migrated, Migration, ensure, migrations
from comporta.services.addresses import Addresses
from comporta.words.errors import ComportaError, DamagedState, Setup
from support.batches import Ready, ready


def dsns(at: Addresses) -> tuple[str, str, str]:
    return at.owner_dsn, at.writer_dsn, at.reader_dsn


def refusal(work: Callable[[], object]) -> str:
    with pytest.raises(Setup) as refused:
        work()
    return str(refused.value)


@pytest.fixture
def newer_files(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """As if this Comporta had one migration more."""

    def add(text: str) -> None:
        files = [*migrations(), Migration(LATEST + 1, "later", text.encode())]
        monkeypatch.setattr(migrate, "migrations", lambda: files)
        monkeypatch.setattr(migrate, "LATEST", LATEST + 1)

    return add


def test_a_fresh_database_is_migrated_once_even_by_many_at_a_time(fresh_database: Addresses) -> None:
    together = threading.Barrier(4)

    def start() -> Migrated:
        together.wait(10)
        return ensure(*dsns(fresh_database))

    with ThreadPoolExecutor(4) as pool:
        done = [job.result(60) for job in [pool.submit(start) for _ in range(4)]]
    assert {one.after for one in done} == {LATEST}
    assert ensure(*dsns(fresh_database)) == (LATEST, LATEST)
    base = Ready(fresh_database)
    assert base.value("select count(*) from schema_migrations") == LATEST
    assert base.value("select count(*) from installation") == 1


def test_each_role_may_do_its_part_and_no_more(fresh_database: Addresses) -> None:
    ready(fresh_database)
    forbidden = {
        fresh_database.reader_dsn: [
            "insert into control_events default values",
            "delete from decisions",
            "update line_owner set epoch = 9",
        ],
        fresh_database.writer_dsn: [
            "create table mine (x integer)",
            "drop table decisions",
            "truncate decisions",
            "delete from decisions",
            "update decisions set score = 0",
            "delete from ledger_history",
            "delete from control_events",
            "update schema_migrations set version = 9",
            "update installation set id = gen_random_uuid()",
        ],
    }
    for dsn, statements in forbidden.items():
        with psycopg.connect(dsn, autocommit=True) as connection:
            for table in ("decisions", "transactions", "fraud_alerts", "decisions_marked", "line_owner", "ledger_history", "installation"):
                connection.execute(f"select * from {table}".encode())
            for statement in statements:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement.encode())


def test_one_role_for_everything_works_too(fresh_database: Addresses) -> None:
    owner = fresh_database.owner_dsn
    assert ensure(owner, owner, owner) == (0, LATEST)
    everything = Addresses(kafka_bootstrap="", owner_dsn=owner, writer_dsn=owner, reader_dsn=owner)
    Ready(everything).own().close()


def test_an_older_database_waits_for_the_command(fresh_database: Addresses, newer_files: Callable[[str], None]) -> None:
    base = ready(fresh_database)
    newer_files("create table more (x integer); insert into more values (7)")
    assert "`comporta migrate`" in refusal(lambda: ensure(*dsns(fresh_database)))
    assert migrate.migrate(*dsns(fresh_database)) == (LATEST, LATEST + 1)
    assert migrate.migrate(*dsns(fresh_database)) == (LATEST + 1, LATEST + 1)
    assert ensure(*dsns(fresh_database)) == (LATEST + 1, LATEST + 1)
    assert base.rows("select x from more") == [(7,)]
    with psycopg.connect(fresh_database.reader_dsn) as connection:
        assert connection.execute("select x from more").fetchone() == (7,), "the reader reads the new table too"


def test_a_migration_that_fails_leaves_nothing_of_it(fresh_database: Addresses, newer_files: Callable[[str], None]) -> None:
    base = ready(fresh_database)
    newer_files("create table more (x integer); select 1/0")
    with pytest.raises(DamagedState):
        migrate.migrate(*dsns(fresh_database))
    assert base.value("select to_regclass('more')") is None
    assert migrate.version(fresh_database.owner_dsn) == LATEST


def test_a_newer_database_is_refused(fresh_database: Addresses) -> None:
    ready(fresh_database).act("insert into schema_migrations (version, name, sha256, shape) values (99, 'later', '', '{}')")
    for work in (lambda: ensure(*dsns(fresh_database)), lambda: migrate.migrate(*dsns(fresh_database))):
        assert "version 99" in refusal(work)


def test_a_migration_that_was_edited_after_it_was_applied_is_named(fresh_database: Addresses) -> None:
    ready(fresh_database).act("update schema_migrations set sha256 = repeat('0', 64)")
    assert "0001_first" in refusal(lambda: ensure(*dsns(fresh_database)))


def test_a_database_of_somebody_else_is_refused_and_left_as_it_is(fresh_databases: Callable[[], Addresses]) -> None:
    for made in ("create table customers (id integer)", "create table schema_migrations (version text)", "create view v as select 1 as x"):
        at = fresh_databases()
        base = Ready(at)
        base.act(made)
        for work in (lambda at=at: ensure(*dsns(at)), lambda at=at: migrate.migrate(*dsns(at))):
            assert "not Comporta's" in refusal(work)
        assert base.value("select count(*) from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'v')") == 1


def test_tables_that_were_changed_by_hand_are_told_with_their_differences(fresh_database: Addresses) -> None:
    base = ready(fresh_database)
    base.act("alter table decisions add column note text")
    base.act("create index mine on decisions (customer_id)")
    assert ensure(*dsns(fresh_database)) == (LATEST, LATEST)
    base.act("alter table dead_letters drop column detail")
    base.act("alter table line_ledger alter column next_offset type integer")
    told = refusal(lambda: ensure(*dsns(fresh_database)))
    assert "column dead_letters.detail is missing" in told
    assert "column line_ledger.next_offset is integer not null, not bigint not null" in told
    assert migrate.drift(fresh_database.owner_dsn) == [
        "column dead_letters.detail is missing",
        "column line_ledger.next_offset is integer not null, not bigint not null",
    ]


def test_every_failure_is_one_of_ours(fresh_database: Addresses) -> None:
    nobody = psycopg.conninfo.make_conninfo(fresh_database.owner_dsn, port=1, password="canary")
    with pytest.raises(ComportaError) as refused:
        ensure(nobody, nobody, nobody)
    assert "canary" not in str(refused.value)
