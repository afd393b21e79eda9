"""Where Kafka and PostgreSQL are to be reached: as the settings say, else where the embedded ones were started."""

from dataclasses import dataclass, field

import structlog
from pydantic import SecretStr

from comporta.services import broker, database, ports
from comporta.settings import Settings
from comporta.words.errors import Unreachable

_log = structlog.get_logger()


@dataclass(frozen=True)
class Addresses:
    """The DSNs hold passwords, so they stay out of its repr."""

    kafka_bootstrap: str
    owner_dsn: str = field(repr=False)
    writer_dsn: str = field(repr=False)
    reader_dsn: str = field(repr=False)


def addresses(settings: Settings) -> Addresses:
    owner, writer, reader = postgres_dsns(settings)
    return Addresses(kafka_bootstrap=kafka_bootstrap(settings), owner_dsn=owner, writer_dsn=writer, reader_dsn=reader)


def kafka_bootstrap(settings: Settings) -> str:
    if settings.kafka.bootstrap:
        return settings.kafka.bootstrap
    if broker.find(settings.home) is None:
        raise Unreachable("the embedded Kafka is not running", do="start it with: comporta up")
    return f"{ports.LOOPBACK}:{broker.port(settings.home)}"


def postgres_dsns(settings: Settings) -> tuple[str, str, str]:
    """The DSNs of owner, writer and reader."""
    external = settings.postgres.dsn
    if external is not None:
        return (
            _external(settings.postgres.owner_dsn, external, "owner"),
            external.get_secret_value(),
            _external(settings.postgres.reader_dsn, external, "reader"),
        )
    if database.find(settings.home) is None:
        raise Unreachable("the embedded PostgreSQL is not running", do="start it with: comporta up")
    owner, writer, reader = (database.dsn(settings.home, role) for role in database.ROLES)
    return owner, writer, reader


def _external(given: SecretStr | None, writer: SecretStr, role: str) -> str:
    if given is not None:
        return given.get_secret_value()
    _log.warning("no_own_dsn", role=role, used="postgres.dsn", do=f"set postgres.{role}_dsn")
    return writer.get_secret_value()
