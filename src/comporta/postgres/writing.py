"""One ADBC connection and how rows get through it: direct binary COPY, and a temporary table where COPY alone will not do."""

from datetime import datetime
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
from adbc_driver_manager import Error as AdbcError
from adbc_driver_postgresql import dbapi

from comporta.postgres.connections import SET_SESSION, conninfo
from comporta.postgres.failures import place
from comporta.words.batches import Accumulate, Append, Overwrite, TableWrite
from comporta.words.errors import Bug, Setup

# Of two rows with the same keys the one with the smaller clock is the older one.
CLOCK = "clock"


COLUMNS = "select attname::text from pg_attribute where attrelid = to_regclass($1::text) and attnum > 0 and not attisdropped"
PRIMARY_KEY = """select attname::text from pg_index cross join unnest(indkey) with ordinality as part (number, place)
                 join pg_attribute on attrelid = indrelid and attnum = part.number
                 where indrelid = to_regclass($1::text) and indisprimary order by place"""


class Writer:
    """A connection in manual transaction mode, with what it has learnt of the tables it met."""

    def __init__(self, dsn: str, name: str) -> None:
        self._where = place(dsn)
        self.connection = dbapi.connect(conninfo(dsn, name))
        self._columns: dict[str, list[str]] = {}
        self._keys: dict[str, list[str]] = {}
        self._staged: set[str] = set()
        try:
            self.execute(SET_SESSION)
            self.connection.commit()
        except BaseException:
            self.close()
            raise

    def execute(self, statement: str, *parameters: str | int) -> list[tuple[Any, ...]]:
        """One statement; what it returns, if anything. Parameters are $1, $2, … and want a cast."""
        with self.connection.cursor() as cursor:
            cursor.execute(statement, parameters or None)
            return list(cursor.fetchall()) if cursor.description else []

    def rollback(self) -> None:
        """A temporary table that the transaction had made is gone with it, and has to be made again."""
        self._staged.clear()
        self.connection.rollback()

    def close(self) -> None:
        """A connection that is dead already cannot say goodbye, and need not."""
        try:
            self.connection.close()
        except AdbcError:
            return

    def write(self, write: TableWrite, topic_id: UUID, line: str) -> int:
        """The number of rows that were given; `topic_id` and `line` are added where the table has a column for them."""
        if write.rows.num_rows == 0:
            return 0
        constants = {"topic_id": pa.scalar(topic_id.bytes, pa.binary(16)), "line": pa.scalar(line)}
        rows = self._complete(write.table, write.rows, constants)
        added = tuple(name for name in constants if name in rows.column_names and name not in write.rows.column_names)
        match write.how:
            case Append(stale):
                if stale is not None and stale.num_rows:
                    self._make_room(write.table, rows, added, stale)
                self._copy(write.table, in_order(rows, self._keys[write.table]))
            case Accumulate(keys, sums, maxima):
                self._stage(write.table, rows)
                self.execute(upsert(write.table, (*added, *keys), sums, maxima))
            case Overwrite(keys):
                self._stage(write.table, rows)
                self.execute(replace_all(write.table, (*added, *keys), tuple(rows.column_names)))
        return int(write.rows.num_rows)

    def prune(self, table: str, topic_id: UUID, partition: int, before: datetime) -> None:
        """Rows of a partition that are older than this by their clock."""
        self.execute(
            f"delete from {quoted(table)} where topic_id = $1::uuid and partition = $2::integer and {CLOCK} < $3::timestamptz",  # noqa: S608 - quoted names
            str(topic_id),
            partition,
            before.isoformat(),
        )

    def _make_room(self, table: str, rows: pa.Table, added: tuple[str, ...], stale: pa.Table) -> None:
        """Stored rows that new ones of the same keys outlive go first, but only if they really are older: else the COPY shall find them."""
        keys = tuple(stale.column_names)
        narrowed = next(name for name in keys if name != "partition")
        newer = rows.filter(pc.is_in(rows.column(narrowed), value_set=stale.column(narrowed).combine_chunks()))
        self._stage(table, newer.select([*added, *keys, CLOCK]))
        self.execute(delete_older(table, (*added, *keys)))

    def _complete(self, table: str, rows: pa.Table, constants: dict[str, pa.Scalar]) -> pa.Table:
        if table not in self._columns:
            self._columns[table] = [name for (name,) in self.execute(COLUMNS, quoted(table))]
            self._keys[table] = [name for (name,) in self.execute(PRIMARY_KEY, quoted(table))]
        columns = self._columns[table]
        strange = [name for name in rows.column_names if name not in columns]
        if strange:
            missing = f"the table has no column {', '.join(strange)}" if columns else "there is no such table"
            raise Setup(missing, where=f"{self._where}, {table}", do="was the schema changed by hand? see `comporta doctor`")
        for name, value in constants.items():
            if name in columns and name not in rows.column_names:
                rows = rows.add_column(0, pa.field(name, value.type, nullable=False), pa.repeat(value, rows.num_rows))
        return rows

    def _stage(self, table: str, rows: pa.Table) -> None:
        """Into a temporary table that this connection makes once and PostgreSQL empties at every commit."""
        staging = staging_of(table)
        if staging not in self._staged:
            self.execute(
                f"create temporary table if not exists {quoted(staging)} on commit delete rows as "  # noqa: S608 - quoted names
                f"select {_list(tuple(rows.column_names))} from {quoted(table)} with no data"
            )
            self._staged.add(staging)
        self._copy(staging, rows, temporary=True)

    def _copy(self, table: str, rows: pa.Table, *, temporary: bool = False) -> None:
        with self.connection.cursor() as cursor:
            copied = cursor.adbc_ingest(table, rows, mode="append", temporary=temporary)
        if copied != rows.num_rows:
            raise Bug(f"{rows.num_rows} rows were given to COPY and {copied} taken", where=f"{self._where}, {table}")


