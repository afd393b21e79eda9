"""Keys go where Kafka's Java clients send them."""

import pytest
from confluent_kafka import murmur2 as librdkafka_placement
from hypothesis import given
from hypothesis import strategies as st

from comporta.kafka.keys import murmur2, partition_for

# What Java's Utils.murmur2 answers, as it stands in Kafka's own test.
JAVAS = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536, b"abc": 479470107}


@pytest.mark.parametrize(("key", "answer"), JAVAS.items())
def test_the_hash_has_the_bits_that_java_has(key: bytes, answer: int) -> None:
    assert murmur2(key) == answer % 2**32


@pytest.mark.parametrize(("key", "partition"), [("101", 2), ("102", 1), ("103", 0), ("104", 3), ("cliente123", 1)])
def test_the_keys_of_the_guides_lie_where_kafka_puts_them(key: str, partition: int) -> None:
    assert partition_for(key.encode(), 4) == partition


@given(st.binary(max_size=64), st.integers(1, 1000))
def test_any_key_lies_where_librdkafka_puts_it(key: bytes, partitions: int) -> None:
    assert partition_for(key, partitions) == librdkafka_placement(key, partitions)


def test_bytes_above_127_count_as_java_counts_them() -> None:
    for byte in range(128, 256):
        key = bytes([byte, 255 - byte, byte])
        assert partition_for(key, 97) == librdkafka_placement(key, 97)
