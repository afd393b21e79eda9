"""What the log lost, or a foreign log, stops the line with exit 5 and one sentence; nothing is written."""

from collections.abc import Callable

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from comporta.kafka import topics
from comporta.services.addresses import Addresses
from comporta.words.errors import DataLoss, Setup
from support.lines import Lines, produce, rows, some, until


def delete_records(bootstrap: str, topic: str, before: int) -> None:
    client = AdminClient({"bootstrap.servers": bootstrap})
    for future in client.delete_records([TopicPartition(topic, 0, before)]).values():
        future.result()


def recreate(bootstrap: str, topic: str) -> None:
    client = AdminClient({"bootstrap.servers": bootstrap})
    client.delete_topics([topic])[topic].result()
    until(lambda: topics.describe(bootstrap, topic) is None)
    topics.create(bootstrap, topic, 1, {"message.timestamp.type": "LogAppendTime"})


@pytest.fixture
def judged(fresh_database: Addresses, topic: Callable[..., str], lines: Lines) -> str:
    """A topic of one partition, of which 100 messages are judged."""
    name = topic(partitions=1)
    produce(fresh_database.kafka_bootstrap, name, some(100))
    assert lines.drain(fresh_database, name).rows == 100
    return name


def assert_refused(lines: Lines, at: Addresses, topic: str, says: str) -> None:
    with pytest.raises(DataLoss) as loss:
        lines.drain(at, topic)
    assert says in str(loss.value)
    assert rows(at.owner_dsn, "select count(*), max(next_offset) from decisions, line_ledger") == [(100, 100)]


def test_records_deleted_before_they_were_judged_are_named_with_their_range(fresh_database: Addresses, judged: str, lines: Lines) -> None:
    produce(fresh_database.kafka_bootstrap, judged, some(50, first=100))
    delete_records(fresh_database.kafka_bootstrap, judged, 130)
    assert_refused(lines, fresh_database, judged, "[100, 130), 30 messages")


def test_a_topic_made_again_and_longer_than_the_position_is_another_topic(fresh_database: Addresses, judged: str, lines: Lines) -> None:
    recreate(fresh_database.kafka_bootstrap, judged)
    produce(fresh_database.kafka_bootstrap, judged, some(300))
    assert_refused(lines, fresh_database, judged, "made again")


def test_a_last_record_that_is_not_the_one_that_was_judged_is_another_log(fresh_database: Addresses, judged: str, lines: Lines) -> None:
    produce(fresh_database.kafka_bootstrap, judged, some(50, first=100))
    rows(fresh_database.owner_dsn, "update line_ledger set last_hash = decode(repeat('ab', 16), 'hex') returning 1")
    assert_refused(lines, fresh_database, judged, "offset 99 is not the one that was judged")


def test_a_gap_in_the_offsets_is_a_loss_while_transactions_are_not_expected(fresh_database: Addresses, judged: str, lines: Lines) -> None:
    producer = Producer({"bootstrap.servers": fresh_database.kafka_bootstrap, "transactional.id": f"t-{judged}"})
    producer.init_transactions()
    producer.begin_transaction()
    for key, value in some(10, first=100):
        producer.produce(judged, value, key)
    producer.flush()
    producer.abort_transaction()
    produce(fresh_database.kafka_bootstrap, judged, some(5, first=200))
    assert_refused(lines, fresh_database, judged, "11 offsets are missing from the log: [100, 111)")


def test_a_compacted_topic_is_refused_before_anything_is_read(fresh_database: Addresses, topic: Callable[..., str], lines: Lines) -> None:
    name = topic(partitions=1, cleanup_policy="compact")
    with pytest.raises(Setup, match="compacted"):
        lines.drain(fresh_database, name)


def test_to_begin_at_the_end_of_a_topic_with_messages_must_be_confirmed(
    fresh_database: Addresses, topic: Callable[..., str], lines: Lines
) -> None:
    name = topic(partitions=1)
    produce(fresh_database.kafka_bootstrap, name, some(40))
    with pytest.raises(Setup, match="40 messages unjudged"):
        lines.drain(fresh_database, name, COMPORTA_LINE_START="latest")
    assert lines.drain(fresh_database, name, confirmed=name, COMPORTA_LINE_START="latest").rows == 0
    assert rows(fresh_database.owner_dsn, "select next_offset from line_ledger") == [(40,)]
