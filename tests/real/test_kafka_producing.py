"""Producing keeps count of every record; the mirror shows a position to any Kafka client."""

import secrets
import socket
import threading
import time
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, TopicPartition

from comporta.kafka import mirror, positions
from comporta.kafka.keys import partition_for
from comporta.kafka.mirror import Mirror, Mirrored
from comporta.kafka.producing import Producer, Sent
from comporta.services.addresses import addresses
from comporta.settings import Settings

MakeTopic = Callable[..., str]


@pytest.fixture(scope="module")
def bootstrap(services: Settings) -> str:
    return addresses(services).kafka_bootstrap


def keys_by_partition(bootstrap: str, topic: str, partitions: int) -> dict[int, list[bytes | None]]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "test-reader"})
    found: dict[int, list[bytes | None]] = {partition: [] for partition in range(partitions)}
    consumer.assign([TopicPartition(topic, partition, 0) for partition in found])
    wanted = sum(readable.latest for readable in positions.watermarks(bootstrap, topic).values())
    for message in consumer.consume(wanted, timeout=30):
        found[message.partition() or 0].append(message.key())
    consumer.close()
    return found


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def test_records_lie_in_the_partition_of_their_key_and_in_order(bootstrap: str, topic: MakeTopic) -> None:
    name = topic(4)
    with Producer(bootstrap, name) as producer:
        for number in range(2_000):
            producer.send(f"c{number % 97}".encode(), b"%d" % number)
        assert producer.close() == Sent(2_000, 2_000, 0)
    placed = keys_by_partition(bootstrap, name, 4)
    assert sum(len(keys) for keys in placed.values()) == 2_000
    for partition, keys in placed.items():
        assert all(key is not None and partition_for(key, 4) == partition for key in keys)


def test_what_the_broker_refuses_is_counted_and_named_and_the_rest_arrives(bootstrap: str, topic: MakeTopic) -> None:
    name, lost = topic(1, max_message_bytes="5000"), list[bytes | None]()
    large = secrets.token_bytes(50_000)  # no compression makes it fit
    producer = Producer(bootstrap, name, on_unsent=lost.append)
    producer.send(b"small", b"x")
    assert producer.close().acknowledged == 1
    producer.send(b"large", large)
    producer.close()
    producer.send(b"small", b"y")
    sent = producer.close()
    assert (sent.produced, sent.acknowledged, sent.unsent, dict(sent.reasons)) == (3, 2, 1, {"MSG_SIZE_TOO_LARGE": 1})
    assert [(unsent.key, unsent.size) for unsent in sent.first_unsent] == [(b"large", 50_000)]
    assert lost == [large]


def test_what_is_larger_than_any_request_is_counted_at_once(bootstrap: str, topic: MakeTopic) -> None:
    producer = Producer(bootstrap, topic(1))
    producer.send(b"huge", b"x" * 2_000_000)
    assert producer.close().reasons == {"MSG_SIZE_TOO_LARGE": 1}


def test_without_a_broker_everything_is_given_up_and_counted_also_beyond_the_queue() -> None:
    producer = Producer(closed_port(), "any", patience=0.5)
    for number in range(60_000):  # more than the queue holds
        producer.send(b"%d" % number, b"x")
    sent = producer.close()
    assert (sent.produced, sent.acknowledged, sent.unsent) == (60_000, 0, 60_000)
    assert len(sent.first_unsent) == 10


def test_what_is_abandoned_is_counted() -> None:
    producer = Producer(closed_port(), "any", patience=300)
    producer.send(b"key", b"x")
    assert producer.abandon().unsent == 1


def test_a_mirrored_position_and_what_is_written_beside_it_are_read_by_any_client(bootstrap: str, topic: MakeTopic) -> None:
    name = topic(3)
    writer = Mirror(bootstrap, f"comporta-{name}")
    writer.post({(name, 0): 5, (name, 2): 7}, "first")
    writer.post({(name, 0): 6}, "second")
    writer.close()
    assert mirror.read(bootstrap, f"comporta-{name}", name) == {0: Mirrored(6, "second"), 2: Mirrored(7, "second")}
    plain = Consumer({"bootstrap.servers": bootstrap, "group.id": f"comporta-{name}"})
    assert [part.offset for part in plain.committed([TopicPartition(name, number) for number in range(3)], timeout=30)] == [6, -1001, 7]
    plain.close()


def test_a_group_that_was_never_written_holds_nothing(bootstrap: str, topic: MakeTopic) -> None:
    assert mirror.read(bootstrap, "never-written", topic(2)) == {}


def test_posting_waits_for_nobody_when_kafka_is_away() -> None:
    writer = Mirror(closed_port(), "comporta-away")
    began = time.monotonic()
    for offset in range(1_000):
        writer.post({("any", 0): offset}, "")
    posted = time.monotonic() - began
    writer.close(patience=0.2)
    assert posted < 0.5
    assert time.monotonic() - began < 5


def test_a_group_with_members_keeps_its_own_offsets_and_gets_ours_when_they_have_gone(bootstrap: str, topic: MakeTopic) -> None:
    name = topic(1)
    group = f"comporta-{name}"
    member = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "session.timeout.ms": 6000})
    joined = threading.Event()
    member.subscribe([name], on_assign=lambda *_: joined.set())
    deadline = time.monotonic() + 30
    while not joined.is_set() and time.monotonic() < deadline:
        member.poll(0.2)
    assert joined.is_set()
    writer = Mirror(bootstrap, group)
    writer.post({(name, 0): 3}, "ours")
    threading.Event().wait(0.5)
    assert mirror.read(bootstrap, group, name) == {}
    member.close()
    while not (found := mirror.read(bootstrap, group, name)) and time.monotonic() < deadline:
        threading.Event().wait(0.1)
    writer.close()
    assert found == {0: Mirrored(3, "ours")}
