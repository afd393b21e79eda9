"""What a Spark task does with its partition's share of a batch: decode, find duplicates, judge, and return tables. It never writes.

The tables differ in shape, so each travels as one row: partition, name, Arrow IPC bytes. What goes wrong travels the same way,
as a value that the driver can tell apart without reading messages.
"""

import os
import pickle
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from comporta.decoding import duplicates, quick
from comporta.judging.judge import References, judge
from comporta.judging.metrics import minute_metrics
from comporta.words.errors import Bug, ComportaError, ProcessDied
from comporta.words.records import record_hash
from comporta.words.tables import MEMORY, RECORDS

RESULT = pa.schema([("partition", pa.int32()), ("name", pa.string()), ("data", pa.binary())])
RESULT_DDL = "partition int, name string, data binary"
FAILURE = "failure"
ACCOUNTS = "accounts"

# The one row with which a task accounts for every record that it was given; ranges are flattened pairs [from, to).
ACCOUNT = pa.schema(
    [
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("first_offset", pa.int64(), nullable=False),
        pa.field("last_offset", pa.int64(), nullable=False),
        pa.field("records", pa.int64(), nullable=False),
        pa.field("transactions", pa.int64(), nullable=False),
        pa.field("dead_letters", pa.int64(), nullable=False),
        pa.field("duplicates", pa.int64(), nullable=False),
        pa.field("tombstones", pa.list_(pa.int64()), nullable=False),
        pa.field("gaps", pa.list_(pa.int64()), nullable=False),
        pa.field("clock_us", pa.int64(), nullable=False),
        pa.field("last_hash", pa.binary(16), nullable=False),
        pa.field("counters", pa.map_(pa.string(), pa.int64()), nullable=False),
        pa.field("seconds", pa.map_(pa.string(), pa.float64()), nullable=False),
    ]
)

KnownIdentities = Callable[[int, pa.Array], pa.Table]


@dataclass(frozen=True)
class TaskParts:
    """Everything a task needs, as picklable values; `clocks` are the ledger's, by partition, before this batch."""

    topic: str
    window: timedelta
    references: References
    known_identities: KnownIdentities
    clocks: dict[int, int]


class Stopwatch:
    """Seconds spent per named stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Book the time since the last lap on this stage."""
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now


def run(parts: TaskParts, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function that `mapInArrow` calls; every outcome is a row, an error too."""
    watch = Stopwatch()
    pieces = list(batches)
    if not pieces:
        return
    watch.lap("receive")
    try:
        tables = judge_partition(parts, pa.Table.from_batches(pieces).cast(RECORDS), watch)
    except ComportaError as error:
        yield _failure(error)
    except MemoryError:
        yield _failure(ProcessDied("a Python worker ran out of memory", do="lower line.max_offsets"))
    except Exception as error:  # noqa: BLE001 - a bug must reach the driver as a value, not as text in a Java exception
        yield _failure(Bug(f"a task failed: {type(error).__name__} at {_place(error)}", do="run again with -v and report it"))
    else:
        yield _rows(tables)


def judge_partition(parts: TaskParts, records: pa.Table, watch: Stopwatch) -> dict[str, pa.Table]:
    """All tables that follow from one partition's records, in offset order, with the account of them."""
    partition: int = records["partition"][0].as_py()
    offsets = records["offset"].to_numpy()
    if len(offsets) > 1 and not bool((offsets[1:] > offsets[:-1]).all()):
        raise Bug("records of a task are not in offset order", where=f"{parts.topic}-{partition}", do="report it")
    clocks = duplicates.running_clock(records, parts.clocks.get(partition))
    decoded = quick.decode(records, parts.topic)
    watch.lap("decode")
    known = parts.known_identities(partition, decoded.transactions["identity"].combine_chunks())
    watch.lap("identities_read")
    resolved = duplicates.resolve(
        decoded.transactions, known, duplicates.at_transactions(clocks, records, decoded.transactions), parts.window
    )
    watch.lap("identities")
    judged = judge(resolved.first_copies, MEMORY.empty_table(), parts.references)
    watch.lap("judge")
    metrics = minute_metrics(judged.decisions)
    watch.lap("metrics")
    tombstones = decoded.tombstones.to_pylist()
    account = {
        "partition": partition,
        "first_offset": int(offsets[0]),
        "last_offset": int(offsets[-1]),
        "records": len(offsets),
        "transactions": judged.decisions.num_rows,
        "dead_letters": decoded.dead_letters.num_rows,
        "duplicates": resolved.duplicates.num_rows,
        "tombstones": _flat_ranges(tombstones),
        "gaps": _flat_gaps(offsets),
        "clock_us": clocks[-1],
        "last_hash": _hash_of_last(records),
        "counters": list(decoded.counters.items()),
        "seconds": list(watch.seconds.items()),
    }
    return {
        "decisions": judged.decisions,
        "dead_letters": decoded.dead_letters,
        "duplicates": resolved.duplicates,
        "identities": resolved.identities,
        "expired_identities": pa.table(
            {"partition": pa.repeat(pa.scalar(partition, pa.int32()), len(resolved.expired)), "identity": resolved.expired}
        ),
        "metrics_minute": metrics,
        ACCOUNTS: pa.Table.from_pylist([account], schema=ACCOUNT),
    }


def read_failure(data: bytes) -> ComportaError:
    """The error that a task has sent instead of its tables."""
    error = pickle.loads(data)  # noqa: S301 - bytes that our own task wrote
    return error if isinstance(error, ComportaError) else Bug("a task failed and did not say how", do="report it")


def read_table(data: bytes) -> pa.Table:
    """A table from the bytes of its row."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


def _flat_gaps(offsets: np.ndarray) -> list[int]:
    before = np.flatnonzero(np.diff(offsets) != 1)
    return [int(edge) for at in before for edge in (offsets[at] + 1, offsets[at + 1])]


def _flat_ranges(offsets: list[int]) -> list[int]:
    """Neighbouring offsets as ranges [from, to), flattened."""
    flat: list[int] = []
    for offset in offsets:
        if flat and flat[-1] == offset:
            flat[-1] = offset + 1
        else:
            flat += [offset, offset + 1]
    return flat


def _hash_of_last(records: pa.Table) -> bytes:
    last = records.slice(records.num_rows - 1)
    timestamp_us: int = pc.cast(last["timestamp"], pa.int64())[0].as_py()
    return record_hash(last["offset"][0].as_py(), timestamp_us, last["key"][0].as_py(), last["value"][0].as_py())


def _rows(tables: dict[str, pa.Table]) -> pa.RecordBatch:
    partition = tables[ACCOUNTS]["partition"][0].as_py()
    filled = {name: table for name, table in tables.items() if table.num_rows}
    return pa.record_batch(
        [
            pa.array([partition] * len(filled), pa.int32()),
            pa.array(list(filled), pa.string()),
            pa.array([_ipc(table) for table in filled.values()], pa.binary()),
        ],
        schema=RESULT,
    )


def _ipc(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _failure(error: ComportaError) -> pa.RecordBatch:
    return pa.record_batch([pa.array([-1], pa.int32()), pa.array([FAILURE]), pa.array([pickle.dumps(error)], pa.binary())], schema=RESULT)


def _place(error: Exception) -> str:
    """File and line of the innermost frame; never the message, which may hold a record's values."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{os.path.basename(frame.filename)}:{frame.lineno}"  # noqa: PTH119 - a name for a person
