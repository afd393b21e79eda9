"""Which port is taken."""

import os
import socket
from collections.abc import Iterator

import pytest

from comporta.services import ports
from comporta.words.errors import Setup


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as server:
        server.bind((ports.LOOPBACK, 0))
        server.listen()
        yield int(server.getsockname()[1])


def test_a_port_that_was_named_is_taken_as_it_is() -> None:
    free = ports.free()
    assert ports.choose("kafka.port", free) == free


def test_a_named_port_that_is_taken_is_refused_with_who_has_it_and_what_to_do(taken: int) -> None:
    with pytest.raises(Setup) as caught:
        ports.choose("kafka.port", taken)
    assert f"port {taken} is taken by" in str(caught.value)
    assert f"pid {os.getpid()}" in str(caught.value)
    assert "COMPORTA_KAFKA_PORT" in str(caught.value)


def test_zero_is_the_port_of_last_time_while_that_is_free() -> None:
    before = ports.free()
    assert ports.choose("kafka.port", 0, before) == before


def test_zero_is_another_port_when_that_of_last_time_is_taken(taken: int) -> None:
    assert ports.choose("kafka.port", 0, taken) != taken


def test_a_port_answers_only_while_somebody_listens(taken: int) -> None:
    assert ports.answers(taken)
    assert not ports.answers(ports.free())
