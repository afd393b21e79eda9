"""The database's version: plain SQL files, each applied once, in order, in a transaction under a lock, its SHA-256 kept and compared."""

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

from psycopg import sql
from psycopg.types.json import Jsonb

from comporta.postgres.connections import Connection, connect
from comporta.postgres.failures import place, told
from comporta.postgres.shape import differences, shape
from comporta.words.errors import Bug, Setup

# Any number will do, as long as every version of Comporta uses the same one.
LOCK = 0x636F6D706F727461
OLDEST_SERVER = 140000  # int8multirange
SHOWN_DIFFERENCES = 5
# What the writer may do beyond reading; the reader reads everything and writes nothing.
WRITES = {
    "decisions": "insert",
    "dead_letters": "insert",
    "duplicates": "insert",
    "identities": "insert, delete",
    "metrics_minute": "insert, update",
    "line_owner": "insert, update",
    "line_ledger": "insert, update",
    "ledger_history": "insert",
    "control_events": "insert",
}


class Migrated(NamedTuple):
    """The versions before and after; equal when there was nothing to do."""

    before: int
    after: int


@dataclass(frozen=True)
class Migration:
    """One file of the folder `migrations`."""

    version: int
    name: str
    text: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text).hexdigest()


@dataclass(frozen=True)
class _Roles:
    owner: str
    writer: str
    reader: str


def migrations() -> list[Migration]:
    """What the package holds, in order: NNNN_name.sql, numbered from 1 without a hole."""
    found = []
    for file in files("comporta.postgres").joinpath("migrations").iterdir():
        named = re.fullmatch(r"(\d{4})_(\w+)\.sql", file.name)
        if named:
            found.append(Migration(int(named[1]), named[2], file.read_bytes()))
    found.sort(key=lambda migration: migration.version)
    if [migration.version for migration in found] != list(range(1, len(found) + 1)):
        raise Bug("the migrations are not numbered from 1 without a hole")
    return found


LATEST = len(migrations())


def ensure(owner_dsn: str, writer_dsn: str, reader_dsn: str) -> Migrated:
    """Make a fresh, empty database ready; refuse every database that is not exactly of this version."""
    with told(owner_dsn), connect(owner_dsn, "comporta migrate", autocommit=False) as connection:
        before = _version(connection, place(owner_dsn))
        if 0 < before < LATEST:
            raise Setup(
                f"the database has version {before}, this Comporta needs {LATEST}",
                where=place(owner_dsn),
                do="stop the line, then run `comporta migrate`",
            )
        if before == 0:
            _apply_all(connection, place(owner_dsn), _roles(owner_dsn, writer_dsn, reader_dsn))
        _refuse_other_shape(connection, place(owner_dsn))
        return Migrated(before, LATEST)


def migrate(owner_dsn: str, writer_dsn: str, reader_dsn: str) -> Migrated:
    """Bring an empty or older database to this version, and grant again what the roles need."""
    with told(owner_dsn), connect(owner_dsn, "comporta migrate", autocommit=False) as connection:
        before = _version(connection, place(owner_dsn))
        roles = _roles(owner_dsn, writer_dsn, reader_dsn)
        _apply_all(connection, place(owner_dsn), roles)
        _lock(connection)
        _grant(connection, roles)
        connection.commit()
        _refuse_other_shape(connection, place(owner_dsn))
        return Migrated(before, LATEST)


def version(dsn: str) -> int:
    """The version of a database that is ours, 0 for an empty one; Setup for any other."""
    with told(dsn), connect(dsn, "comporta migrate", read_only=True) as connection:
        return _version(connection, place(dsn))


def drift(dsn: str) -> list[str]:
    """How the tables differ from what the last migration left behind; a line per difference, none if all is well."""
    with told(dsn), connect(dsn, "comporta migrate", read_only=True) as connection:
        return _differences(connection)


def _version(connection: Connection, where: str) -> int:
    """Setup for a database that is foreign, newer than we are, or was migrated with files that have changed since."""
    server = connection.info.server_version
    if server < OLDEST_SERVER:
        raise Setup(f"PostgreSQL {server // 10000} is too old", where=where, do=f"use {OLDEST_SERVER // 10000} or newer")
    if connection.execute("show server_encoding").fetchone() != ("UTF8",):
        raise Setup(
            "the database's encoding is not UTF8", where=where, do="make one with: create database NAME encoding 'UTF8' template template0"
        )
    if not _is_ours(connection):
        _refuse_foreign(connection, where)
        return 0
    applied = connection.execute("select version, name, sha256 from schema_migrations order by version").fetchall()
    _refuse_edited({number: (name, digest) for number, name, digest in applied}, where)
    return max((number for number, _, _ in applied), default=0)


