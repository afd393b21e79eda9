"""Topics and positions, as a running broker tells them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from comporta.kafka import clients, positions, sampling, topics
from comporta.kafka.positions import Range
from comporta.services.addresses import addresses
from comporta.settings import Settings
from comporta.words.errors import Setup

MakeTopic = Callable[..., str]


@pytest.fixture(scope="module")
def bootstrap(services: Settings) -> str:
    return addresses(services).kafka_bootstrap


def send(bootstrap: str, topic: str, *records: tuple[int, bytes | None, bytes | None], transaction: str | None = None) -> Producer:
    """Records by partition; in a transaction, if named, which stays open."""
    producer = Producer({"bootstrap.servers": bootstrap} | ({"transactional.id": transaction} if transaction else {}))
    if transaction:
        producer.init_transactions(30)
        producer.begin_transaction()
    for partition, key, value in records:
        producer.produce(topic, value, key, partition)
    assert producer.flush(30) == 0
    return producer


def test_a_broker_that_runs_is_reachable(bootstrap: str) -> None:
    clients.reachable(bootstrap)


def test_one_broker_of_several_is_enough(bootstrap: str) -> None:
    clients.reachable(f"127.0.0.1:1,{bootstrap}")


def test_a_topic_is_described_with_id_partitions_leaders_and_settings(bootstrap: str, topic: MakeTopic) -> None:
    described = topics.describe(bootstrap, topic(3, retention_bytes="12345678"))
    assert described is not None
    assert (described.partitions, set(described.leaders), set(described.in_sync)) == (3, {0, 1, 2}, {0, 1, 2})
    assert described.config["message.timestamp.type"] == "LogAppendTime"
    assert described.config["retention.bytes"] == "12345678"
    assert None not in described.leaders.values()


def test_a_topic_that_is_not_there_is_none_and_by_existing_refused(bootstrap: str) -> None:
    assert topics.describe(bootstrap, "no-such-topic") is None
    with pytest.raises(Setup, match="topic no-such-topic: the topic does not exist"):
        topics.existing(bootstrap, "no-such-topic")


def test_making_a_topic_that_is_there_leaves_it_as_it_is(bootstrap: str, topic: MakeTopic) -> None:
    name = topic(2)
    before = topics.existing(bootstrap, name)
    assert topics.create(bootstrap, name, 7, {"retention.bytes": "1"}) == before
    assert name in topics.names(bootstrap)


def test_a_topic_made_again_has_another_id(bootstrap: str, topic: MakeTopic) -> None:
    name = topic(1)
    before = topics.existing(bootstrap, name).topic_id
    client = AdminClient({"bootstrap.servers": bootstrap})
    client.delete_topics([name])[name].result(30)
    assert topics.create(bootstrap, name, 1).topic_id != before


def test_an_empty_topic_has_an_empty_range_in_every_partition(bootstrap: str, topic: MakeTopic) -> None:
    assert positions.watermarks(bootstrap, topic(2)) == {0: Range(0, 0), 1: Range(0, 0)}


def test_a_range_begins_where_the_log_does(bootstrap: str, topic: MakeTopic) -> None:
    name = topic(1)
    send(bootstrap, name, *[(0, None, b"x")] * 5)
    client = AdminClient({"bootstrap.servers": bootstrap})
    for future in client.delete_records([TopicPartition(name, 0, 2)]).values():
        future.result(30)
    assert positions.watermarks(bootstrap, name) == {0: Range(2, 5)}
    assert positions.record_at(bootstrap, name, 0, 1) is None
    assert positions.append_times(bootstrap, name, {0: 1}) == {}


def test_what_a_transaction_holds_open_is_beyond_the_end(bootstrap: str, topic: MakeTopic) -> None:
    name = topic(1)
    send(bootstrap, name, (0, None, b"before"))
    held = send(bootstrap, name, (0, None, b"held"), transaction=name)
    assert positions.watermarks(bootstrap, name) == {0: Range(0, 1)}
    held.commit_transaction(30)
    assert positions.watermarks(bootstrap, name) == {0: Range(0, 3)}  # the record and the marker


def test_an_aborted_record_is_no_record_and_the_next_one_gives_the_time(bootstrap: str, topic: MakeTopic) -> None:
    name = topic(1)
    send(bootstrap, name, (0, None, b"aborted"), transaction=name).abort_transaction(30)
    send(bootstrap, name, (0, None, b"after"))
    assert positions.record_at(bootstrap, name, 0, 0) is None
    after = positions.record_at(bootstrap, name, 0, 2)
    assert after is not None
    assert positions.append_times(bootstrap, name, {0: 0}) == {0: after.timestamp_us}


def test_a_record_is_read_again_as_it_stands(bootstrap: str, topic: MakeTopic) -> None:
    name, before = topic(2), datetime.now(UTC)
    send(bootstrap, name, (1, b"key", b"value"), (1, None, None), (1, b"", b""))
    whole, empty, blank = (positions.record_at(bootstrap, name, 1, offset) for offset in range(3))
    assert whole is not None
    assert empty is not None
    assert blank is not None
    assert (whole.offset, whole.key, whole.value) == (0, b"key", b"value")
    assert (empty.key, empty.value) == (None, None)
    assert (blank.key, blank.value) == (b"", b"")
    assert abs(whole.timestamp_us / 1e6 - before.timestamp()) < 30


@pytest.mark.parametrize(("partition", "offset"), [(0, 0), (1, 3), (1, 1_000_000), (9, 0)])
def test_where_nothing_stands_there_is_no_record(bootstrap: str, topic: MakeTopic, partition: int, offset: int) -> None:
    name = topic(2)
    send(bootstrap, name, *[(1, None, b"x")] * 3)
    assert positions.record_at(bootstrap, name, partition, offset) is None


def test_append_times_are_given_where_there_is_a_record(bootstrap: str, topic: MakeTopic) -> None:
    name = topic(3)
    send(bootstrap, name, (0, None, b"x"), (1, None, b"x"), (1, None, b"y"))
    assert set(positions.append_times(bootstrap, name, {0: 0, 1: 1, 2: 0})) == {0, 1}


def test_an_instant_leads_to_the_first_record_after_it_and_a_later_one_to_the_end(bootstrap: str, topic: MakeTopic) -> None:
    name = topic(2)
    send(bootstrap, name, (0, None, b"x"), (0, None, b"y"))
    hour, now = timedelta(hours=1), datetime.now(UTC)
    assert positions.offsets_at(bootstrap, name, now - hour) == {0: 0, 1: 0}
    assert positions.offsets_at(bootstrap, name, now + hour) == {0: 2, 1: 0}


def test_a_sample_finds_keys_that_are_missing_or_misplaced(bootstrap: str, topic: MakeTopic) -> None:
    name = topic(4)
    send(bootstrap, name, (2, b"101", b"x"), (1, b"102", b"x"), (0, b"102", b"misplaced"), (3, None, b"no key"))
    assert sampling.sample_keys(bootstrap, name) == sampling.KeySample(looked_at=4, without_key=1, misplaced=1)
    assert sampling.sample_keys(bootstrap, topic(2)) == sampling.KeySample(0, 0, 0)
