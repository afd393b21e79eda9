"""Producing without losing count: every record handed over ends as acknowledged or as unsent, and the unsent are named."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import Producer as Client

from comporta.kafka.clients import configuration

PATIENCE_SECONDS = 120.0
_QUEUED_RECORDS = 50_000
_POLL_EVERY = 256
_NAMED = 10


@dataclass(frozen=True)
class Unsent:
    """A record that Kafka did not acknowledge. It may still have been written, if the connection broke before the answer came."""

    key: bytes | None
    reason: str
    size: int


@dataclass(frozen=True)
class Sent:
    """What became of the records: produced = acknowledged + unsent, once the producer is closed."""

    produced: int
    acknowledged: int
    unsent: int
    reasons: Mapping[str, int] = field(default_factory=dict)
    first_unsent: tuple[Unsent, ...] = ()


class Producer:
    """Idempotent, acks=all, batched, compressed, keys placed as Java places them. `on_unsent` receives the value of every record that was not sent."""

    def __init__(
        self, bootstrap: str, topic: str, *, patience: float = PATIENCE_SECONDS, on_unsent: Callable[[bytes | None], None] | None = None
    ) -> None:
        config: dict[str, Any] = configuration(
            bootstrap,
            {
                "acks": "all",
                "enable.idempotence": True,
                "partitioner": "murmur2_random",
                "compression.type": "lz4",
                "linger.ms": 10,
                "queue.buffering.max.messages": _QUEUED_RECORDS,
                "message.timeout.ms": max(int(patience * 1000), 1),
                "topic.metadata.propagation.max.ms": 5000,
            },
        )
        del config["allow.auto.create.topics"]  # a consumer's property
        self._client = Client(config)
        self._topic = topic
        self._on_unsent = on_unsent
        self._produced = 0
        self._acknowledged = 0
        self._reasons: Counter[str] = Counter()
        self._first: list[Unsent] = []

    def send(self, key: bytes | None, value: bytes | None, headers: list[tuple[str, str | bytes | None]] | None = None) -> None:
        """Hands a record over; waits only while the queue is full, which ends at the latest when what lies in it has waited too long."""
        self._produced += 1
        while True:
            try:
                self._client.produce(self._topic, value, key, on_delivery=self._delivered, headers=headers)
                break
            except BufferError:
                self._wait_for_room(key, value)
            except KafkaException as exception:
                self._count_unsent(exception.args[0].name(), key, value)
                break
        if self._produced % _POLL_EVERY == 0:
            self._client.poll(0)

    def _wait_for_room(self, key: bytes | None, value: bytes | None) -> None:
        try:
            self._client.poll(0.1)
        except KeyboardInterrupt:
            self._count_unsent("INTERRUPTED", key, value)
            raise

    def poll(self) -> None:
        """Lets callbacks and logs through; for callers that pause between records."""
        self._client.poll(0)

    @property
    def sent(self) -> Sent:
        """The count so far; what is still under way is in `produced` alone."""
        return Sent(self._produced, self._acknowledged, self._reasons.total(), dict(self._reasons), tuple(self._first))

    def close(self) -> Sent:
        """Waits until every record is acknowledged or given up. An interruption gives up what is still under way."""
        try:
            while self._client.flush(1.0):
                pass
        except KeyboardInterrupt:
            return self.abandon()
        return self.sent

    def abandon(self) -> Sent:
        """Gives up what is still under way, and counts it as unsent."""
        self._client.purge()
        self._client.flush(5.0)
        return self.sent

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._acknowledged += 1
        else:
            self._count_unsent(error.name(), message.key(), message.value())

    def _count_unsent(self, reason: str, key: bytes | None, value: bytes | None) -> None:
        self._reasons[reason] += 1
        if len(self._first) < _NAMED:
            self._first.append(Unsent(key, reason, len(value or b"")))
        if self._on_unsent is not None:
            self._on_unsent(value)