def in_order(rows: pa.Table, keys: list[str]) -> pa.Table:
    """In the order of the key, so that each page of its index is visited once: in a large index that is a sixth of a commit's work."""
    present = [(name, "ascending") for name in keys if name in rows.column_names and name != "topic_id"]
    if not present:
        return rows
    places = pc.sort_indices(rows, sort_keys=present).to_numpy()
    return rows if bool((places[1:] > places[:-1]).all()) else rows.take(pa.array(places))


def quoted(name: str) -> str:
    """A name as SQL wants it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def staging_of(table: str) -> str:
    """The temporary table of a table."""
    return f"staging_{table}"


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(quoted(name) for name in names)


def upsert(table: str, keys: tuple[str, ...], sums: tuple[str, ...], maxima: tuple[str, ...]) -> str:
    """In key order, so that two writers cannot lock each other out; rows of several tasks with the same keys are added up first."""
    values = [*(f"sum({quoted(name)})" for name in sums), *(f"max({quoted(name)})" for name in maxima)]
    changes = [
        *(f"{quoted(name)} = old.{quoted(name)} + excluded.{quoted(name)}" for name in sums),
        *(f"{quoted(name)} = greatest(old.{quoted(name)}, excluded.{quoted(name)})" for name in maxima),
    ]
    return (
        f"insert into {quoted(table)} as old ({_list((*keys, *sums, *maxima))}) "  # noqa: S608 - quoted names
        f"select {', '.join([_list(keys), *values])} from pg_temp.{quoted(staging_of(table))} group by {_list(keys)} order by {_list(keys)} "
        f"on conflict ({_list(keys)}) do update set {', '.join(changes)}"
    )


def replace_all(table: str, keys: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """The new row in the place of the old one, in key order. Two new rows with the same keys are an error of PostgreSQL's."""
    changes = [f"{quoted(name)} = excluded.{quoted(name)}" for name in columns if name not in keys]
    return (
        f"insert into {quoted(table)} ({_list(columns)}) "  # noqa: S608 - quoted names
        f"select {_list(columns)} from pg_temp.{quoted(staging_of(table))} order by {_list(keys)} "
        f"on conflict ({_list(keys)}) do update set {', '.join(changes)}"
    )


def delete_older(table: str, keys: tuple[str, ...]) -> str:
    """Stored rows with the keys of a staged one and a smaller clock."""
    same = " and ".join(f"stored.{quoted(name)} = new.{quoted(name)}" for name in keys)
    return (
        f"delete from {quoted(table)} as stored using pg_temp.{quoted(staging_of(table))} as new "  # noqa: S608 - quoted names
        f"where {same} and stored.{CLOCK} < new.{CLOCK}"
    )
