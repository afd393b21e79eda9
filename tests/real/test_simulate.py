"""`comporta simulate` as a person runs it, against a real broker."""

import json
import os
import re
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from confluent_kafka import Consumer, TopicPartition

from comporta.kafka import positions, sampling
from comporta.services.addresses import kafka_bootstrap
from comporta.settings import Settings
from support.typed import Said, typed

COMPORTA = Path(sysconfig.get_path("scripts")) / "comporta"
SAO_PAULO = ZoneInfo("America/Sao_Paulo")
Run = Callable[..., Said]


@pytest.fixture
def bootstrap(services: Settings) -> str:
    return kafka_bootstrap(services)


@pytest.fixture
def environ(services: Settings, tmp_path: Path) -> dict[str, str]:
    return {"COMPORTA_HOME": str(tmp_path / "home"), "COMPORTA_CACHE": str(services.cache)}


@pytest.fixture
def simulate(bootstrap: str, environ: dict[str, str], capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*options: str, topic: str = "none") -> Said:
        return typed(environ | {"COMPORTA_KAFKA_BOOTSTRAP": bootstrap, "COMPORTA_KAFKA_TOPIC": topic}, capfd, "simulate", *options)

    return run


def read(bootstrap: str, topic: str) -> list[Any]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "test-reader"})
    ranges = positions.watermarks(bootstrap, topic)
    consumer.assign([TopicPartition(topic, partition, 0) for partition in ranges])
    messages = consumer.consume(sum(readable.latest for readable in ranges.values()), timeout=30)
    consumer.close()
    return messages


def test_what_is_simulated_lies_in_the_topic_to_the_cent(bootstrap: str, topic: Callable[..., str], simulate: Run, tmp_path: Path) -> None:
    name = topic(4)
    said = simulate("--count", "20000", "--seed", "7", "--json", topic=name)
    document = json.loads(said.stdout)
    assert said.returncode == 0
    assert (document["produced"], document["acknowledged"], document["unsent"]) == (20_000, 20_000, 0)
    values = [json.loads(message.value()) for message in read(bootstrap, name)]
    assert sum(round(value["amount"] * 100) for value in values) == document["amount_cents"]
    assert sampling.sample_keys(bootstrap, name) == sampling.KeySample(800, 0, 0)
    path = tmp_path / "the same.jsonl"
    assert simulate("--count", "20000", "--seed", "7", "--to", f"file:{path}").returncode == 0
    by_id = {value["transaction_id"]: value for value in values}
    assert by_id == {value["transaction_id"]: value for value in map(json.loads, path.read_text().splitlines())}


def test_the_same_seed_gives_the_same_bytes_and_no_seed_gives_others(simulate: Run, tmp_path: Path) -> None:
    for number, options in enumerate((["--seed", "5"], ["--seed", "5"], [], [])):
        said = simulate("--count", "300", *options, "--to", f"file:{tmp_path / str(number)}", "--json")
        assert said.returncode == 0
    first, second, third, fourth = ((tmp_path / str(number)).read_bytes() for number in range(4))
    assert first == second
    assert len({first, third, fourth}) == 3


def test_a_drawn_seed_is_told_and_with_the_told_start_gives_the_same_again(simulate: Run, tmp_path: Path) -> None:
    drawn = json.loads(simulate("--count", "300", "--to", f"file:{tmp_path / 'drawn'}", "--json").stdout)
    again = simulate("--count", "300", "--to", f"file:{tmp_path / 'again'}", "--seed", str(drawn["seed"]), "--start", drawn["start"])
    assert again.returncode == 0
    assert (tmp_path / "drawn").read_bytes() == (tmp_path / "again").read_bytes()


def test_without_a_seed_the_messages_end_shortly_before_now(simulate: Run) -> None:
    said = simulate("--count", "500", "--to", "stdout")
    last = datetime.fromisoformat(json.loads(said.stdout.splitlines()[-1])["timestamp"]).replace(tzinfo=SAO_PAULO)
    assert timedelta() < datetime.now(UTC) - last < timedelta(days=1)


def test_to_stdout_only_records_are_printed_and_what_follows_may_stop_reading(simulate: Run, environ: dict[str, str]) -> None:
    said = simulate("--count", "100", "--to", "stdout")
    assert len([json.loads(line) for line in said.stdout.splitlines()]) == 100
    assert "100 of 100" in said.stderr
    with subprocess.Popen([COMPORTA, "simulate", "--count", "100000", "--to", "stdout"], env=environ, stdout=-1, stderr=-1) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
    assert process.returncode == 0


