"""The embedded services as a person meets them: up, status, doctor, down, and everything that can go wrong between."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from comporta.kafka import positions, topics
from comporta.services import broker, database, embedded, ports, processes
from comporta.services.addresses import Addresses, addresses
from comporta.services.embedded import State
from comporta.settings import Settings, load
from comporta.words.errors import DamagedState, Setup, Unreachable

FREE_PORTS = {"COMPORTA_KAFKA_PORT": "0", "COMPORTA_POSTGRES_PORT": "0", "COMPORTA_DASHBOARD_PORT": "0"}


def comporta(environ: Mapping[str, str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run a command with --json; its exit code and its document."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("COMPORTA_")}
    command = [sys.executable, "-m", "comporta.commands.main", *arguments, "--json"]
    ran = subprocess.run(command, env=clean | dict(environ), capture_output=True, text=True, check=False, timeout=240)
    return ran.returncode, json.loads(ran.stdout)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A home of this file's own, whose services its tests may kill. Its path has a space, an accent and a comma."""
    settings = load(home=tmp_path_factory.mktemp("own") / "meu lar é este, sim", environ=FREE_PORTS)
    yield settings
    embedded.down(settings, delete_data=True)


@pytest.fixture
def running(own: Settings) -> Settings:
    """The same, with both services up."""
    embedded.up(own)
    return own


def process_of(settings: Settings, name: str) -> psutil.Process:
    found = processes.running(settings.home, name)
    assert found is not None
    return found


def kill(settings: Settings, name: str) -> None:
    process = process_of(settings, name)
    process.send_signal(signal.SIGKILL)
    assert processes.until(lambda: False, process, 20) == "ended"


def test_up_twice_starts_once_status_tells_and_down_leaves_no_process(tmp_path: Path) -> None:
    environ = FREE_PORTS | {"COMPORTA_HOME": str(tmp_path / "home")}
    code, first = comporta(environ, "up")
    assert code == 0
    assert first["started"] == ["postgres", "kafka"]
    pids = [first["services"][name]["pid"] for name in ("kafka", "postgres")]

    code, second = comporta(environ, "up")
    assert (code, second["started"]) == (0, [])
    code, status = comporta(environ, "status")
    assert code == 0
    assert [status["services"][name]["pid"] for name in ("kafka", "postgres")] == pids
    assert {name: service["state"] for name, service in status["services"].items()} == {"kafka": "up", "registry": "down", "postgres": "up"}
    assert status["services"]["registry"]["url"] is None
    assert status["line"]["state"] == "down"
    with psycopg.connect(status["services"]["postgres"]["dsn"]) as connection:
        assert connection.execute("SELECT current_user::text").fetchone() == ("comporta_writer",)
    topic = topics.describe(status["services"]["kafka"]["bootstrap"], "transactions")
    assert topic is not None
    assert topic.partitions == 4
    wanted = {
        "message.timestamp.type": "LogAppendTime",
        "retention.bytes": "10737418240",
        "retention.ms": "-1",
        "segment.bytes": "1073741824",
    }
    assert {name: topic.config[name] for name in wanted} == wanted
    assert comporta(environ, "doctor")[0] == 0

    code, down = comporta(environ, "down", "--delete-data")
    assert (code, down["stopped"]) == (0, ["kafka", "postgres"])
    assert not [pid for pid in pids if psutil.pid_exists(pid)]
    assert not [one for one in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(one.info["cmdline"] or [])]


def test_a_killed_broker_is_recognised_and_started_again_with_what_it_held(running: Settings) -> None:
    bootstrap = addresses(running).kafka_bootstrap
    topics.create(bootstrap, "kept", 2)
    kill(running, "kafka")
    assert embedded.status(running).kafka.state is State.FAILED
    with pytest.raises(Unreachable, match="comporta up"):
        addresses(running)
    report = embedded.up(running)
    assert report.started == ("kafka",)
    assert addresses(running).kafka_bootstrap == bootstrap
    assert positions.watermarks(bootstrap, "kept").keys() == {0, 1}


def test_a_killed_database_is_recognised_and_started_again_with_what_was_committed(running: Settings) -> None:
    owner = addresses(running).owner_dsn
    with psycopg.connect(owner) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    kill(running, "postgres")
    assert embedded.status(running).postgres.state is State.FAILED
    assert embedded.up(running).started == ("postgres",)
    with psycopg.connect(owner) as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)


def test_a_lost_pid_file_does_not_make_a_second_server(running: Settings) -> None:
    before = {name: process_of(running, name).pid for name in ("kafka", "postgres")}
    for name in before:
        processes.forget(running.home, name)
    assert embedded.up(running).started == ()
    assert {name: process_of(running, name).pid for name in before} == before


