"""The embedded Kafka: one broker that is its own controller (KRaft), on the loopback alone."""

import json
import os
import secrets
import shutil
import subprocess
from base64 import urlsafe_b64encode
from pathlib import Path

import psutil

from comporta.services import artifacts, java, ports, processes
from comporta.settings import Settings
from comporta.words.errors import DamagedState, ProcessDied, Setup

NAME = "kafka"
HEAP = "512m"
READY_SECONDS = 90
STOP_SECONDS = 30
# Between finding a free port and binding it somebody else may take it; only a port that was not named is chosen again.
ATTEMPTS = 3

_LOGGING = Path(__file__).with_name("broker.log4j2.properties")
_PROPERTIES = """# Written at every start; what may be chosen stands in comporta.toml.
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
# Relative to the folder that the broker is started in, so that no character of a path can be misread.
log.dirs={data}
# A topic is made by name and with its settings, never by a slip of the pen.
auto.create.topics.enable=false
# One broker cannot hold more than one copy.
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
default.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.num.partitions=4
share.coordinator.state.topic.num.partitions=4
group.initial.rebalance.delay.ms=0
# After a kill the controller lets the broker in again only when the session of the one before has run out.
broker.heartbeat.interval.ms=1000
broker.session.timeout.ms=5000
"""


def folder(home: Path) -> Path:
    return home / "kafka"


def logs_folder(home: Path) -> Path:
    return home / "logs" / "kafka"


def log_file(home: Path) -> Path:
    return logs_folder(home) / "server.log"


def output_file(home: Path) -> Path:
    """What the process said before and beside its log."""
    return logs_folder(home) / "output.log"


def _arguments(home: Path) -> list[str]:
    """What tells our broker from every other in a list of processes."""
    return ["kafka.Kafka", str(folder(home) / "server.properties")]


def find(home: Path) -> psutil.Process | None:
    """Our broker, also when its pid file is lost."""
    found = processes.running(home, NAME)
    if found is None and (folder(home) / "server.properties").exists():
        found = processes.adopt(home, NAME, _arguments(home))
    return found


def port(home: Path) -> int | None:
    """The port of the last start."""
    return _noted(home, "port")


def _noted(home: Path, key: str) -> int | None:
    value = processes.read_json(folder(home) / "state.json").get(key)
    return value if isinstance(value, int) else None


def start(settings: Settings) -> None:
    """Format the folder if need be, start the broker and wait until it answers. To be called only when no broker of ours runs."""
    jars = artifacts.ensure(settings.cache, "kafka")
    program = [str(java.java_home(settings.cache) / "bin" / "java"), "-cp", os.pathsep.join(str(jar) for jar in jars)]
    if not any(_came_up(settings, program, again=attempt > 0) for attempt in range(ATTEMPTS)):
        raise _ended(settings.home)


def _came_up(settings: Settings, program: list[str], *, again: bool) -> bool:
    """One attempt; False when somebody else was quicker to take a port."""
    home = settings.home
    chosen, controller = _choose_ports(settings, again=again)
    _write_configuration(home, chosen, controller)
    _format(home, program, controller)
    outcome = processes.until(lambda: is_ready(chosen), _launch(home, program), READY_SECONDS)
    if outcome == "late":
        raise ProcessDied(f"Kafka did not answer within {READY_SECONDS} s", do="see: comporta logs kafka")
    if outcome == "ended":
        processes.forget(home, NAME)
        if ports.is_free(chosen) and ports.is_free(controller):
            raise _ended(home)
    return outcome == "ready"


def _ended(home: Path) -> ProcessDied:
    return ProcessDied(f"Kafka ended while it started: {_last_words(home)}", do="see: comporta logs kafka")


def _launch(home: Path, program: list[str]) -> psutil.Process:
    options = [
        f"-Xmx{HEAP}",
        "-Xms128m",
        "-XX:+UseG1GC",
        "-XX:+ExitOnOutOfMemoryError",
        "-Djava.awt.headless=true",
        f"-Dcomporta.logs={logs_folder(home)}",
        f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
    ]
    command = [program[0], *options, *program[1:], *_arguments(home)]
    return processes.start(home, NAME, command, output=output_file(home), environ=_environ(), folder=folder(home))


def _environ() -> dict[str, str]:
    """What a JVM needs of ours, and none of our settings or secrets. Without a UTF-8 locale it cannot open a path with accents."""
    return {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "TZ", "TMPDIR"}} | {"LC_ALL": "C.UTF-8"}


def _choose_ports(settings: Settings, *, again: bool) -> tuple[int, int]:
    before, controller_before = (None, None) if again else (port(settings.home), _noted(settings.home, "controller_port"))
    chosen = ports.choose("kafka.port", settings.kafka.port, before)
    while True:
        controller = ports.choose("kafka.port", 0, controller_before)
        if controller != chosen:
            return chosen, controller
        controller_before = None


def _write_configuration(home: Path, chosen: int, controller: int) -> None:
    # Both hold what customers did: for their owner's eyes only.
    for place in (folder(home), logs_folder(home)):
        place.mkdir(parents=True, exist_ok=True)
        place.chmod(0o700)
    text = _PROPERTIES.format(port=chosen, controller_port=controller, data="data")
    processes.write_privately(folder(home) / "server.properties", text)
    processes.write_privately(folder(home) / "state.json", json.dumps({"port": chosen, "controller_port": controller}))


def _format(home: Path, program: list[str], controller: int) -> None:
    """Format beside the place and move it there whole, so that a half-formatted folder is never taken for data."""
    data, unfinished, configuration = (folder(home) / name for name in ("data", "data.formatting", "formatting.properties"))
    if (data / "meta.properties").exists():
        return
    if data.exists() and any(data.iterdir()):
        raise DamagedState(
            "holds files but no meta.properties", where=str(data), do="restore that file, or give up the data: comporta down --delete-data"
        )
    shutil.rmtree(unfinished, ignore_errors=True)
    processes.write_privately(configuration, _PROPERTIES.format(port=1, controller_port=controller, data=unfinished.name))
    cluster = urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")
    # Joined, for an id may begin with the sign that begins an option.
    command = [*program, "kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(configuration)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=_environ(), cwd=folder(home))
    if ran.returncode:
        lines = (ran.stderr.strip() or ran.stdout.strip() or "no reason given").splitlines()
        raise Setup(f"Kafka could not format its folder: {lines[-1][:200]}", where=str(data))
    if data.exists():
        data.rmdir()
    unfinished.rename(data)
    configuration.unlink()


def is_ready(chosen: int) -> bool:
    """Whether a broker answers there as a broker does."""
    return ports.answers(chosen) and answers_as_kafka(f"{ports.LOOPBACK}:{chosen}", 3.0)


def answers_as_kafka(bootstrap: str, seconds: float) -> bool:
    return count(bootstrap, seconds) > 0


def count(bootstrap: str, seconds: float = 5.0) -> int:
    """How many brokers the cluster says it has; 0 when none answers as a broker does."""
    from confluent_kafka import KafkaException  # noqa: PLC0415 - slow to load, and not needed while nothing runs
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415

    try:
        client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        return len(client.list_topics(timeout=seconds).brokers)
    except KafkaException:
        return 0


def _last_words(home: Path) -> str:
    for path in (log_file(home), output_file(home)):
        grave = processes.tail(path, lambda line: "ERROR" in line or "FATAL" in line or "Exception" in line or "Error" in line)
        if grave:
            return grave[:200]
    return "it said nothing"


def stop(home: Path) -> bool:
    find(home)
    return processes.stop(home, NAME, STOP_SECONDS)
