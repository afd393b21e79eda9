"""`comporta up`: what is embedded runs, the database is of this version, the topic is there with its settings."""

from rich.console import Console

from comporta.commands import shell
from comporta.commands.shell import Answer
from comporta.commands.status import document, show
from comporta.kafka import clients, topics
from comporta.postgres import migrate
from comporta.services import embedded
from comporta.services.addresses import addresses
from comporta.settings import Settings, load


def up(as_json: shell.Json = False) -> None:
    """Start the embedded Kafka and PostgreSQL, make the database and the topic. What runs already is left alone."""

    def work() -> Answer:
        settings = load()
        with shell.waiting("starting", as_json=as_json):
            report = embedded.up(settings)
            prepare(settings)

        def say(console: Console) -> None:
            show(console, settings, report)

        return Answer(document(settings, report) | {"started": list(report.started)}, say)

    shell.answer(as_json, work)


def prepare(settings: Settings) -> None:
    """A fresh database is migrated, a missing topic is made; what is there is left as it is."""
    at = addresses(settings)
    clients.reachable(at.kafka_bootstrap)
    migrate.ensure(at.owner_dsn, at.writer_dsn, at.reader_dsn)
    topics.create(at.kafka_bootstrap, settings.kafka.topic, settings.kafka.partitions, topic_config(settings))


def topic_config(settings: Settings) -> dict[str, str]:
    """How Comporta makes its topic: append times, so that no record's own time decides what retention keeps."""
    hours = settings.kafka.retention_hours
    return {
        "message.timestamp.type": "LogAppendTime",
        "cleanup.policy": "delete",
        "retention.bytes": str(settings.kafka.retention_bytes),
        "retention.ms": str(hours * 3_600_000 if hours >= 0 else -1),
        "segment.bytes": str(settings.kafka.segment_bytes),
    }
