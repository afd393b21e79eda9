"""What a topic is: its id, its partitions, its configuration; and how one is made."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Event
from typing import Any
from uuid import UUID

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType  # type: ignore[attr-defined]  # re-exported without saying so
from confluent_kafka.cimpl import NewTopic

from comporta.kafka.clients import REACH_SECONDS, REQUEST_SECONDS, admin, failure
from comporta.words.errors import Setup, Unreachable


@dataclass(frozen=True)
class Topic:
    """A topic as the cluster describes it now. Leader None: a partition that nobody leads."""

    name: str
    topic_id: UUID
    partitions: int
    config: Mapping[str, str]
    leaders: Mapping[int, int | None]
    replicas: Mapping[int, tuple[int, ...]]
    in_sync: Mapping[int, tuple[int, ...]]


def describe(bootstrap: str, topic: str) -> Topic | None:
    """None: there is no such topic."""
    client, where = admin(bootstrap), f"topic {topic}"
    try:
        futures = client.describe_topics(TopicCollection([topic]), request_timeout=REQUEST_SECONDS)
        described = futures[topic].result()
        config = _config(client, topic)
    except KafkaException as exception:
        if _is(exception, KafkaError.UNKNOWN_TOPIC_OR_PART):
            return None
        raise failure(exception, where) from None
    return Topic(
        name=described.name,
        topic_id=_uuid(described.topic_id),
        partitions=len(described.partitions),
        config=config,
        leaders={part.id: _node(part.leader) for part in described.partitions},
        replicas={part.id: tuple(node.id for node in part.replicas) for part in described.partitions},
        in_sync={part.id: tuple(node.id for node in part.isr) for part in described.partitions},
    )


def existing(bootstrap: str, topic: str) -> Topic:
    """As describe, for callers that cannot go on without the topic."""
    found = describe(bootstrap, topic)
    if found is None:
        raise Setup("the topic does not exist", where=f"topic {topic}", do="make it with: comporta up, or: comporta kafka topics --create")
    return found


def names(bootstrap: str) -> list[str]:
    """Every topic's name, Kafka's internal ones left out."""
    client = admin(bootstrap)
    try:
        listed = client.list_topics(timeout=REQUEST_SECONDS).topics
    except KafkaException as exception:
        raise failure(exception, "Kafka") from None
    return sorted(name for name in listed if not name.startswith("__"))


def create(bootstrap: str, name: str, partitions: int, config: Mapping[str, str] | None = None, replication: int = -1) -> Topic:
    """The topic, made if it was not there; -1 replicates as the cluster does by default. Returns once every partition has a leader."""
    wanted = NewTopic(name, partitions, replication, config=dict(config or {}))
    client = admin(bootstrap)
    try:
        client.create_topics([wanted], request_timeout=REQUEST_SECONDS)[name].result()
    except KafkaException as exception:
        if not _is(exception, KafkaError.TOPIC_ALREADY_EXISTS):
            raise failure(exception, f"topic {name}") from None
    return _led(bootstrap, name)


def _led(bootstrap: str, name: str) -> Topic:
    deadline, pause = time.monotonic() + REACH_SECONDS, Event()
    while time.monotonic() < deadline:
        topic = describe(bootstrap, name)
        if topic is not None and all(leader is not None for leader in topic.leaders.values()):
            return topic
        pause.wait(0.05)
    raise Unreachable(
        "the topic was made, but its partitions have no leader", where=f"topic {name}", do="look at the brokers: comporta status"
    )


def _config(client: AdminClient, topic: str) -> dict[str, str]:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    entries = client.describe_configs([resource], request_timeout=REQUEST_SECONDS)[resource].result()
    return {name: entry.value for name, entry in entries.items() if entry.value is not None}


def _uuid(topic_id: Any) -> UUID:
    high, low = topic_id.get_most_significant_bits(), topic_id.get_least_significant_bits()
    return UUID(int=(high % 2**64) << 64 | low % 2**64)


def _node(node: Any) -> int | None:
    return None if node is None or node.id < 0 else int(node.id)


def _is(exception: KafkaException, code: int) -> bool:
    error = exception.args[0]
    return isinstance(error, KafkaError) and error.code() == code