def test_a_paused_broker_is_not_called_up(running: Settings) -> None:
    broker_process = process_of(running, "kafka")
    broker_process.suspend()
    try:
        assert embedded.status(running).kafka.state in {State.STARTING, State.DEGRADED}
    finally:
        broker_process.resume()


def test_everything_listens_on_the_loopback_alone(running: Settings) -> None:
    for name in ("kafka", "postgres"):
        family = [process_of(running, name), *process_of(running, name).children(recursive=True)]
        listening = {
            connection.laddr.ip for one in family for connection in one.net_connections() if connection.status == psutil.CONN_LISTEN
        }
        assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}


def test_nobody_enters_the_database_without_the_password_and_the_reader_makes_no_table(running: Settings) -> None:
    at = addresses(running)
    port = database.port(running.home)
    for user in (database.SUPERUSER, *database.ROLES):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(f"postgresql://{user}@127.0.0.1:{port}/comporta", connect_timeout=5, passfile="/dev/null")  # noqa: S106, RUF100
    for dsn in (at.reader_dsn, at.writer_dsn):
        with psycopg.connect(dsn) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("CREATE TABLE mine (a integer)")
    secret = database.folder(running.home) / "passwords.json"
    assert secret.stat().st_mode & 0o777 == 0o600


def test_the_database_is_durable(running: Settings) -> None:
    facts = database.facts(addresses(running).writer_dsn)
    assert facts.settings == {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}
    assert facts.version.startswith("18.")


def test_a_service_that_cannot_start_says_why_and_what_was_started_with_it_is_stopped(running: Settings) -> None:
    embedded.down(running)
    meta = broker.folder(running.home) / "data" / "meta.properties"
    text = meta.read_text(encoding="utf-8")
    meta.write_text("nonsense\n", encoding="utf-8")
    try:
        with pytest.raises(Exception, match="Kafka ended while it started"):
            embedded.up(running)
        assert processes.running(running.home, "postgres") is None
    finally:
        meta.write_text(text, encoding="utf-8")


def test_a_half_formatted_folder_is_made_anew_and_one_with_data_is_not_touched(running: Settings) -> None:
    embedded.down(running)
    place = broker.folder(running.home)
    (place / "data").rename(place / "kept")
    (place / "data").mkdir()
    (place / "data.formatting").mkdir()
    (place / "data.formatting" / "half").write_text("", encoding="utf-8")
    assert "kafka" in embedded.up(running).started
    embedded.down(running)
    (place / "data" / "meta.properties").unlink()
    with pytest.raises(DamagedState, match=r"no meta\.properties"):
        embedded.up(running)
    assert any((place / "data").iterdir())
    for left in sorted((place / "data").rglob("*"), reverse=True):
        left.unlink() if left.is_file() else left.rmdir()
    (place / "data").rmdir()
    (place / "kept").rename(place / "data")


def test_logs_roll(running: Settings) -> None:
    embedded.down(running)
    log = broker.log_file(running.home)
    log.write_bytes(b"x" * 11_000_000)
    for number in range(9):
        (database.logs_folder(running.home) / f"postgres-2020010{number}-000000.log").write_text("old\n", encoding="utf-8")
    embedded.up(running)
    assert log.with_name("server.1.log").stat().st_size >= 11_000_000
    assert log.stat().st_size < 10_000_000
    assert len(database.log_files(running.home)) == database.KEPT_LOGS


def test_down_first_ends_who_uses_the_services(running: Settings) -> None:
    waiting = [sys.executable, "-c", "import threading; threading.Event().wait(60)"]
    user = processes.start(running.home, "line-line", waiting, output=running.home / "logs" / "line.out", environ={})
    assert embedded.down(running) == ("line-line", "kafka", "postgres")
    assert not psutil.pid_exists(user.pid)


def test_a_stale_pid_file_does_not_make_down_touch_a_stranger(tmp_path: Path) -> None:
    settings = load(home=tmp_path / "home", environ=FREE_PORTS)
    with subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait(60)"]) as stranger:
        for name in ("kafka", "postgres", "line-line"):
            processes.write_pid(settings.home, name, stranger.pid)
            path = settings.home / "run" / f"{name}.pid"
            path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"since_boot": 1.0}), encoding="utf-8")
        assert embedded.down(settings) == ()
        assert stranger.poll() is None
        stranger.kill()


