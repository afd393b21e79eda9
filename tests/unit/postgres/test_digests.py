"""The digest: the same rows give the same sixteen bytes, whatever they went through; any change gives others."""

import json
from datetime import UTC, datetime
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comporta.postgres.digests import digest
from comporta.words.errors import Bug

TABLE = pa.table(
    {
        "partition": pa.array([0, 0, 0], pa.int32()),
        "offset": pa.array([10, 11, 12], pa.int64()),
        "at": pa.array([datetime(2026, 3, 1, tzinfo=UTC)] * 3, pa.timestamp("us", "UTC")),
        "name": pa.array(["ana", None, ""]),
        "identity": pa.array([b"0123456789abcdef", b"\0" * 16, b"\xff" * 16], pa.binary(16)),
        "key": pa.array([b"k", None, b""], pa.binary()),
        "score": pa.array([1.5, -0.0, 1e300]),
        "flag": pa.array([True, None, False]),
        "reasons": pa.array(["[]", '[{"a":  1.10}]', "[]"]),
        "invalid": pa.array([[], ["ip", None], ["a", "b"]], pa.list_(pa.string())),
        "nothing": pa.nulls(3, pa.string()),
    }
)


def test_the_digest_of_rows_that_never_change_never_changes() -> None:
    assert digest(TABLE).hex() == "603ebf0b29ba865c23278295142d9b08"


def test_neither_chunks_nor_slices_nor_the_order_of_rows_and_columns_count() -> None:
    pieces = pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1, 0), TABLE.slice(1, 2)])
    longer = pa.concat_tables([TABLE.set_column(1, "offset", pa.array([7, 8, 9], pa.int64())), TABLE, TABLE]).combine_chunks()
    shuffled = TABLE.take(pa.array([2, 0, 1]))
    for same in (pieces, longer.slice(3, 3), shuffled, TABLE.select(sorted(TABLE.column_names, reverse=True))):
        assert digest(same) == digest(TABLE)


def test_a_uuid_and_json_read_from_postgresql_count_as_the_bytes_and_the_text_that_they_are() -> None:
    storage = TABLE.column("identity").combine_chunks()
    uuids = pa.ExtensionArray.from_storage(pa.uuid(), storage)
    reasons = pa.ExtensionArray.from_storage(pa.json_(), TABLE.column("reasons").combine_chunks())
    assert uuids[0].as_py() == UUID(bytes=b"0123456789abcdef")
    read = (
        TABLE.set_column(4, "identity", uuids).set_column(8, "reasons", reasons).set_column(0, "partition", pa.array([0, 0, 0], pa.int64()))
    )
    assert digest(read) == digest(TABLE)


def test_a_column_that_is_null_throughout_and_what_only_the_database_knows_stay_out() -> None:
    added = TABLE.append_column("later", pa.nulls(3, pa.int64())).append_column("topic_id", pa.array([b"x" * 16] * 3, pa.binary(16)))
    added = added.append_column("id", pa.array([1, 2, 3])).append_column(
        "replayed_at", pa.array([None, datetime(2026, 1, 1, tzinfo=UTC), None])
    )
    assert digest(added) == digest(TABLE)
    assert digest(TABLE.append_column("later", pa.array([None, 1, None]))) != digest(TABLE)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("offset", pa.array([10, 11, 13], pa.int64())),
        ("name", pa.array(["ana", "", ""])),
        ("name", pa.array(["an", None, "a"])),
        ("key", pa.array([b"k", b"", None], pa.binary())),
        ("score", pa.array([1.5, 0.0, 1e300])),
        ("score", pa.array([1.5, None, 1e300])),
        ("flag", pa.array([True, False, False])),
        ("reasons", pa.array(["[]", '[{"a": 1.10}]', "[]"])),
        ("invalid", pa.array([["ip"], [None], ["a", "b"]], pa.list_(pa.string()))),
        ("invalid", pa.array([[], ["ip", ""], ["a", "b"]], pa.list_(pa.string()))),
        ("invalid", pa.array([None, ["ip", None], ["a", "b"]], pa.list_(pa.string()))),
        (
            "at",
            pa.array([datetime(2026, 3, 1, 0, 0, 0, 1, tzinfo=UTC), *[datetime(2026, 3, 1, tzinfo=UTC)] * 2], pa.timestamp("us", "UTC")),
        ),
        ("nothing", pa.array([None, None, ""])),
    ],
)
def test_any_change_shows(column: str, values: pa.Array) -> None:
    assert digest(TABLE.set_column(TABLE.column_names.index(column), column, values)) != digest(TABLE)


def test_a_value_that_moves_to_another_column_or_a_row_that_is_missing_shows() -> None:
    swapped = TABLE.rename_columns(["reasons" if name == "name" else "name" if name == "reasons" else name for name in TABLE.column_names])
    assert digest(swapped) != digest(TABLE)
    assert digest(TABLE.slice(0, 2)) != digest(TABLE)
    assert digest(TABLE.slice(0, 0)) != digest(TABLE.slice(0, 1))


def test_a_type_without_a_digest_is_refused() -> None:
    with pytest.raises(Bug, match="struct"):
        digest(pa.table({"x": pa.array([{"a": 1}])}))


@given(
    st.lists(st.tuples(st.none() | st.text(), st.none() | st.binary(), st.none() | st.lists(st.none() | st.text())), max_size=8), st.data()
)
def test_tables_have_the_same_digest_exactly_if_they_are_equal(rows: list[tuple[object, ...]], data: st.DataObject) -> None:
    others = data.draw(st.one_of(st.just(rows), st.permutations(rows), st.lists(st.sampled_from(rows or [(None, None, None)]), max_size=8)))

    def table(given: list[tuple[object, ...]]) -> pa.Table:
        columns = [list(column) for column in zip(*given, strict=True)] or [[], [], []]
        types = (pa.string(), pa.binary(), pa.list_(pa.string()))
        offsets = pa.array(range(len(given)), pa.int64())
        return pa.table(
            [offsets, *(pa.array(values, kind) for values, kind in zip(columns, types, strict=True))], names=["offset", "a", "b", "c"]
        )

    assert (digest(table(rows)) == digest(table(others))) == (json.dumps(rows, default=bytes.hex) == json.dumps(others, default=bytes.hex))
