"""A bootstrap address says which part of it is wrong."""

import socket

import pytest

from comporta.kafka import clients
from comporta.words.errors import Unreachable, Usage


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("localhost:9092", "localhost:9092"),
        ("a.example:1, b.example:65535", "a.example:1,b.example:65535"),
        ("[::1]:9092", "[::1]:9092"),
        ("10.0.0.1:9092", "10.0.0.1:9092"),
    ],
)
def test_good_addresses_are_taken(text: str, same: str) -> None:
    assert clients.validate_bootstrap(text) == same


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "names no address"),
        ("localhost", "localhost has no port"),
        ("host:99999", "'99999' is no port"),
        ("host:0", "'0' is no port"),
        ("host:²", "'²' is no port"),
        ("http://host:9092", "http:// does not belong there"),
        ("a:1,,b:2", "between the commas is empty"),
        ("two words:9092", "'two words' is no host name"),
        ("::1:9092", "has no port"),
    ],
)
def test_a_bad_address_is_refused_by_its_part(text: str, wrong: str) -> None:
    with pytest.raises(Usage, match=wrong):
        clients.validate_bootstrap(text)


def test_credentials_in_an_address_are_refused_and_not_repeated() -> None:
    with pytest.raises(Usage) as refusal:
        clients.validate_bootstrap("anna:sesame@host:9092")
    assert "sesame" not in str(refusal.value)


def test_a_closed_port_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(Unreachable, match=f"127.0.0.1:{port} refuses the connection"):
        clients.reachable(f"127.0.0.1:{port}")


def test_an_unknown_host_is_told_at_once() -> None:
    with pytest.raises(Unreachable, match=r"no-such-host\.invalid:9092 is no known host"):
        clients.reachable("no-such-host.invalid:9092")


def test_a_listener_that_is_not_kafka_is_told_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(Unreachable, match="does not answer as Kafka does"):
            clients.reachable(f"127.0.0.1:{port}", timeout=1.0)
