"""Real services for the tests that need them: started once for a session, and for each test its own topics and databases in them."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import psycopg
import pytest

from comporta.kafka import topics
from comporta.services import database, embedded
from comporta.services.addresses import Addresses, addresses
from comporta.settings import Settings, load


class MakeTopic(Protocol):
    def __call__(self, partitions: int = 4, **config: str) -> str: ...


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings of a home whose own Kafka and PostgreSQL are up, on free ports; both are gone at the end of the session."""
    environ = {"COMPORTA_KAFKA_PORT": "0", "COMPORTA_POSTGRES_PORT": "0", "COMPORTA_DASHBOARD_PORT": "0"}
    settings = load(home=tmp_path_factory.mktemp("services") / "home", environ=environ)
    embedded.up(settings)
    try:
        yield settings
    finally:
        embedded.down(settings, delete_data=True)


@pytest.fixture(scope="session")
def home(services: Settings) -> Path:
    """The COMPORTA_HOME of the running services."""
    return services.home


@pytest.fixture
def fresh_databases(services: Settings) -> Iterator[Callable[[], Addresses]]:
    """Makes new, empty databases in the running server, as owner, writer and reader see them; dropped after the test."""
    superuser = database.dsn(services.home, database.SUPERUSER, "postgres")
    made: list[str] = []

    def make() -> Addresses:
        name = f"test_{secrets.token_hex(6)}"
        with psycopg.connect(superuser, autocommit=True) as connection:
            database.make_database(connection, name)
        made.append(name)
        owner, writer, reader = (database.dsn(services.home, role, name) for role in database.ROLES)
        return Addresses(kafka_bootstrap=addresses(services).kafka_bootstrap, owner_dsn=owner, writer_dsn=writer, reader_dsn=reader)

    yield make
    with psycopg.connect(superuser, autocommit=True) as connection:
        for name in made:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())


@pytest.fixture
def fresh_database(fresh_databases: Callable[[], Addresses]) -> Addresses:
    """One new, empty database."""
    return fresh_databases()


@pytest.fixture
def topic(services: Settings) -> MakeTopic:
    """Makes new topics with append times, as Comporta makes its own; `max_message_bytes="1000"` stands for Kafka's max.message.bytes."""
    bootstrap = addresses(services).kafka_bootstrap

    def make(partitions: int = 4, **config: str) -> str:
        settings = {"message.timestamp.type": "LogAppendTime"} | {name.replace("_", "."): value for name, value in config.items()}
        return topics.create(bootstrap, f"test-{secrets.token_hex(6)}", partitions, settings).name

    return make


@pytest.fixture
def outside(tmp_path: Path, services: Settings) -> Callable[[Addresses, str], Mapping[str, str]]:
    """The environment of a second home whose settings point at the running services: (addresses, topic) → variables for a `comporta` process."""

    def environ(at: Addresses, topic: str) -> Mapping[str, str]:
        return {
            "COMPORTA_HOME": str(tmp_path / "second-home"),
            "COMPORTA_CACHE": str(services.cache),
            "COMPORTA_KAFKA_BOOTSTRAP": at.kafka_bootstrap,
            "COMPORTA_KAFKA_TOPIC": topic,
            "COMPORTA_POSTGRES_DSN": at.writer_dsn,
            "COMPORTA_POSTGRES_OWNER_DSN": at.owner_dsn,
            "COMPORTA_POSTGRES_READER_DSN": at.reader_dsn,
            "COMPORTA_DASHBOARD_PORT": "0",
        }

    return environ
