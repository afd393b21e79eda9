"""Kafka's own command-line tools, with the bootstrap address filled in."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from comporta.words.errors import Usage

TOOLS = {
    "topics": "org.apache.kafka.tools.TopicCommand",
    "groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "offsets": "org.apache.kafka.tools.GetOffsetShell",
    "produce": "org.apache.kafka.tools.ConsoleProducer",
    "consume": "org.apache.kafka.tools.consumer.ConsoleConsumer",
}
_GONE = ("--broker-list", "--zookeeper")


def with_bootstrap(arguments: Sequence[str], bootstrap: str) -> list[str]:
    """The tool's arguments; an address that was typed stays, one that was not is filled in, an option that Kafka no longer has is refused."""
    names = {argument.partition("=")[0] for argument in arguments}
    for gone in _GONE:
        if gone in names:
            raise Usage(f"Kafka's tools no longer have {gone}", where="comporta kafka", do="leave it out: the address is filled in")
    return list(arguments) if "--bootstrap-server" in names else ["--bootstrap-server", bootstrap, *arguments]


def run(tool: str, arguments: Sequence[str], *, java: Path, classpath: Sequence[Path]) -> int:
    """Runs one of TOOLS on our stdin, stdout and stderr; returns its exit code."""
    jars = ":".join(str(jar) for jar in classpath)
    # C1 alone and little heap: a tool lives for a second. What it has to say it prints; its log would only repeat that as a stack trace.
    options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dlog4j2.level=OFF"]
    command = [str(java), *options, "-cp", jars, TOOLS[tool], *arguments]
    with subprocess.Popen(command) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue  # Ctrl-C has reached the tool itself, which ends as it should
