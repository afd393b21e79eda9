"""The learners' programs in docs/examples run against the embedded Kafka; one JVM serves them all, for its start is most of their time."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import confluent_kafka
import fastavro
import pytest

from comporta.kafka import keys, topics
from comporta.services.addresses import addresses
from comporta.settings import Settings

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
PROGRAMS = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "session")

# Each program as `python NAME.py ARGUMENTS` would run it, one after the other; the JVM that the first one starts lives on.
RUN_IN_TURN = """
import json, pathlib, runpy, sys
folder, runs = sys.argv[1], json.loads(sys.argv[2])
sys.path.insert(0, folder)
for name, arguments in runs:
    print(f"=== {name}", flush=True)
    sys.argv = [name, *arguments]
    runpy.run_path(str(pathlib.Path(folder) / f"{name}.py"), run_name="__main__")
"""

USER = {
    "type": "record",
    "name": "User",
    "namespace": "com.exemplo.kafka",
    "fields": [{"name": "id", "type": "string"}, {"name": "nome", "type": "string"}, {"name": "idade", "type": "int"}],
}


@pytest.fixture(scope="module")
def topics_of_examples(services: Settings) -> Mapping[str, str]:
    bootstrap = addresses(services).kafka_bootstrap
    return {name: topics.create(bootstrap, f"example-{name}", 2, {}).name for name in ("messages", "users")}


@pytest.fixture(scope="module")
def printed(services: Settings, topics_of_examples: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What each program printed."""
    bootstrap = addresses(services).kafka_bootstrap
    messages, users = topics_of_examples["messages"], topics_of_examples["users"]
    busy = str(keys.partition_for(b"1", 2))
    runs = [
        ("write_dataframe_to_topic", [bootstrap, messages]),
        ("read_topic_to_console", [bootstrap, messages, "--until-end"]),
        ("read_range", [bootstrap, messages, busy, "0", "2"]),
        ("avro_by_hand", [bootstrap, users]),
    ]
    assert sorted(name for name, _ in runs) == PROGRAMS, "every program in docs/examples is run here"
    folder = tmp_path_factory.mktemp("examples")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("COMPORTA_")} | {
        "COMPORTA_CACHE": str(services.cache),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    ran = subprocess.run(
        [sys.executable, "-c", RUN_IN_TURN, str(EXAMPLES), json.dumps(runs)],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-4000:]
    parts = [part.partition("\n") for part in ran.stdout.split("=== ")[1:]]
    return {name: text for name, _, text in parts}


def rows_of(printed_table: str) -> list[tuple[str, ...]]:
    """The rows of Spark's tables, without their headings."""
    lines = [line for line in printed_table.splitlines() if line.startswith("|")]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines][1:]


def values_in(bootstrap: str, topic: str, count: int) -> list[tuple[str, bytes]]:
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "plain"})
    consumer.assign([confluent_kafka.TopicPartition(topic, partition, 0) for partition in range(2)])
    found = consumer.consume(count, timeout=30)
    consumer.close()
    return [((message.key() or b"").decode(), message.value() or b"") for message in found]


def test_a_data_frame_written_to_a_topic_is_read_by_a_plain_client(
    services: Settings, topics_of_examples: Mapping[str, str], printed: Mapping[str, str]
) -> None:
    assert "3 messages written" in printed["write_dataframe_to_topic"]
    found = values_in(addresses(services).kafka_bootstrap, topics_of_examples["messages"], 3)
    assert sorted(found) == [("1", b"mensagem 1"), ("1", b"mensagem 3"), ("2", b"mensagem 2")]


def test_a_stream_shows_what_the_topic_holds_on_the_console(printed: Mapping[str, str]) -> None:
    assert "Batch: 0" in printed["read_topic_to_console"]
    shown = [row[2:] for row in rows_of(printed["read_topic_to_console"])]
    assert sorted(shown) == [("1", "mensagem 1"), ("1", "mensagem 3"), ("2", "mensagem 2")]


def test_a_range_shows_its_offsets_and_no_others(printed: Mapping[str, str]) -> None:
    assert [(row[0], row[2]) for row in rows_of(printed["read_range"])] == [("0", "1"), ("1", "1")]


def test_users_written_by_hand_are_avro_that_another_library_reads(
    services: Settings, topics_of_examples: Mapping[str, str], printed: Mapping[str, str]
) -> None:
    found = values_in(addresses(services).kafka_bootstrap, topics_of_examples["users"], 2)
    users = [fastavro.schemaless_reader(io.BytesIO(value), USER, None) for _, value in found]
    assert sorted(user["nome"] for user in users if isinstance(user, dict)) == ["Ana", "João"]
    assert ("[02 31 06 41 6E 61 3C]", "1", "Ana", "30") in rows_of(printed["avro_by_hand"])


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_explains_itself_in_two_lines_and_says_how_to_run_it(program: str) -> None:
    docstring = (EXAMPLES / f"{program}.py").read_text().split('"""')[1].strip().splitlines()
    assert [len(docstring), docstring[2]] == [4, ""]
    assert docstring[3].strip().startswith(f".venv/bin/python docs/examples/{program}.py BOOTSTRAP")
