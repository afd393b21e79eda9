"""What PostgreSQL's errors mean for us, told by SQLSTATE; nothing but the SQLSTATE and a constraint's name leaves the room."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from adbc_driver_manager import AdbcStatusCode
from adbc_driver_manager import Error as AdbcError
from psycopg.conninfo import conninfo_to_dict

from comporta.words.errors import Bug, ComportaError, DamagedState, Setup, Unreachable

# A whole class, or a single state.
# 25006: a server that is a standby for the moment, while another is made the first.
TRANSIENT = ("08", "53", "57P", "58", "40001", "40P01", "55P03", "57014", "25P03", "25006")
DAMAGED = ("22", "23", "XX001", "XX002")
SETUP = ("28", "3D", "3F", "42", "0A", "F0")
# libpq gives no SQLSTATE for a connection that the server refused, so these few sentences of the server have to be known by heart.
REFUSALS = {
    "authentication failed": "the user or the password was refused",
    "no password supplied": "a password is wanted and none was given",
    "no pg_hba.conf entry": "the server lets nobody in from here by this user (pg_hba.conf)",
    '" does not exist': "the database or the user does not exist",
    "is not permitted to log in": "the user may not log in",
    "permission denied for database": "the user may not connect to this database",
    "certificate verify failed": "the server's certificate was not accepted",
    "server does not support SSL": "the server does not speak TLS and the DSN asks for it",
}


def place(dsn: str) -> str:
    """Where this DSN points, without user or password."""
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.Error:
        return "PostgreSQL"
    host = parts.get("host") or parts.get("hostaddr") or "the local socket"
    return f"PostgreSQL at {host}:{parts.get('port') or 5432}/{parts.get('dbname') or parts.get('user') or ''}"


@contextmanager
def told(dsn: str) -> Iterator[None]:
    """Every error of the two drivers inside becomes one of ours; `from None`, for the original may quote whole rows."""
    try:
        yield
    except (psycopg.Error, AdbcError) as error:
        raise answer(error, place(dsn)) from None


def sqlstate_of(error: BaseException) -> str | None:
    state = getattr(error, "sqlstate", None)
    return state if isinstance(state, str) and state.strip("\0") else None


def constraint_of(error: BaseException) -> str:
    if isinstance(error, psycopg.Error):
        return error.diag.constraint_name or ""
    details = dict(getattr(error, "details", None) or [])
    return bytes(details.get(b"PG_DIAG_CONSTRAINT_NAME", b"")).decode(errors="replace")


def is_connection_lost(error: BaseException) -> bool:
    """No SQLSTATE and an input/output error: the server said nothing, or said it in dying."""
    state = sqlstate_of(error)
    if state is not None:
        return state.startswith(("08", "57P"))
    if isinstance(error, AdbcError):
        return error.status_code == AdbcStatusCode.IO
    return isinstance(error, psycopg.OperationalError)


# What the classes mean, what was the matter, what to do; the first that fits counts.
MEANINGS: tuple[tuple[tuple[str, ...], type[ComportaError], str, str], ...] = (
    (TRANSIENT, Unreachable, "the server cannot serve now", "it is tried again while patience lasts"),
    (("23505",), DamagedState, "a row that must be new is stored already", "nothing was written; compare the ledger with the tables"),
    (DAMAGED, DamagedState, "the database refused what is to be stored", "nothing was written"),
    (("42501",), Setup, "this user lacks a privilege", "run `comporta migrate`: it grants what each role needs"),
    (SETUP, Setup, "the database is not as this version expects it", "see `comporta doctor`"),
)


def answer(error: BaseException, where: str) -> ComportaError:
    """The error of ours for one of the two drivers'."""
    state, constraint = sqlstate_of(error), constraint_of(error)
    if state is None:
        return _without_state(error, where)
    fact = f"SQLSTATE {state}" + (f", constraint {constraint}" if constraint else "")
    for states, kind, what, do in MEANINGS:
        if state.startswith(states):
            return kind(f"{what} ({fact})", where=where, do=do)
    return Bug(f"PostgreSQL answered with an error that we did not expect ({fact})", where=where, do="report it")


def _without_state(error: BaseException, where: str) -> ComportaError:
    if isinstance(error, psycopg.ProgrammingError):
        return Setup("the DSN cannot be read", where="postgres.dsn", do="write it as postgresql://USER@HOST:PORT/DATABASE")
    if not is_connection_lost(error):
        return Bug(f"the PostgreSQL driver failed ({type(error).__name__})", where=where, do="report it")
    text = str(error)
    for sentence, meaning in REFUSALS.items():
        if sentence in text:
            return Setup(meaning, where=where, do="check postgres.dsn, postgres.owner_dsn and postgres.reader_dsn")
    return Unreachable("no answer", where=where, do="is PostgreSQL running? see `comporta status`")
