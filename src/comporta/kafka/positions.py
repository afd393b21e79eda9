"""Where a topic begins and ends, what stands at an offset, and which offset belongs to an instant."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]  # re-exported without saying so

from comporta.kafka.clients import REQUEST_SECONDS, admin, configuration, failure
from comporta.kafka.topics import existing
from comporta.words.errors import Unreachable

_SPEC: Any = OffsetSpec  # its methods carry no types


@dataclass(frozen=True)
class Range:
    """The offsets that can be read: earliest, up to but without latest (the last stable offset, so without what a transaction holds open)."""

    earliest: int
    latest: int


@dataclass(frozen=True)
class Record:
    """A record as it stands in the log."""

    offset: int
    timestamp_us: int
    key: bytes | None
    value: bytes | None


def watermarks(bootstrap: str, topic: str) -> dict[int, Range]:
    """The readable range of every partition."""
    partitions = range(existing(bootstrap, topic).partitions)
    earliest = _list(bootstrap, topic, partitions, _SPEC.earliest())
    latest = _list(bootstrap, topic, partitions, _SPEC.latest())
    return {partition: Range(earliest[partition], latest[partition]) for partition in partitions}


def offsets_at(bootstrap: str, topic: str, instant: datetime) -> dict[int, int]:
    """Per partition the first offset appended at `instant` or later; the end, where there is none."""
    partitions = range(existing(bootstrap, topic).partitions)
    latest = _list(bootstrap, topic, partitions, _SPEC.latest())
    found = _list(bootstrap, topic, partitions, _SPEC.for_timestamp(max(int(instant.timestamp() * 1000), 0)))
    return {partition: latest[partition] if found[partition] < 0 else found[partition] for partition in partitions}


def record_at(bootstrap: str, topic: str, partition: int, offset: int) -> Record | None:
    """None: nothing can be read at just this offset, for it is not there yet, not there any more, or was aborted."""
    message = _first_messages(bootstrap, topic, {partition: offset}).get(partition)
    if message is None or message.offset() != offset:
        return None
    return Record(offset, _timestamp_us(message), message.key(), message.value())


def append_times(bootstrap: str, topic: str, offsets: Mapping[int, int]) -> dict[int, int]:
    """Microseconds of the first record at or after each offset; a partition in which there is none is left out."""
    return {partition: _timestamp_us(message) for partition, message in _first_messages(bootstrap, topic, offsets).items()}


def _list(bootstrap: str, topic: str, partitions: range, spec: Any) -> dict[int, int]:
    wanted = {TopicPartition(topic, partition): spec for partition in partitions}
    client = admin(bootstrap)
    try:
        futures = client.list_offsets(wanted, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=REQUEST_SECONDS)
        return {key.partition: future.result().offset for key, future in futures.items()}
    except KafkaException as exception:
        raise failure(exception, f"topic {topic}") from None


def _first_messages(bootstrap: str, topic: str, offsets: Mapping[int, int]) -> dict[int, Any]:
    """The first readable message at or after each offset. Outside the log the answer is known, and nobody is asked."""
    ranges = watermarks(bootstrap, topic)
    inside = {p: o for p, o in offsets.items() if p in ranges and ranges[p].earliest <= o < ranges[p].latest}
    if not inside:
        return {}
    consumer = Consumer(
        configuration(
            bootstrap,
            {
                "group.id": "comporta-look",  # never joined, never committed to
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
            },
        )
    )
    try:
        return _read_each(consumer, topic, inside)
    except KafkaException as exception:
        raise failure(exception, f"topic {topic}") from None
    finally:
        consumer.close()


def _read_each(consumer: Consumer, topic: str, offsets: Mapping[int, int]) -> dict[int, Any]:
    waiting = set(offsets)
    found: dict[int, Any] = {}
    deadline = time.monotonic() + REQUEST_SECONDS
    consumer.assign([TopicPartition(topic, partition, offset) for partition, offset in offsets.items()])
    while waiting:
        message = consumer.poll(max(deadline - time.monotonic(), 0.0))
        if message is None:
            raise Unreachable("Kafka did not hand out a record in time", where=f"topic {topic}", do="check the broker: comporta status")
        partition, error = message.partition(), message.error()
        if error is not None and error.code() not in (KafkaError._PARTITION_EOF, KafkaError._AUTO_OFFSET_RESET):  # noqa: SLF001
            raise KafkaException(error)
        if partition in waiting:
            waiting.remove(partition)
            consumer.incremental_unassign([TopicPartition(topic, partition)])
            if error is None:
                found[partition] = message
    return found


def _timestamp_us(message: Any) -> int:
    return int(message.timestamp()[1]) * 1000