def test_live_messages_bear_the_time_at_which_they_are_sent(bootstrap: str, topic: Callable[..., str], simulate: Run) -> None:
    name, began = topic(1), time.monotonic()
    said = simulate("--count", "100", "--rate", "50", "--json", topic=name)
    assert json.loads(said.stdout)["acknowledged"] == 100
    assert 1.0 < time.monotonic() - began < 60
    for message in read(bootstrap, name):
        happened = datetime.fromisoformat(json.loads(message.value())["timestamp"]).replace(tzinfo=SAO_PAULO)
        assert -0.1 < message.timestamp()[1] / 1000 - happened.timestamp() < 3


def test_a_seed_keeps_its_records_whatever_the_rate(simulate: Run, tmp_path: Path) -> None:
    for name, options in (("slow", ["--rate", "200"]), ("fast", [])):
        assert simulate("--count", "100", "--seed", "3", *options, "--to", f"file:{tmp_path / name}").returncode == 0
    assert (tmp_path / "slow").read_bytes() == (tmp_path / "fast").read_bytes()


def test_what_the_broker_does_not_take_is_counted_named_and_exit_1(topic: Callable[..., str], simulate: Run) -> None:
    said = simulate("--count", "50", "--seed", "7", "--json", topic=topic(1, max_message_bytes="100"))
    document = json.loads(said.stdout)
    assert said.returncode == 1
    assert (document["produced"], document["acknowledged"], document["unsent"], document["amount_cents"]) == (50, 0, 50, 0)
    assert document["unsent_reasons"] == {"MSG_SIZE_TOO_LARGE": 50}
    assert document["unsent_ids"][0] == "tx-7-000000001"
    assert "50 of 50 transactions were not acknowledged" in document["error"]["message"]
    assert re.search(r"tx-7-000000001 \(1,0\d\d bytes\)", document["error"]["message"])


def test_ctrl_c_stops_after_the_message_and_tells_what_was_sent(bootstrap: str, topic: Callable[..., str], environ: dict[str, str]) -> None:
    name = topic(2)
    variables = environ | {"COMPORTA_KAFKA_BOOTSTRAP": bootstrap, "COMPORTA_KAFKA_TOPIC": name}
    process = subprocess.Popen([COMPORTA, "simulate", "--rate", "100", "--json"], env=variables, stdout=-1, stderr=-1)
    deadline = time.monotonic() + 60
    while not any(readable.latest for readable in positions.watermarks(bootstrap, name).values()) and time.monotonic() < deadline:
        time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    document = json.loads(out)
    assert process.returncode == 0
    assert document["stopped"] is True
    assert document["unsent"] == 0
    assert document["acknowledged"] == sum(readable.latest for readable in positions.watermarks(bootstrap, name).values()) > 0


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ([], 2, "how many?"),
        (["--count", "0"], 2, "--count"),
        (["--count", "1", "--fraud-rate", "2"], 2, "--fraud-rate"),
        (["--count", "1", "--to", "nowhere"], 2, "'nowhere' is no place to send to"),
        (["--count", "1", "--to", "stdout", "--json"], 2, "--to file:PATH"),
        (["--count", "1", "--start", "yesterday"], 2, "'yesterday' is no time"),
        (["--count", "1", "--start", "now"], 2, "--start now goes with --rate"),
        (["--count", "1", "--span", "long"], 2, "'long' is no length of time"),
        (["--rate", "1", "--span", "1h"], 2, "--span spreads a --count"),
        (["--count", "1", "--format", "xml"], 2, "classic-json"),
        (["--count", "1", "--to", "file:/no/such/folder/x"], 3, "/no/such/folder/x: the file cannot be made"),
        (["--count", "1"], 3, "topic none: the topic does not exist"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(simulate: Run, options: list[str], code: int, said: str) -> None:
    found = simulate(*options)
    assert (found.returncode, found.stdout if "--json" not in options else "") == (code, "")
    assert said in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_a_file_that_is_there_is_not_written_over(simulate: Run, tmp_path: Path) -> None:
    path = tmp_path / "there"
    path.write_text("mine")
    found = simulate("--count", "1", "--to", f"file:{path}")
    assert (found.returncode, path.read_text()) == (3, "mine")


def test_a_broker_that_is_away_is_exit_4_within_15_seconds(environ: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    found = typed(environ | {"COMPORTA_KAFKA_BOOTSTRAP": "127.0.0.1:1"}, capfd, "simulate", "--count", "1")
    assert (found.returncode, "127.0.0.1:1 refuses the connection" in found.stderr) == (4, True)
    assert time.monotonic() - began < 15
