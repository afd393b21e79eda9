"""What every Kafka client of ours has in common: its address, its logs, and the words for its failures."""

import logging
import re
import socket
import time
from collections.abc import Mapping
from typing import Any

import structlog
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from comporta.words.errors import ComportaError, Setup, Unreachable, Usage

REACH_SECONDS = 12.0  # a command has fifteen to give up, and starts before it asks
REQUEST_SECONDS = 10.0
_LOG_WINDOW_SECONDS = 30.0
_LOGS_PER_WINDOW = 3
_LARGEST_PORT = 65535
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")

_REFUSED = {
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
    KafkaError.ILLEGAL_SASL_STATE,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError._AUTHENTICATION,  # noqa: SLF001 - librdkafka's own errors begin with an underscore
    KafkaError._SSL,  # noqa: SLF001
}
_TRANSIENT = {
    KafkaError._TRANSPORT,  # noqa: SLF001
    KafkaError._TIMED_OUT,  # noqa: SLF001
    KafkaError._TIMED_OUT_QUEUE,  # noqa: SLF001
    KafkaError._MSG_TIMED_OUT,  # noqa: SLF001
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
    KafkaError._RESOLVE,  # noqa: SLF001
    KafkaError._WAIT_COORD,  # noqa: SLF001
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.NOT_CONTROLLER,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.NOT_ENOUGH_REPLICAS,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_ID,
    KafkaError.THROTTLING_QUOTA_EXCEEDED,
}


def validate_bootstrap(text: str) -> str:
    """`host:port[,host:port…]` without spaces; anything else is a Usage error that says which part is wrong."""
    addresses = [part.strip() for part in text.split(",")]
    for address in addresses:
        _check_address(address, text)
    return ",".join(addresses)


def _check_address(address: str, text: str) -> None:
    where, do = f"Kafka bootstrap {text!r}", "write it as host:port, several with commas between"
    if not address:
        raise Usage("it names no address" if not text.strip() else "an address between the commas is empty", where=where, do=do)
    if "://" in address:
        raise Usage(f"{address.partition('://')[0]}:// does not belong there: Kafka speaks its own protocol", where=where, do=do)
    if "@" in address:
        raise Usage("a user or password does not belong into an address", where="Kafka bootstrap", do=do)
    host, colon, port = address.rpartition(":")
    if not colon or (host.count(":") and not host.startswith("[")):
        raise Usage(f"{address} has no port", where=where, do=do)
    if not _HOST.fullmatch(host):
        raise Usage(f"{host!r} is no host name", where=where, do=do)
    if not (port.isascii() and port.isdecimal() and 1 <= int(port) <= _LARGEST_PORT):
        raise Usage(f"{port!r} is no port: ports go from 1 to {_LARGEST_PORT}", where=where, do=do)


class _Log:
    """Takes librdkafka's lines: the first few of a kind in every half minute go on, the rest are counted."""

    def __init__(self) -> None:
        self._logger = structlog.get_logger("comporta.kafka")
        self._windows: dict[str, tuple[float, int]] = {}

    def log(self, level: int, _template: str, facility: str, client: str, text: str) -> None:
        now = time.monotonic()
        opened, seen = self._windows.get(facility, (now, 0))
        if now - opened > _LOG_WINDOW_SECONDS:
            if seen > _LOGS_PER_WINDOW:
                self._logger.warning("kafka_log_suppressed", facility=facility, lines=seen - _LOGS_PER_WINDOW)
            opened, seen = now, 0
        self._windows[facility] = (opened, seen + 1)
        if seen < _LOGS_PER_WINDOW:
            # What is no error it mends by itself: for those who look closely.
            self._logger.log(
                level if level >= logging.ERROR else logging.DEBUG, "kafka_client", facility=facility, client=client, text=text
            )


_LOG = _Log()


def configuration(bootstrap: str, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The base of every client's configuration, with `more` on top."""
    base: dict[str, Any] = {
        "bootstrap.servers": validate_bootstrap(bootstrap),
        "client.id": "comporta",
        "logger": _LOG,
        "error_cb": _ignore,
        "socket.keepalive.enable": True,
        "reconnect.backoff.ms": 250,
        "reconnect.backoff.max.ms": 5000,
        "allow.auto.create.topics": False,
    }
    return base | dict(more or {})


def _ignore(_error: KafkaError) -> None:
    """Every call that fails says so itself; what librdkafka tells beside it is in the log already."""


def admin(bootstrap: str) -> AdminClient:
    """A fresh client costs ten milliseconds and remembers nothing that could be wrong. Keep it until its futures have answered."""
    config = configuration(bootstrap)
    del config["allow.auto.create.topics"]  # a consumer's property
    return AdminClient(config)


def failure(exception: KafkaException, where: str) -> ComportaError:
    """The error of ours that says the same: Unreachable where patience may heal it, Setup where somebody must change something."""
    error = exception.args[0]
    if not isinstance(error, KafkaError):
        return Setup(f"the Kafka client refused: {error}", where=where)
    if error.code() in _REFUSED:
        return Setup(f"Kafka refused us ({error.name()})", where=where, do="check the credentials and what they allow")
    if error.code() in _TRANSIENT or error.retriable():
        return Unreachable(f"Kafka does not answer ({error.name()})", where=where, do="check that the broker runs: comporta status")
    if error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION):  # noqa: SLF001
        return Setup("the topic or partition does not exist", where=where, do="list what exists with: comporta kafka topics --list")
    return Setup(f"Kafka said no ({error.name()})", where=where)


def reachable(bootstrap: str, timeout: float = REACH_SECONDS) -> None:
    """Returns when a broker answered; else raises Unreachable, in `timeout` seconds at the latest, saying how far we came."""
    deadline = time.monotonic() + timeout
    addresses = validate_bootstrap(bootstrap).split(",")
    troubles = []
    for number, address in enumerate(addresses):
        share = (deadline - time.monotonic()) / (2 * (len(addresses) - number))
        trouble = _knock(address, max(share, 0.1))
        if trouble is None:
            break
        troubles.append(f"{address} {trouble}")
    else:
        raise Unreachable(", ".join(troubles), where="Kafka", do="check the address, or start the embedded Kafka: comporta up")
    try:
        admin(bootstrap).list_topics(timeout=max(deadline - time.monotonic(), 0.1))
    except KafkaException as exception:
        answer = failure(exception, f"Kafka at {bootstrap}")
        if isinstance(answer, Unreachable):
            raise Unreachable(
                "something listens there, but it does not answer as Kafka does",
                where=bootstrap,
                do="check that host and port are a broker's",
            ) from None
        raise answer from None


def _knock(address: str, seconds: float) -> str | None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=seconds).close()
    except socket.gaierror:
        return "is no known host"
    except TimeoutError:
        return "does not answer"
    except OSError:
        return "refuses the connection"
    return None
