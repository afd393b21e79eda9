"""`comporta lag` and the guard of `comporta kafka topics --delete`: what the ledger and the log say, and nothing that they do not."""

import json
import os
import pty
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from comporta.kafka import topics
from comporta.postgres import migrate, ownership
from comporta.services.addresses import Addresses
from support.typed import Said, typed

COMPORTA = Path(sysconfig.get_path("scripts")) / "comporta"
Outside = Callable[[Addresses, str], Mapping[str, str]]
MakeTopic = Callable[..., str]
Comporta = Callable[..., Said]
Queries = Callable[[Mapping[str, str]], list[dict[str, Any]]]


@pytest.fixture
def database(fresh_database: Addresses) -> Addresses:
    migrate.ensure(fresh_database.owner_dsn, fresh_database.writer_dsn, fresh_database.reader_dsn)
    return fresh_database


def send(bootstrap: str, topic: str, counts: Mapping[int, int]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for partition, count in counts.items():
        for _ in range(count):
            producer.produce(topic, b"x", partition=partition)
    assert producer.flush(30) == 0


def stand(database: Addresses, topic: str, places: dict[int, int], line: str = "line") -> None:
    """A line of that name stands at these offsets."""
    topic_id = topics.existing(database.kafka_bootstrap, topic).topic_id
    with ownership.take(database.writer_dsn, topic_id, topic, line) as owner:
        ownership.start_line(owner, places, [])


@pytest.fixture
def comporta(capfd: pytest.CaptureFixture[str]) -> Comporta:
    def run(environ: Mapping[str, str], *words: str) -> Said:
        return typed(environ, capfd, *words)

    return run


@pytest.fixture
def queries(comporta: Comporta) -> Queries:
    def ask(environ: Mapping[str, str]) -> list[dict[str, Any]]:
        said = comporta(environ, "lag", "--json")
        assert said.returncode == 0, said.stderr
        found: list[dict[str, Any]] = json.loads(said.stdout)["queries"]
        return found

    return ask


def test_lag_is_the_distance_between_ledger_and_log(database: Addresses, outside: Outside, topic: MakeTopic, queries: Queries) -> None:
    name = topic(3)
    send(database.kafka_bootstrap, name, {0: 5, 1: 2})
    stand(database, name, {0: 2, 1: 2, 2: 0})
    (query,) = queries(outside(database, name))
    assert (query["name"], query["group"], query["topic"], query["messages"], query["band"]) == ("line", "comporta-line", name, 3, "small")
    assert (query["verdict"], query["reason"], query["forecast"]) == (None, None, None)
    assert 0 < query["seconds"] < 60
    assert [(part["partition"], part["next_offset"], part["end_offset"], part["messages"]) for part in query["partitions"]] == [
        (0, 2, 5, 3),
        (1, 2, 2, 0),
        (2, 0, 0, 0),
    ]
    assert [part["seconds"] for part in query["partitions"][1:]] == [0.0, 0.0]


def test_people_see_the_columns_that_they_know(database: Addresses, outside: Outside, topic: MakeTopic, comporta: Comporta) -> None:
    name = topic(1)
    send(database.kafka_bootstrap, name, {0: 12_000})
    stand(database, name, {0: 0})
    said = comporta(outside(database, name), "lag").stdout
    for column in ("PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "SECONDS BEHIND"):
        assert column in said
    assert "12,000" in said
    assert "10,000 and more: investigate" in said


def test_a_line_that_has_not_begun_has_no_lag_and_not_a_lag_of_zero(
    database: Addresses, outside: Outside, topic: MakeTopic, queries: Queries, comporta: Comporta
) -> None:
    (query,) = queries(outside(database, topic(2)))
    assert (query["messages"], query["seconds"], query["band"]) == (None, None, "unknown")
    assert [part["messages"] for part in query["partitions"]] == [None, None]
    assert "has not begun" in query["remark"]
    assert "unknown" in comporta(outside(database, topic(1)), "lag").stdout


def test_a_topic_made_anew_is_not_compared_with_the_old_position(
    database: Addresses, outside: Outside, topic: MakeTopic, queries: Queries
) -> None:
    name = topic(1)
    send(database.kafka_bootstrap, name, {0: 3})
    stand(database, name, {0: 3})
    client = AdminClient({"bootstrap.servers": database.kafka_bootstrap})
    client.delete_topics([name])[name].result(30)
    topics.create(database.kafka_bootstrap, name, 1)
    send(database.kafka_bootstrap, name, {0: 10})
    (query,) = queries(outside(database, name))
    assert (query["messages"], query["partitions"][0]["end_offset"]) == (None, 10)
    assert "made anew" in query["remark"]


def test_what_retention_took_before_it_was_read_is_said(database: Addresses, outside: Outside, topic: MakeTopic, queries: Queries) -> None:
    name = topic(1)
    send(database.kafka_bootstrap, name, {0: 10})
    stand(database, name, {0: 1})
    client = AdminClient({"bootstrap.servers": database.kafka_bootstrap})
    for future in client.delete_records([TopicPartition(name, 0, 5)]).values():
        future.result(30)
    (query,) = queries(outside(database, name))
    assert (query["messages"], query["partitions"][0]["gone"]) == (9, 4)
    assert "4 messages were removed" in query["remark"]
    assert query["seconds"] > 0


def test_a_partition_that_was_added_is_behind_from_its_beginning(
    database: Addresses, outside: Outside, topic: MakeTopic, queries: Queries
) -> None:
    name = topic(2)
    stand(database, name, {0: 0})
    send(database.kafka_bootstrap, name, {1: 4})
    (query,) = queries(outside(database, name))
    assert query["messages"] == 4


def test_another_line_of_the_topic_is_shown_beside_ours(database: Addresses, outside: Outside, topic: MakeTopic, queries: Queries) -> None:
    name = topic(1)
    stand(database, name, {0: 0}, line="night")
    assert [(query["name"], query["messages"]) for query in queries(outside(database, name))] == [("line", None), ("night", 0)]


@pytest.mark.parametrize("away", ["COMPORTA_KAFKA_BOOTSTRAP", "COMPORTA_POSTGRES_READER_DSN"])
def test_a_dependency_that_is_away_is_exit_4_and_no_figure(
    database: Addresses, outside: Outside, topic: MakeTopic, away: str, comporta: Comporta
) -> None:
    gone = {"COMPORTA_KAFKA_BOOTSTRAP": "127.0.0.1:1", "COMPORTA_POSTGRES_READER_DSN": "postgresql://nobody@127.0.0.1:1/none"}
    began = time.monotonic()
    said = comporta({**outside(database, topic(1)), away: gone[away]}, "lag", "--json")
    assert said.returncode == 4
    assert "queries" not in json.loads(said.stdout)
    assert time.monotonic() - began < 20


def test_watching_shows_the_lag_again_and_again_until_ctrl_c(database: Addresses, outside: Outside, topic: MakeTopic) -> None:
    name = topic(1)
    stand(database, name, {0: 0})
    process = subprocess.Popen([COMPORTA, "lag", "--watch"], env=outside(database, name), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = iter(process.stdout.readline, "")
    assert any("nothing waits" in line for line in lines)
    send(database.kafka_bootstrap, name, {0: 3})
    assert any("small delay" in line for line in lines)
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 0


def test_a_topic_with_unread_messages_is_not_deleted_unasked(
    database: Addresses, outside: Outside, topic: MakeTopic, comporta: Comporta
) -> None:
    name, bootstrap = topic(1), database.kafka_bootstrap
    send(bootstrap, name, {0: 7})
    stand(database, name, {0: 3})
    delete = ("kafka", "topics", "--delete", "--topic", name)
    refused = comporta(outside(database, name), *delete)
    assert (refused.returncode, f"{name} holds 4 messages that no line has judged" in refused.stderr) == (2, True)
    assert comporta(outside(database, name), *delete, "--yes", "another").returncode == 2
    assert topics.describe(bootstrap, name) is not None
    assert comporta(outside(database, name), *delete, "--yes", name).returncode == 0
    assert topics.describe(bootstrap, name) is None


def test_a_topic_that_was_judged_to_its_end_is_deleted_without_asking(
    database: Addresses, outside: Outside, topic: MakeTopic, comporta: Comporta
) -> None:
    name = topic(1)
    send(database.kafka_bootstrap, name, {0: 7})
    stand(database, name, {0: 7})
    assert comporta(outside(database, name), "kafka", "topics", "--delete", "--topic", name).returncode == 0
    assert topics.describe(database.kafka_bootstrap, name) is None


def test_a_pattern_that_means_several_topics_is_asked_for_all_of_them(
    database: Addresses, outside: Outside, topic: MakeTopic, comporta: Comporta
) -> None:
    name = topic(1)
    send(database.kafka_bootstrap, name, {0: 2})
    refused = comporta(outside(database, name), "kafka", "topics", "--delete", "--topic", f"{name[:-1]}.")
    assert (refused.returncode, f"{name} holds 2 messages" in refused.stderr) == (2, True)


@pytest.mark.parametrize(("typed", "deleted"), [("yes", False), ("NAME", True)])
def test_at_a_terminal_the_name_is_asked_for(database: Addresses, outside: Outside, topic: MakeTopic, typed: str, *, deleted: bool) -> None:
    name = topic(1)
    send(database.kafka_bootstrap, name, {0: 2})
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [COMPORTA, "kafka", "topics", "--delete", "--topic", name], env=outside(database, name), stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    said = b""
    while b"Type " not in said:
        said += os.read(ours, 1000)
    os.write(ours, typed.replace("NAME", name).encode() + b"\n")
    assert (process.wait(60) == 0) is deleted
    os.close(ours)
    assert (topics.describe(database.kafka_bootstrap, name) is None) is deleted
