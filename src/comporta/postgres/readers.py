"""What is asked of the database: known identities (from the tasks), positions, owners, and a person's own SQL."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import numpy as np
import psycopg
import pyarrow as pa
from psycopg import pq
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.rows import class_row

from comporta.postgres.connections import Connection, connect, is_open
from comporta.postgres.failures import is_connection_lost, told
from comporta.postgres.ownership import OWNER_COLUMNS, LedgerRow, OwnerRow, holder, ledger_rows
from comporta.words.tables import INSTANT

UUID_OID, UUID_ARRAY_OID = 2950, 2951
KNOWN = pa.schema(
    [
        pa.field("identity", pa.binary(16), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("clock", INSTANT, nullable=False),
    ]
)
Answer = TypeVar("Answer")

# One connection per process and database: a Python worker of Spark lives for many tasks, and a forked one must not use its parent's.
_connections: dict[tuple[int, str], Connection] = {}


@dataclass(frozen=True)
class UuidArray:
    """Identities in PostgreSQL's own binary form of uuid[]; twenty times faster than making a UUID of each."""

    content: bytes


class UuidArrayDumper(Dumper):
    format = pq.Format.BINARY
    oid = UUID_ARRAY_OID

    def dump(self, obj: UuidArray) -> Buffer:
        return obj.content


def uuid_array(identities: pa.Array) -> UuidArray:
    """One dimension, no nulls, element type uuid, length, lower bound 1; then length and bytes of each element."""
    if isinstance(identities, pa.ChunkedArray):
        identities = identities.combine_chunks()
    count = len(identities)
    elements = np.zeros(count, dtype=[("size", ">i4"), ("value", "V16")])
    if count:
        start = identities.offset * 16
        elements["size"] = 16
        elements["value"] = np.frombuffer(identities.buffers()[1], dtype="V16", count=count, offset=start)
    header = np.array([1, 0, UUID_OID, count, 1], dtype=">i4")
    return UuidArray(header.tobytes() + elements.tobytes())


def known_identities(dsn: str, topic_id: UUID, partition: int, identities: pa.Array) -> pa.Table:
    """Those of the identities that are stored, with the first copy's offset and clock. Called from the tasks; reads only."""
    if len(identities) == 0:
        return KNOWN.empty_table()
    wanted = uuid_array(identities)

    def ask(connection: Connection) -> list[tuple[UUID, int, datetime]]:
        with connection.cursor(binary=True) as cursor:
            cursor.execute(
                """select identity, "offset", clock from identities where topic_id = %s and partition = %s and identity = any(%s)""",
                (topic_id, partition, wanted),
            )
            return cursor.fetchall()

    found = _asked(dsn, ask)
    return pa.table(
        [[row[0].bytes for row in found], [row[1] for row in found], [row[2] for row in found]],
        schema=KNOWN,
    )


def _asked(dsn: str, ask: Callable[[Connection], Answer]) -> Answer:
    """Through this process's connection; a connection that was lost since is made again once, for a question may be asked twice."""
    key = (os.getpid(), dsn)
    kept = _connections.get(key)
    with told(dsn):
        if kept is not None and is_open(kept):
            try:
                return ask(kept)
            except psycopg.Error as error:
                if not is_connection_lost(error):
                    raise
            kept.close()
        _connections[key] = connect(dsn, "comporta task", read_only=True)
        _connections[key].adapters.register_dumper(UuidArray, UuidArrayDumper)
        return ask(_connections[key])


def ledger(dsn: str, topic_id: UUID) -> dict[int, LedgerRow]:
    with told(dsn), connect(dsn, "comporta read", read_only=True) as connection:
        return ledger_rows(connection, topic_id)


def ledger_positions(dsn: str, topic_id: UUID) -> dict[int, int]:
    """The next offset of each partition that the line knows."""
    return {partition: row.next_offset for partition, row in ledger(dsn, topic_id).items()}


@dataclass(frozen=True)
class Line:
    """A line that this database knows, and the backend that holds its lock if one lives."""

    owner: OwnerRow
    backend: int | None


def lines(dsn: str) -> list[Line]:
    with told(dsn), connect(dsn, "comporta read", read_only=True) as connection:
        with connection.cursor(row_factory=class_row(OwnerRow)) as cursor:
            rows = cursor.execute(f"select {OWNER_COLUMNS} from line_owner order by line, topic".encode()).fetchall()  # noqa: S608 - our own names
        return [Line(row, holder(connection, row.topic_id)) for row in rows]


def installation(dsn: str) -> UUID:
    """The id that the first migration drew; it stands in the mirrored group."""
    with told(dsn), connect(dsn, "comporta read", read_only=True) as connection:
        row = connection.execute("select id from installation").fetchone()
    return row[0] if row else UUID(int=0)
