"""Bad moments are waited out, signals are heeded, and what dies is named."""

import json
import random
import signal
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from confluent_kafka.admin import AdminClient

from comporta import assembly
from comporta.assembly import Ownership
from comporta.judging import packs
from comporta.kafka import topics
from comporta.line import run
from comporta.postgres import migrate
from comporta.services import database, embedded
from comporta.services.addresses import Addresses
from comporta.settings import Settings, load
from comporta.words.errors import AnotherOwner, DataLoss, Unreachable
from support.lines import Lines, produce, rows, some, until


def decided(at: Addresses) -> int:
    return int(rows(at.owner_dsn, "select count(*) from decisions")[0][0])


def has_started(lines: Lines, at: Addresses, name: str) -> bool:
    """Its first batch is committed."""
    log = Path(lines.environ(at, name)["COMPORTA_HOME"]) / "logs" / "line-line.log"
    return log.exists() and "batch_committed" in log.read_text()


def test_a_line_waits_while_postgresql_is_away_goes_on_when_it_is_back_and_ends_well_on_ctrl_c(
    services: Settings, fresh_database: Addresses, topic: Callable[..., str], lines: Lines
) -> None:
    name = topic(partitions=2)
    produce(fresh_database.kafka_bootstrap, name, some(400))
    line = lines.start(fresh_database, name, "stream", "--json")
    until(lambda: has_started(lines, fresh_database, name))
    server = database.find(services.home)
    assert server is not None
    server.send_signal(signal.SIGINT)
    server.wait(30)
    produce(fresh_database.kafka_bootstrap, name, some(300, first=400))
    log = Path(lines.environ(fresh_database, name)["COMPORTA_HOME"]) / "logs" / "line-line.log"
    until(lambda: "waiting" in log.read_text())
    embedded.up(services)
    until(lambda: decided(fresh_database) == 700)

    line.send_signal(signal.SIGINT)
    out, err = line.communicate(timeout=60)
    assert line.returncode == 0, err
    assert json.loads(out)["rows"] == 700


def test_a_jvm_that_is_killed_under_an_idle_line_is_named_with_exit_71(
    fresh_database: Addresses, topic: Callable[..., str], lines: Lines
) -> None:
    name = topic(partitions=1)
    produce(fresh_database.kafka_bootstrap, name, some(50))
    line = lines.start(fresh_database, name, "stream", "--json")
    until(lambda: has_started(lines, fresh_database, name))
    (jvm,) = [child for child in psutil.Process(line.pid).children() if "java" in child.name()]
    jvm.kill()
    out, err = line.communicate(timeout=90)
    assert line.returncode == 71, err
    assert "JVM died with signal 9" in json.loads(out)["error"]["message"]


def test_restart_starts_a_line_in_the_background_or_says_why_it_did_not(
    fresh_database: Addresses, topic: Callable[..., str], lines: Lines
) -> None:
    name = topic(partitions=1)
    code, answer, _ = lines.run(fresh_database, name, "restart", COMPORTA_LINE_PACK="nothing")
    assert (code, answer["error"]["code"]) == (3, 3)
    assert "nothing" in answer["error"]["message"]

    code, answer, err = lines.run(fresh_database, name, "restart")
    assert code == 0, err
    try:
        until(lambda: lines.run(fresh_database, name, "status")[1]["line"]["spark_ui"])
        _, status, _ = lines.run(fresh_database, name, "status")
        assert (status["line"]["state"], status["line"]["pid"]) == ("up", answer["pid"])
    finally:
        assert lines.run(fresh_database, name, "stop")[1]["stopped"] == ["line"]
    assert not psutil.pid_exists(answer["pid"])


def test_a_topic_made_again_under_an_idle_line_is_noticed(
    fresh_database: Addresses, topic: Callable[..., str], lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "WATCH_EVERY", timedelta(seconds=1))
    name = topic(partitions=1)
    produce(fresh_database.kafka_bootstrap, name, some(20))
    settings = load(environ=lines.environ(fresh_database, name))
    line = assembly.line(settings, drain=False, take_over=None, confirmed=None, on_commit=lambda _totals: None)
    ended: list[BaseException] = []

    def work() -> None:
        try:
            line.run()
        except DataLoss as loss:
            ended.append(loss)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        until(lambda: line.totals.rows == 20)
        client = AdminClient({"bootstrap.servers": fresh_database.kafka_bootstrap})
        client.delete_topics([name])[name].result()
        until(lambda: topics.describe(fresh_database.kafka_bootstrap, name) is None)
        topics.create(fresh_database.kafka_bootstrap, name, 1, {"message.timestamp.type": "LogAppendTime"})
        thread.join(60)
    finally:
        line.stop()
        thread.join(60)
    assert [type(error) for error in ended] == [DataLoss]
    assert "deleted and created again" in str(ended[0])


@pytest.fixture
def owner(fresh_database: Addresses, topic: Callable[..., str], lines: Lines) -> Iterator[Callable[..., Ownership]]:
    """Makes owners of one line, as as many processes would."""
    name = topic(partitions=2)
    produce(fresh_database.kafka_bootstrap, name, some(random.Random(1).randrange(50, 60)))  # noqa: S311 - a test's own chance
    settings = load(environ=lines.environ(fresh_database, name))
    migrate.ensure(fresh_database.owner_dsn, fresh_database.writer_dsn, fresh_database.reader_dsn)
    made: list[Ownership] = []

    def make(*, take_over: bool = False) -> Ownership:
        made.append(Ownership(settings, fresh_database, packs.builtin("classic-v1"), take_over, None, lambda _point: None))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_beginning_that_fails_half_way_is_done_again_whole(
    owner: Callable[..., Ownership], fresh_database: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_arguments: object) -> dict[int, int]:
        raise Unreachable("Kafka is away for a moment")

    line = owner()
    with monkeypatch.context() as once:
        once.setattr(assembly, "_first_offsets", away)
        with pytest.raises(Unreachable):
            line.take()
    assert set(line.take().ledger) == {0, 1}
    kinds = {kind for (kind,) in rows(fresh_database.owner_dsn, "select kind from control_events")}
    assert kinds == {"pack_activated", "dedupe_window", "decode_limits", "versions"}


def test_a_line_that_was_taken_over_does_not_take_the_line_back(owner: Callable[..., Ownership]) -> None:
    first, second = owner(take_over=True), owner(take_over=True)
    first.take()
    second.take()
    with pytest.raises(AnotherOwner, match="taken over by"):
        first.take()
    assert second.still_held()
