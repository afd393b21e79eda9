"""Kafka's tools get an address, and only where none was typed."""

import pytest

from comporta.kafka.tools import with_bootstrap
from comporta.words.errors import Usage


def test_the_address_is_filled_in() -> None:
    assert with_bootstrap(["--list"], "host:1") == ["--bootstrap-server", "host:1", "--list"]


@pytest.mark.parametrize("typed", [["--bootstrap-server", "mine:2"], ["--bootstrap-server=mine:2"]])
def test_an_address_that_was_typed_stays(typed: list[str]) -> None:
    assert with_bootstrap([*typed, "--list"], "host:1") == [*typed, "--list"]


@pytest.mark.parametrize("gone", ["--broker-list", "--zookeeper"])
def test_an_option_that_kafka_no_longer_has_is_refused_by_name(gone: str) -> None:
    with pytest.raises(Usage, match=gone):
        with_bootstrap([gone, "localhost:9092", "--topic", "transactions"], "host:1")
