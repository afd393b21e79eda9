"""Everything that may be chosen, read once at the door from comporta.toml and COMPORTA_* into one frozen object."""

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import platformdirs
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from comporta.words.errors import ComportaError, Setup, Usage

FILE_NAME = "comporta.toml"
PREFIX = "COMPORTA_"
# Not settings: where things lie, and the two switches that only tests may use.
PLACES = ("COMPORTA_HOME", "COMPORTA_CACHE", "COMPORTA_CONFIG", "COMPORTA_TEST_MODE", "COMPORTA_TEST_CRASH")
EXAMPLE_SECRETS = frozenset(
    {"", "changeme", "change-me", "change_me", "password", "secret", "example", "todo", "xxx", "your-password", "<password>"}
)

_UNITS = {"ms": 0.001, "s": 1, "sec": 1, "min": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*")
_HEAP = re.compile(r"[1-9]\d*[mg]")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def _duration(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is None or found[2] not in _UNITS:
        raise ValueError(f"a duration has a number and one of the units {', '.join(_UNITS)}, as in '10 min'")
    return timedelta(seconds=float(found[1]) * _UNITS[found[2]])


def _heap(value: object) -> object:
    if not isinstance(value, str) or not _HEAP.fullmatch(value):
        raise ValueError("a heap is a whole number with the unit m or g, as in '1g'")
    return value


def _whole(value: object) -> object:
    # A TOML boolean or a fraction would pass as a number.
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError("must be a whole number")
    return value


def _topic(value: object) -> object:
    if not isinstance(value, str) or not _TOPIC.fullmatch(value) or value in {".", ".."}:
        raise ValueError("must be the name of one topic: letters, digits, '.', '_' and '-', at most 249 of them (no pattern, no list)")
    if value.startswith("__"):
        raise ValueError("is one of Kafka's internal topics")
    return value


def _name(value: object) -> object:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError("must be 1 to 64 letters, digits, '_' and '-', beginning with a letter or digit")
    return value


def _start(value: object) -> object:
    if value in {"earliest", "latest"}:
        return value
    sentence = "must be earliest, latest or a time with its offset, as in '2026-01-31T00:00:00-03:00'"
    if isinstance(value, datetime):
        value = value.isoformat()
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        raise ValueError(sentence) from None
    if moment is None or moment.tzinfo is None:
        raise ValueError(sentence)
    return value


def _bootstrap(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("must be HOST:PORT[,HOST:PORT…]")  # noqa: TRY004 - as in _whole
    for server in value.split(","):
        if "://" in server:
            raise ValueError("takes HOST:PORT, no URL: leave out what stands before and with '://'")
        if "@" in server:
            raise ValueError("takes HOST:PORT without credentials")
        host, colon, port = server.strip().rpartition(":")
        if not colon or not host:
            raise ValueError("lacks the port: HOST:PORT, as in kafka.example.org:9092")
        if not port.isdecimal() or not 1 <= int(port) <= 65535:  # noqa: PLR2004 - the highest port there is
            raise ValueError("has a port that is no number from 1 to 65535")
    return value


def _checkpoint(value: object) -> object:
    if isinstance(value, str) and "://" in value:
        raise ValueError("must be a folder; object stores cannot be used for it yet")
    return value


def _never_transactional(value: object) -> object:
    if str(value).lower() in {"true", "1", "yes", "on"}:
        raise ValueError("true is not supported yet: the topic's producers must not use transactions")
    return value


Port = Annotated[int, BeforeValidator(_whole), Field(ge=0, le=65535)]
Duration = Annotated[timedelta, BeforeValidator(_duration)]
Count = Annotated[int, BeforeValidator(_whole)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Kafka(_Section):
    bootstrap: Annotated[str, BeforeValidator(_bootstrap)] | None = None
    topic: Annotated[str, BeforeValidator(_topic)] = "transactions"
    partitions: Annotated[Count, Field(ge=1, le=1000)] = 4
    retention_bytes: Annotated[Count, Field(ge=-1)] = 10_737_418_240
    retention_hours: Annotated[Count, Field(ge=-1)] = -1
    segment_bytes: Annotated[Count, Field(ge=1_048_576, le=2_147_483_647)] = 1_073_741_824
    port: Port = 9092
    transactional: Annotated[bool, BeforeValidator(_never_transactional)] = False


class Postgres(_Section):
    dsn: SecretStr | None = None
    owner_dsn: SecretStr | None = None
    reader_dsn: SecretStr | None = None
    port: Port = 5432


class Line(_Section):
    name: Annotated[str, BeforeValidator(_name)] = "line"
    pack: Annotated[str, Field(min_length=1)] = "classic-v1"
    max_offsets: Annotated[Count, Field(ge=1)] | None = None
    dedupe_days: Annotated[Count, Field(ge=1, le=3650)] = 14
    patience: Duration = timedelta(minutes=10)
    checkpoint: Annotated[Path, BeforeValidator(_checkpoint)] | None = None
    heap: Annotated[str, BeforeValidator(_heap)] = "1g"
    trigger: Duration = timedelta(0)
    start: Annotated[str, BeforeValidator(_start)] = "earliest"


class Spark(_Section):
    master: Annotated[str, Field(min_length=1)] = "local[*]"


class Dashboard(_Section):
    port: Port = 8080


class Settings(BaseModel):
    """The one frozen object. `origins` says for every setting where its value came from."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    home: Path
    cache: Path
    kafka: Kafka = Kafka()
    postgres: Postgres = Postgres()
    line: Line = Line()
    spark: Spark = Spark()
    dashboard: Dashboard = Dashboard()
    origins: Mapping[str, str] = Field(default_factory=dict)


SECTIONS: Mapping[str, type[BaseModel]] = {"kafka": Kafka, "postgres": Postgres, "line": Line, "spark": Spark, "dashboard": Dashboard}
KEYS = tuple(f"{section}.{key}" for section, model in SECTIONS.items() for key in model.model_fields)
VARIABLES = {PREFIX + key.replace(".", "_").upper(): key for key in KEYS}


def load(home: Path | None = None, environ: Mapping[str, str] = os.environ, file: Path | None = None) -> Settings:
    """Read the file, then the environment over it, and check all of it; the first thing that is wrong is said with its place."""
    path = _file(file, environ)
    found = _from_file(path) if path else {}
    origins = dict.fromkeys(KEYS, "default") | dict.fromkeys(found, path.name if path else "")
    for key, variable, value in _from_environment(environ):
        found[key] = value
        origins[key] = variable
    _refuse_passwords_in_file(found, origins)
    sections: dict[str, dict[str, Any]] = {}
    for dotted, value in found.items():
        section, _, key = dotted.partition(".")
        sections.setdefault(section, {})[key] = value
    try:
        read = Settings.model_validate({"home": _home(home, environ), "cache": _cache(environ), "origins": origins, **sections})
    except ValidationError as error:
        raise _told(error, origins) from None
    return _without_example_secrets(_with_checkpoint_beside(read, path))


def _file(given: Path | None, environ: Mapping[str, str]) -> Path | None:
    named = given or (Path(environ["COMPORTA_CONFIG"]) if environ.get("COMPORTA_CONFIG") else None)
    path = named or Path.cwd() / FILE_NAME
    if path.is_file():
        return path.absolute()
    if named:
        raise Setup("there is no such file", where=str(named), do="correct COMPORTA_CONFIG")
    return None


def _home(given: Path | None, environ: Mapping[str, str]) -> Path:
    home = (given or Path(environ.get("COMPORTA_HOME") or ".comporta")).expanduser().absolute()
    if home.exists() and not home.is_dir():
        raise Setup("is a file, not a folder", where=str(home), do="set COMPORTA_HOME to a folder")
    return home


def _cache(environ: Mapping[str, str]) -> Path:
    given = environ.get("COMPORTA_CACHE")
    cache = Path(given).expanduser().absolute() if given else platformdirs.user_cache_path("comporta")
    if cache.exists() and not cache.is_dir():
        raise Setup("is a file, not a folder", where=str(cache), do="set COMPORTA_CACHE to a folder")
    return cache


def _from_file(path: Path) -> dict[str, Any]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise Setup(f"this is no TOML: {error}", where=f"{path}:{line[1]}" if line else str(path)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise Setup(f"cannot be read: {type(error).__name__}", where=str(path)) from None
    found: dict[str, Any] = {}
    for section, content in document.items():
        if section not in SECTIONS:
            raise _unknown(section, SECTIONS, str(path)) if isinstance(content, dict) else _unknown(section, KEYS, str(path))
        if not isinstance(content, dict):
            raise Setup(f"{section} is a section, not a value", where=str(path), do=f"write [{section}] and below it its settings")
        for key, value in content.items():
            dotted = f"{section}.{key}"
            if dotted not in KEYS:
                raise _unknown(dotted, KEYS, str(path))
            found[dotted] = value
    return found


def _from_environment(environ: Mapping[str, str]) -> Iterable[tuple[str, str, str]]:
    for variable in sorted(environ):
        if not variable.startswith(PREFIX) or variable in PLACES:
            continue
        if variable not in VARIABLES:
            raise _unknown(variable, [*VARIABLES, *PLACES], "environment")
        yield VARIABLES[variable], variable, environ[variable]


def _unknown(name: str, known: Iterable[str], where: str) -> Setup:
    plain = re.sub(r"[^a-z]", "", name.lower())
    if "failondataloss" in plain or "startingoffsets" in plain:
        return Setup(
            f"{name} is not yours to set: the ledger decides where a line goes on, and loss is never silent",
            where=where,
            do="see line.start",
        )
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return Setup(f"unknown setting {name}", where=where, do=f"did you mean {near[0]}?" if near else "see: comporta config show")


def _told(error: ValidationError, origins: Mapping[str, str]) -> ComportaError:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    key = ".".join(str(part) for part in first["loc"][:2])
    sentence = first["msg"].removeprefix("Value error, ")
    # An address is typed by a person for this one command more often than it is configured.
    kind = Usage if key == "kafka.bootstrap" else Setup
    return kind(f"{key} {sentence[:1].lower()}{sentence[1:]}", where=origins.get(key, ""))


def _refuse_passwords_in_file(found: Mapping[str, Any], origins: Mapping[str, str]) -> None:
    for key in ("postgres.dsn", "postgres.owner_dsn", "postgres.reader_dsn"):
        value = found.get(key)
        if isinstance(value, str) and not origins[key].startswith(PREFIX) and _password(value) is not None:
            variable = PREFIX + key.replace(".", "_").upper()
            raise Setup(
                f"{key} carries a password", where=origins[key], do=f"give it by {variable} instead, or leave the password to ~/.pgpass"
            )


def _without_example_secrets(read: Settings) -> Settings:
    for key in ("dsn", "owner_dsn", "reader_dsn"):
        secret = getattr(read.postgres, key)
        if secret is None:
            continue
        where = read.origins[f"postgres.{key}"]
        if not secret.get_secret_value().strip():
            raise Setup(f"postgres.{key} is empty", where=where, do="give the DSN, or leave it out")
        password = _password(secret.get_secret_value())
        if password is not None and password.lower() in EXAMPLE_SECRETS:
            raise Setup(f"the password of postgres.{key} is empty or an example's", where=where, do="give the real one")
    return read


def _password(dsn: str) -> str | None:
    """What stands as the password in a DSN of either form; None when it has none."""
    address = re.match(r"postgres(?:ql)?://[^/@?#]*?:([^@/]*)@", dsn)
    named = re.search(r"(?:^|[\s?&])password\s*=\s*('(?:[^'\\]|\\.)*'|[^\s&]*)", dsn)
    found = address or named
    return found[1].strip("'") if found else None


def _with_checkpoint_beside(read: Settings, path: Path | None) -> Settings:
    """A relative checkpoint folder is relative to the file that names it, else to the current folder."""
    if read.line.checkpoint is None:
        return read
    base = path.parent if path and read.origins["line.checkpoint"] == path.name else Path.cwd()
    line = read.line.model_copy(update={"checkpoint": base / read.line.checkpoint.expanduser()})
    return read.model_copy(update={"line": line})
