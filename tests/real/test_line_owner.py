"""One owner per topic and database: a second line is refused, a stuck one is taken over, and the one that wakes cannot write."""

import json
import os
import signal
import subprocess
from collections.abc import Callable

import psutil
import psycopg
from confluent_kafka import Consumer, TopicPartition
from psycopg import sql

from comporta.services import database as database_service
from comporta.services.addresses import Addresses
from comporta.settings import Settings
from support.lines import Lines, produce, rows, some, until


def decided(at: Addresses) -> int:
    try:
        return int(rows(at.owner_dsn, "select count(*) from decisions")[0][0])
    except psycopg.errors.UndefinedTable:
        return 0


def is_frozen(process: subprocess.Popen[str]) -> bool:
    return psutil.Process(process.pid).status() == psutil.STATUS_STOPPED


def test_a_second_line_exits_6_naming_the_owner_and_stop_ends_the_first_after_its_batch(
    fresh_database: Addresses, topic: Callable[..., str], lines: Lines
) -> None:
    name = topic(partitions=2)
    produce(fresh_database.kafka_bootstrap, name, some(500))
    first = lines.start(fresh_database, name, "stream", "--json")
    until(lambda: decided(fresh_database) == 500)

    code, answer, _ = lines.run(fresh_database, name, "stream")
    assert (code, answer["error"]["code"]) == (6, 6)
    assert f"pid {first.pid} on " in answer["error"]["message"]

    produce(fresh_database.kafka_bootstrap, name, some(300, first=500))
    until(lambda: decided(fresh_database) == 800)
    code, answer, _ = lines.run(fresh_database, name, "stop")
    assert (code, answer["stopped"]) == (0, ["line"])
    out, log = first.communicate(timeout=60)
    assert first.returncode == 0, log
    assert '"rows": 800' in out
    assert lines.run(fresh_database, name, "stop")[1]["stopped"] == []


def test_a_line_frozen_in_its_commit_is_taken_over_within_seconds_and_cannot_write_when_it_wakes(
    fresh_database: Addresses, topic: Callable[..., str], lines: Lines
) -> None:
    name = topic(partitions=2)
    produce(fresh_database.kafka_bootstrap, name, some(2_000))
    crash = {"COMPORTA_TEST_MODE": "1", "COMPORTA_TEST_CRASH": "after_copy:1:stop"}
    frozen = lines.start(fresh_database, name, "stream", "--drain", "--json", **crash)
    try:
        until(lambda: is_frozen(frozen))
        assert lines.run(fresh_database, name, "stream", "--drain")[0] == 6
        code, answer, _ = lines.run(fresh_database, name, "stream", "--drain", "--take-over", "another")
        assert (code, answer["error"]["code"]) == (2, 2)
        code, answer, log = lines.run(
            fresh_database, name, "stream", "--drain", "--take-over", "line", COMPORTA_HOME=str(lines.folder / "other")
        )
        assert code == 0, log
        assert answer["rows"] == 2_000
    finally:
        os.kill(frozen.pid, signal.SIGCONT)
    out, log = frozen.communicate(timeout=120)
    assert frozen.returncode == 6, log
    assert '"rows": 0' in out
    assert decided(fresh_database) == 2_000
    ((epochs,),) = rows(fresh_database.owner_dsn, "select count(distinct epoch) from ledger_history")
    assert epochs == 1


def test_a_database_restored_to_an_earlier_batch_is_continued_from_its_own_ledger(
    services: Settings, fresh_database: Addresses, topic: Callable[..., str], lines: Lines
) -> None:
    name = topic(partitions=2)
    produce(fresh_database.kafka_bootstrap, name, some(1_000))
    assert lines.drain(fresh_database, name).rows == 1_000
    backup = "backup_" + fresh_database.owner_dsn.rpartition("/")[2]
    database = fresh_database.owner_dsn.rpartition("/")[2]
    with psycopg.connect(database_service.dsn(services.home, database_service.SUPERUSER, "postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL("create database {} template {}").format(sql.Identifier(backup), sql.Identifier(database)))
        produce(fresh_database.kafka_bootstrap, name, some(1_000, first=1_000))
        assert lines.drain(fresh_database, name).rows == 1_000
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(database)))
        connection.execute(sql.SQL("alter database {} rename to {}").format(sql.Identifier(backup), sql.Identifier(database)))

    assert lines.drain(fresh_database, name).rows == 1_000
    assert decided(fresh_database) == 2_000


def test_the_mirrored_group_shows_the_ledger_to_any_kafka_client(
    fresh_database: Addresses, topic: Callable[..., str], lines: Lines
) -> None:
    name = topic(partitions=3)
    produce(fresh_database.kafka_bootstrap, name, some(900))
    lines.drain(fresh_database, name, COMPORTA_LINE_NAME=f"mirrored-{name}")
    ledger = dict(rows(fresh_database.owner_dsn, "select partition, next_offset from line_ledger where next_offset > 0"))
    consumer = Consumer({"bootstrap.servers": fresh_database.kafka_bootstrap, "group.id": f"comporta-mirrored-{name}"})
    places = [TopicPartition(name, partition) for partition in ledger]
    until(lambda: all(place.offset >= 0 for place in consumer.committed(places, timeout=10)))
    committed = consumer.committed(places, timeout=10)
    consumer.close()
    assert {place.partition: place.offset for place in committed} == ledger
    ((installation, topic_id),) = rows(
        fresh_database.owner_dsn, "select installation.id::text, topic_id::text from installation, line_owner"
    )
    assert all(json.loads(place.metadata or "") == {"installation": installation, "topic_id": topic_id} for place in committed)
