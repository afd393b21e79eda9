"""The line's position, copied into an ordinary consumer group, so that every Kafka tool shows the truth. The ledger stays the position."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass

import structlog
from confluent_kafka import Consumer, KafkaException, TopicPartition

from comporta.kafka.clients import REQUEST_SECONDS, configuration, failure
from comporta.kafka.topics import existing

_RETRY_SECONDS = 2.0
_LONGEST_RETRY_SECONDS = 60.0
_RENEW_SECONDS = 3600.0  # a group without members is forgotten some days after its last commit

_log = structlog.get_logger("comporta.kafka")


@dataclass(frozen=True)
class Mirrored:
    """A position as the group holds it, and what was written beside it."""

    offset: int
    metadata: str


class Mirror:
    """Commits into `group` on a thread of its own: `post` never waits, the newest position wins, a failure is tried again."""

    def __init__(self, bootstrap: str, group: str) -> None:
        self._bootstrap = bootstrap
        self._group = group
        self._lock = threading.Lock()
        self._positions: dict[tuple[str, int], int] = {}
        self._metadata = ""
        self._awake = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"mirror-{group}", daemon=True)
        self._thread.start()

    def post(self, positions: Mapping[tuple[str, int], int], metadata: str) -> None:
        """The next offsets to read, per (topic, partition)."""
        with self._lock:
            self._positions.update(positions)
            self._metadata = metadata
        self._awake.set()

    def close(self, patience: float = 5.0) -> None:
        """Gives the last position `patience` seconds to get through."""
        self._closing.set()
        self._awake.set()
        self._thread.join(patience)

    def _work(self) -> None:
        consumer = Consumer(configuration(self._bootstrap, {"group.id": self._group, "enable.auto.commit": False}))
        pause = _RETRY_SECONDS
        while not self._closing.is_set():
            self._awake.wait(_RENEW_SECONDS)
            self._awake.clear()
            if self._committed(consumer):
                pause = _RETRY_SECONDS
            else:
                self._awake.set()
                self._closing.wait(pause)
                pause = min(pause * 2, _LONGEST_RETRY_SECONDS)
        consumer.close()

    def _committed(self, consumer: Consumer) -> bool:
        with self._lock:
            offsets = [TopicPartition(topic, part, offset, self._metadata) for (topic, part), offset in self._positions.items()]
        if not offsets:
            return True
        try:
            answers = consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as exception:
            _log.warning("mirror_not_written", group=self._group, error=str(failure(exception, f"group {self._group}")))
            return False
        refused = [answer for answer in answers if answer.error is not None]
        for answer in refused[:1]:
            _log.warning("mirror_not_written", group=self._group, partition=answer.partition, error=str(answer.error))
        return not refused


def read(bootstrap: str, group: str, topic: str) -> dict[int, Mirrored]:
    """What the group holds for the topic; partitions without a position are left out."""
    partitions = existing(bootstrap, topic).partitions
    consumer = Consumer(configuration(bootstrap, {"group.id": group, "enable.auto.commit": False}))
    try:
        answers = consumer.committed([TopicPartition(topic, part) for part in range(partitions)], timeout=REQUEST_SECONDS)
    except KafkaException as exception:
        raise failure(exception, f"group {group}") from None
    finally:
        consumer.close()
    for answer in answers:
        if answer.error is not None:
            raise failure(KafkaException(answer.error), f"group {group}")
    return {answer.partition: Mirrored(answer.offset, answer.metadata or "") for answer in answers if answer.offset >= 0}
