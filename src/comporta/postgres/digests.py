"""One digest over rows as they are stored, the same from Arrow before the commit as from PostgreSQL years later."""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from comporta.words.errors import Bug

DIGEST_VERSION = 1

# What the database adds to a row or changes later is no part of what was committed.
NOT_DIGESTED = frozenset({"topic_id", "id", "replayed_at"})


def digest(table: pa.Table, columns: Iterable[str] | None = None) -> bytes:
    """Sixteen bytes over the rows in the order of their offsets.

    Columns go in by name. One that is null in every row stays out, so a column that a later version adds leaves old digests as they are.
    """
    names = sorted(set(table.column_names if columns is None else columns) - NOT_DIGESTED)
    whole = blake2b(digest_size=16)
    whole.update(f"comporta digest {DIGEST_VERSION}: {table.num_rows} rows".encode())
    ordered = in_offset_order(table.select(names))
    for name in names:
        column = _plain(ordered.column(name))
        if column.null_count < len(column):
            whole.update(f"\0{name}\0".encode())
            _add_values(whole.update, column, name)
    return whole.digest()


def in_offset_order(table: pa.Table) -> pa.Table:
    if "offset" not in table.column_names or table.num_rows < 2:  # noqa: PLR2004 - one row is in order
        return table
    offsets = table.column("offset").to_numpy()
    return table if bool((offsets[1:] > offsets[:-1]).all()) else table.take(np.argsort(offsets, kind="stable"))


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """One array, without the names that uuid and json have when they are read from PostgreSQL."""
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    return array.storage if isinstance(array.type, pa.BaseExtensionType) else array


def _add_values(add: Callable[[Any], None], array: pa.Array, name: str) -> None:
    """The kind, which values are there, then the values; null counts as nothing at all."""
    kind = array.type
    if array.null_count:
        add(b"nulls")
        add(np.asarray(pc.is_null(array).cast(pa.uint8())))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        add(b"integer")
        add(_numbers(array.cast(pa.int64())))
    elif pa.types.is_date32(kind):
        add(b"date")
        add(_numbers(array.cast(pa.int32()).cast(pa.int64())))
    elif pa.types.is_timestamp(kind):
        add(b"instant")
        add(_numbers(array.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())))
    elif pa.types.is_floating(kind):
        add(b"float")
        add(_numbers(array.cast(pa.float64())))
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        add(b"text")
        _add_bytes(add, array.cast(pa.large_string()).cast(pa.large_binary()))
    elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        add(b"bytes")
        _add_bytes(add, array.cast(pa.binary()).cast(pa.large_binary()))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        add(b"list")
        add(_numbers(pc.list_value_length(array).cast(pa.int64())))
        _add_values(add, _plain(pa.chunked_array([pc.list_flatten(array)])), name)
    else:
        raise Bug(f"a column of type {kind} has no digest", where=name)


def _numbers(array: pa.Array) -> Any:
    """Eight bytes each, least significant first; null as zero."""
    filled = array.fill_null(0) if array.null_count else array
    return np.ascontiguousarray(filled.to_numpy(zero_copy_only=False)).astype(
        "<i8" if pa.types.is_integer(array.type) else "<f8", copy=False
    )


def _add_bytes(add: Callable[[Any], None], array: pa.Array) -> None:
    filled = array.fill_null(b"") if array.null_count else array
    add(_numbers(pc.binary_length(filled).cast(pa.int64())))
    start, end = (filled.offset, filled.offset + len(filled))
    _, positions, content = filled.buffers()
    edges = np.frombuffer(positions, dtype="<i8")[[start, end]] if positions is not None and len(filled) else (0, 0)
    if content is not None:
        add(content.slice(int(edges[0]), int(edges[1] - edges[0])))