def test_a_port_that_is_taken_names_its_owner_and_starts_nothing(tmp_path: Path) -> None:
    with socket.socket() as server:
        server.bind((ports.LOOPBACK, 0))
        server.listen()
        environ = FREE_PORTS | {"COMPORTA_POSTGRES_PORT": str(server.getsockname()[1])}
        settings = load(home=tmp_path / "home", environ=environ)
        with pytest.raises(Setup, match=rf"is taken by .*pid {os.getpid()}.*COMPORTA_POSTGRES_PORT"):
            embedded.up(settings)
    assert not (broker.folder(settings.home) / "data").exists()


def test_down_in_a_second_home_that_points_at_the_first_touches_nothing(
    services: Settings, outside: Callable[[Addresses, str], Mapping[str, str]], fresh_database: Addresses
) -> None:
    environ = outside(fresh_database, "second-home")
    before = {name: process_of(services, name).pid for name in ("kafka", "postgres")}
    code, up = comporta(environ, "up")
    assert code == 0
    assert [up["services"][name]["state"] for name in ("kafka", "postgres")] == ["external", "external"]
    assert [up["services"][name]["answers"] for name in ("kafka", "postgres")] == [True, True]
    assert up["started"] == []
    assert comporta(environ, "down", "--delete-data") == (0, {"stopped": [], "deleted_data": True})
    assert {name: process_of(services, name).pid for name in before} == before
    found = topics.describe(fresh_database.kafka_bootstrap, "second-home")
    assert found is not None


def test_doctor_finds_a_compacted_topic_with_producers_times_and_misplaced_keys(
    services: Settings,
    topic: Callable[..., str],
    outside: Callable[[Addresses, str], Mapping[str, str]],
    fresh_database: Addresses,
    produce_to: Callable[[str, int, bytes], None],
) -> None:
    name = topic(partitions=2, cleanup_policy="compact", message_timestamp_type="CreateTime", retention_ms="3600000")
    for partition in (0, 1):
        produce_to(name, partition, b"the same customer")
    environ = outside(fresh_database, name)
    assert comporta({**environ, "COMPORTA_KAFKA_TOPIC": "another"}, "up")[0] == 0
    code, document = comporta(environ, "doctor")
    wrong = {one["check"]: one for one in document["checks"] if one["grade"] == "problem"}
    assert code == 1
    assert document["healthy"] is False
    assert wrong.keys() == {"compaction", "append time", "retention", "keys"}
    assert "1 of 2 sampled records lie in another partition" in wrong["keys"]["what"]
    assert all(one["do"] for one in wrong.values())
    assert services.home.exists()


@pytest.fixture
def produce_to(services: Settings) -> Callable[[str, int, bytes], None]:
    """Puts a record with a key into a partition, wherever the key belongs."""
    from confluent_kafka import Producer  # noqa: PLC0415 - only this test produces

    producer = Producer({"bootstrap.servers": addresses(services).kafka_bootstrap})

    def produce(topic: str, partition: int, key: bytes) -> None:
        producer.produce(topic, value=b"x", key=key, partition=partition)
        assert producer.flush(20) == 0

    return produce


def test_status_with_services_that_never_answer_comes_within_15_seconds(tmp_path: Path) -> None:
    """Sockets that accept and stay silent are the slowest that a service can be."""
    with socket.socket() as silent:
        silent.bind((ports.LOOPBACK, 0))
        silent.listen(50)
        port = silent.getsockname()[1]
        environ = {
            "COMPORTA_HOME": str(tmp_path / "home"),
            "COMPORTA_KAFKA_BOOTSTRAP": f"127.0.0.1:{port}",
            "COMPORTA_POSTGRES_DSN": f"postgresql://me:s3cret@127.0.0.1:{port}/d",
        }
        too_late = threading.Event()
        watch = threading.Timer(15, too_late.set)
        watch.start()
        code, status = comporta(environ, "status")
        watch.cancel()
    assert not too_late.is_set()
    assert code == 0
    assert [status["services"][name]["answers"] for name in ("kafka", "postgres")] == [False, False]
    assert comporta(environ, "doctor")[0] == 1


def test_up_with_an_external_kafka_that_is_away_is_exit_code_four(tmp_path: Path, fresh_database: Addresses) -> None:
    environ = {
        "COMPORTA_HOME": str(tmp_path / "home"),
        "COMPORTA_KAFKA_BOOTSTRAP": f"127.0.0.1:{ports.free()}",
        "COMPORTA_POSTGRES_DSN": fresh_database.owner_dsn,
    }
    code, document = comporta(environ, "up")
    assert code == document["error"]["code"] == 4