def _is_ours(connection: Connection) -> bool:
    # A table of that name made by someone else's tool has other columns.
    found = connection.execute(
        """select count(*) from pg_attribute where attrelid = to_regclass(quote_ident(current_schema()) || '.schema_migrations')
           and attname in ('version', 'name', 'sha256', 'applied_at', 'shape') and not attisdropped"""
    ).fetchone()
    return found == (5,)


def _refuse_foreign(connection: Connection, where: str) -> None:
    strangers = connection.execute(
        """select relname::text from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f')
           and not exists (select 1 from pg_depend where objid = pg_class.oid and classid = 'pg_class'::regclass and deptype = 'e')
           order by relname limit 3"""
    ).fetchall()
    if strangers:
        names = ", ".join(name for (name,) in strangers)
        raise Setup(
            f"the database is not empty and not Comporta's (it holds {names})", where=where, do="give Comporta a database of its own"
        )


def _refuse_edited(applied: dict[int, tuple[str, str]], where: str) -> None:
    newest = max(applied, default=0)
    if newest > LATEST:
        raise Setup(f"the database has version {newest}, this Comporta knows only {LATEST}", where=where, do="use a newer Comporta")
    ours = {migration.version: (migration.name, migration.sha256) for migration in migrations()}
    edited = [f"{number:04}_{name}" for number, (name, digest) in applied.items() if ours[number] != (name, digest)]
    if edited:
        raise Setup(
            f"the database was made with other files than these: {', '.join(edited)}",
            where=where,
            do="a migration is never edited once it was applied: restore it, or use the Comporta that made this database",
        )


def _refuse_other_shape(connection: Connection, where: str) -> None:
    found = _differences(connection)
    if found:
        more = f" and {len(found) - SHOWN_DIFFERENCES} more" if len(found) > SHOWN_DIFFERENCES else ""
        raise Setup(f"the tables were changed by hand: {'; '.join(found[:SHOWN_DIFFERENCES])}{more}", where=where, do="change them back")


def _differences(connection: Connection) -> list[str]:
    migrated = connection.execute("select shape from schema_migrations order by version desc limit 1").fetchone()
    return differences(migrated[0], shape(connection)) if migrated else []


def _apply_all(connection: Connection, where: str, roles: _Roles) -> None:
    """One transaction per migration, its grants in it; whoever waited for the lock looks again at what is left to do."""
    connection.rollback()
    for migration in migrations():
        _lock(connection)
        if _version(connection, where) < migration.version:
            connection.execute(
                """create table if not exists schema_migrations (
                       version integer primary key,
                       name text not null,
                       sha256 text not null,
                       shape jsonb not null,
                       applied_at timestamptz not null default clock_timestamp()
                   )"""
            )
            connection.execute(migration.text)
            _grant(connection, roles)
            connection.execute(
                "insert into schema_migrations (version, name, sha256, shape) values (%s, %s, %s, %s)",
                (migration.version, migration.name, migration.sha256, Jsonb(shape(connection))),
            )
        connection.commit()


def _lock(connection: Connection) -> None:
    connection.execute("set local lock_timeout = '60s'")
    connection.execute("select pg_advisory_xact_lock(%s)", (LOCK,))


def _roles(owner_dsn: str, writer_dsn: str, reader_dsn: str) -> _Roles:
    """Asked, not parsed: a user may come from the environment, a password file or a service file."""
    names: dict[str, str] = {}
    for dsn in (owner_dsn, writer_dsn, reader_dsn):
        if dsn not in names:
            with told(dsn), connect(dsn, "comporta migrate") as connection:
                row = connection.execute("select current_user::text").fetchone()
                names[dsn] = str(row and row[0])
    return _Roles(names[owner_dsn], names[writer_dsn], names[reader_dsn])


def _grant(connection: Connection, roles: _Roles) -> None:
    """The writer writes only the line's tables, the reader reads. One role in all three parts needs no grant."""
    relations = {name.removeprefix("column ").split(".")[0] for name in shape(connection) if name.startswith("column ")}
    schema = connection.execute("select current_schema()::text").fetchone()
    for role in sorted({roles.writer, roles.reader} - {roles.owner}):
        if connection.execute("select has_schema_privilege(%s, current_schema(), 'usage')", (role,)).fetchone() != (True,):
            connection.execute(
                sql.SQL("grant usage on schema {} to {}").format(sql.Identifier(str(schema and schema[0])), sql.Identifier(role))
            )
        for relation in sorted(relations):
            connection.execute(sql.SQL("grant select on {} to {}").format(sql.Identifier(relation), sql.Identifier(role)))
    if roles.writer != roles.owner:
        for table, privileges in WRITES.items():
            if table in relations:
                words = sql.SQL(", ").join(PRIVILEGES[name] for name in privileges.split(", "))
                connection.execute(sql.SQL("grant {} on {} to {}").format(words, sql.Identifier(table), sql.Identifier(roles.writer)))


PRIVILEGES = {"insert": sql.SQL("insert"), "update": sql.SQL("update"), "delete": sql.SQL("delete")}
