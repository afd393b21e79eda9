"""Connections that notice when the other side is gone, on both sides; their names tell in pg_stat_activity what each is for."""

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

from comporta.postgres.failures import told
from comporta.words.errors import Setup

Connection = psycopg.Connection[TupleRow]

HIGHEST_PORT = 65535
# What we do about a server that vanished: noticed after 10 + 3 x 5 seconds, data without acknowledgement after 20.
KEEPALIVES = {
    "connect_timeout": "10",
    "keepalives": "1",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
# What the server does about a client that vanished: a dead host must not hold its locks for the two hours that are the default.
# The rest keeps what a role or a database may have set out of a session whose lock and long COPY have to live.
SESSION = {
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "idle_session_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "statement_timeout": "0",
    "lock_timeout": "10s",
    "timezone": "UTC",
    "default_transaction_isolation": "read committed",
}
SET_SESSION = "select " + ", ".join(f"set_config('{name}', '{value}', false)" for name, value in SESSION.items())


def conninfo(dsn: str, name: str) -> str:
    """The DSN with our keepalives and our name; what the DSN itself says of these wins."""
    with told(dsn):
        given = conninfo_to_dict(dsn)
        for port in str(given.get("port") or "5432").split(","):
            if not port.isdecimal() or not 0 < int(port) <= HIGHEST_PORT:
                raise Setup(f"{port!r} is no port", where="the DSN of PostgreSQL", do=f"a port is a number from 1 to {HIGHEST_PORT}")
        wanted = {**KEEPALIVES, "application_name": name}
        return make_conninfo(dsn, **{key: value for key, value in wanted.items() if given.get(key) is None})


def connect(dsn: str, name: str, *, autocommit: bool = True, read_only: bool = False) -> Connection:
    """A psycopg connection of ours; its errors become ours only inside `told`."""
    text = conninfo(dsn, name)
    with told(dsn):
        connection = psycopg.connect(text, autocommit=True)
        try:
            connection.execute(SET_SESSION.encode())
            if read_only:
                connection.execute("set default_transaction_read_only = on")
            connection.autocommit = autocommit
        except BaseException:
            connection.close()
            raise
        return connection


def is_open(connection: Connection) -> bool:
    """As far as our side knows."""
    return not connection.closed and connection.info.status == pq.ConnStatus.OK
