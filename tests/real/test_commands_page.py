"""docs/commands.md: every command that it tells people to type works, in the order of the page."""

import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from comporta.kafka import positions, topics
from comporta.kafka.mirror import Mirror
from comporta.postgres import migrate
from comporta.services.addresses import Addresses

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
TOPIC = "transactions"
COMPORTA = Path(sysconfig.get_path("scripts")) / "comporta"
# What the guide's people type at Kafka, as tool and first option.
GUIDE = [
    ("kafka-topics", "--list"),
    ("kafka-topics", "--describe"),
    ("GetOffsetShell", "--time -1"),
    ("kafka-consumer-groups", "--list"),
    ("kafka-consumer-groups", "--describe --group"),
    ("kafka-consumer-groups", "--describe --all-groups"),
    ("kafka-consumer-groups", "--reset-offsets"),
    ("kafka-topics", "--delete"),
    ("kafka-topics", "--create"),
    ("stream.py", "--count"),
]
# What a line must print to have done its work, where that is not obvious from its exit code.
PRINTS = {
    "topics --list": TOPIC,
    "topics --describe": "PartitionCount: 4",
    "kafka offsets": f"{TOPIC}:3:",
    "groups --list": "comporta-line",
    "groups --describe --group": "CURRENT-OFFSET",
    "comporta lag": "LOG-END-OFFSET",
    "groups --describe --all-groups": "comporta-line",
    "reset-offsets --to-latest": "my-group",
    "reset-offsets --to-earliest": "my-group",
    "kafka consume": '"transaction_id"',
    "comporta simulate": "1,000 of 1,000 transactions acknowledged",
    "topics --create": f"Created topic {TOPIC}",
}


def rows() -> list[tuple[str, str]]:
    """What one used to type, and what to type now."""
    cells = [re.split(r"(?<!\\)\|", line.strip().strip("|")) for line in PAGE.read_text().splitlines() if line.startswith("|")]
    return [(cell[0].strip(), cell[1].strip().strip("`")) for cell in cells[2:]]


@pytest.mark.parametrize(("tool", "option"), GUIDE)
def test_every_kafka_command_of_the_guide_stands_on_the_page(tool: str, option: str) -> None:
    assert any(tool in before and option in before for before, _ in rows())


def test_every_line_of_the_page_works(fresh_database: Addresses, outside: Callable[[Addresses, str], Mapping[str, str]]) -> None:
    bootstrap = fresh_database.kafka_bootstrap
    migrate.ensure(fresh_database.owner_dsn, fresh_database.writer_dsn, fresh_database.reader_dsn)
    assert topics.describe(bootstrap, TOPIC) is None, "another test has left its topic behind"
    topics.create(bootstrap, TOPIC, 4)
    environ = outside(fresh_database, TOPIC)
    mirror = Mirror(bootstrap, "comporta-line")
    mirror.post(dict.fromkeys([(TOPIC, partition) for partition in range(4)], 0), "")
    mirror.close()
    subprocess.run([COMPORTA, "simulate", "--count", "50"], env=environ, check=True, capture_output=True)
    try:
        for _, command in rows():
            said = subprocess.run(
                [COMPORTA, *shlex.split(command)[1:]], env=environ, input="{}\n", capture_output=True, text=True, check=False, timeout=90
            )
            assert said.returncode == 0, (command, said.stdout, said.stderr)
            for name, wanted in PRINTS.items():
                if name in command:
                    assert wanted in said.stdout, (command, said.stdout, said.stderr)
        made = topics.existing(bootstrap, TOPIC)
        assert (made.partitions, made.config["retention.bytes"]) == (4, "10737418240")
        assert all(found.latest == 0 for found in positions.watermarks(bootstrap, TOPIC).values())
    finally:
        subprocess.run(
            [COMPORTA, "kafka", "topics", "--delete", "--topic", TOPIC, "--yes", TOPIC], env=environ, check=True, stdout=sys.stderr
        )
