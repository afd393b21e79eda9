"""A look at some keys of a topic: are they there, and do they lie where Java's placement puts them."""

from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, TopicPartition

from comporta.kafka.clients import REQUEST_SECONDS, configuration, failure
from comporta.kafka.keys import partition_for
from comporta.kafka.positions import Range, watermarks


@dataclass(frozen=True)
class KeySample:
    """How many of the newest records were looked at, how many had no key, and how many lay in another partition than their key's."""

    looked_at: int
    without_key: int
    misplaced: int


def sample_keys(bootstrap: str, topic: str, per_partition: int = 200) -> KeySample:
    """The newest records of every partition."""
    ranges = watermarks(bootstrap, topic)
    consumer = Consumer(configuration(bootstrap, {"group.id": "comporta-look", "enable.auto.commit": False, "auto.offset.reset": "error"}))
    try:
        keys = [
            (partition, key)
            for partition, readable in ranges.items()
            for key in _newest_keys(consumer, topic, partition, readable, per_partition)
        ]
    except KafkaException as exception:
        raise failure(exception, f"topic {topic}") from None
    finally:
        consumer.close()
    placed = [(partition, key) for partition, key in keys if key is not None]
    misplaced = sum(partition_for(key, len(ranges)) != partition for partition, key in placed)
    return KeySample(len(keys), len(keys) - len(placed), misplaced)


def _newest_keys(consumer: Consumer, topic: str, partition: int, readable: Range, count: int) -> list[bytes | None]:
    start = max(readable.earliest, readable.latest - count)
    if start == readable.latest:
        return []
    consumer.assign([TopicPartition(topic, partition, start)])
    messages = consumer.consume(readable.latest - start, timeout=REQUEST_SECONDS / 2)
    return [message.key() for message in messages if message.error() is None]
