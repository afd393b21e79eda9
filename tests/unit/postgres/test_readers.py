"""Identities in PostgreSQL's own binary form."""

import struct

import pyarrow as pa

from comporta.postgres.readers import uuid_array

MARKS = [bytes([number]) * 16 for number in range(5)]
ARRAY = pa.array(MARKS, pa.binary(16))


def in_binary(marks: list[bytes]) -> bytes:
    """What PostgreSQL's array_recv reads: dimensions, no nulls, uuid, length, lower bound; each element with its length."""
    return struct.pack("!iiIii", 1, 0, 2950, len(marks), 1) + b"".join(struct.pack("!i", 16) + mark for mark in marks)


def test_an_array_of_identities_is_written_as_postgresql_reads_it() -> None:
    assert uuid_array(ARRAY).content == in_binary(MARKS)
    assert uuid_array(ARRAY.slice(2, 2)).content == in_binary(MARKS[2:4])
    assert uuid_array(pa.chunked_array([ARRAY.slice(0, 1), ARRAY.slice(4)])).content == in_binary([MARKS[0], MARKS[4]])
