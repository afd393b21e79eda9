"""Where the running batch ends: Spark tells `foreachBatch` no offsets, but it has written them into the checkpoint before."""

import json
from typing import Any

from pyspark.sql import SparkSession

from comporta.words.errors import DamagedState


def parse_offsets(text: str, topic: str, where: str) -> dict[int, int]:
    """The planned end per partition from a file of Spark's offset log: a version, a line of metadata, a line per source."""
    lines = text.splitlines()
    try:
        planned = json.loads(lines[-1])[topic]
        return {int(partition): int(offset) for partition, offset in planned.items()}
    except (IndexError, ValueError, KeyError, TypeError, AttributeError):
        raise DamagedState(
            "the batch's planned offsets cannot be read", where=where, do="start the line again: it plans anew from the ledger"
        ) from None


def planned_ends(spark: SparkSession, checkpoint: str, batch: int, topic: str) -> dict[int, int]:
    """Read `offsets/N` through Hadoop's filesystem, so that the checkpoint may lie on a disk or in an object store."""
    jvm: Any = spark._jvm  # noqa: SLF001 - the only way to Hadoop's filesystem from Python
    path = jvm.org.apache.hadoop.fs.Path(f"{checkpoint}/offsets/{batch}")
    stream = path.getFileSystem(spark._jsc.hadoopConfiguration()).open(path)  # noqa: SLF001 - as above
    try:
        text = jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
    finally:
        stream.close()
    return parse_offsets(text, topic, where=f"offsets/{batch}")


def starting_offsets(topic: str, positions: dict[int, int]) -> str:
    """The ledger's positions in the form of Spark's `startingOffsets`."""
    return json.dumps({topic: {str(partition): offset for partition, offset in sorted(positions.items())}})
