"""The Spark session of a line: a JVM that dies at once when its heap is full, speaks only on loopback and keeps little history."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from comporta.words.errors import ProcessDied, Setup

# A JVM that no longer answers is about to end; how long until its status is known.
SECONDS_TO_DIE = 10
# The JVM's own status after -XX:+ExitOnOutOfMemoryError.
OUT_OF_MEMORY_STATUS = 3


@dataclass(frozen=True)
class SparkParts:
    """Where Spark finds Java and its connectors, and how much it may take."""

    java_home: Path
    jars: tuple[Path, ...]
    master: str
    heap: str
    scratch: Path
    warm_daemon: bool = True


def start(parts: SparkParts, name: str) -> SparkSession:
    """Start the JVM and the session; the environment set here is what its child processes need."""
    # What a killed JVM has left behind; only the owner of the line comes here.
    shutil.rmtree(parts.scratch, ignore_errors=True)
    parts.scratch.mkdir(parents=True)
    os.environ |= {
        "JAVA_HOME": str(parts.java_home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    options = " ".join(
        (
            "-XX:+ExitOnOutOfMemoryError",
            "-Duser.timezone=UTC",
            f'"-Djava.io.tmpdir={parts.scratch}"',
            f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}",
        )
    )
    settings = {
        "spark.driver.memory": parts.heap,
        "spark.driver.extraJavaOptions": options,
        "spark.driver.extraClassPath": os.pathsep.join(map(str, parts.jars)),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(parts.scratch),
        "spark.sql.warehouse.dir": str(parts.scratch / "warehouse"),
        # One task judges one partition on one core: threads inside it would only take the next task's.
        "spark.executorEnv.POLARS_MAX_THREADS": "1",
        "spark.executorEnv.OMP_NUM_THREADS": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
        "spark.sql.streaming.numRecentProgressUpdates": "2",
        "spark.sql.streaming.minBatchesToRetain": "2",
        "spark.sql.ui.retainedExecutions": "20",
        "spark.ui.retainedJobs": "50",
        "spark.ui.retainedStages": "50",
        "spark.ui.retainedTasks": "500",
        "spark.ui.showConsoleProgress": "false",
    }
    if parts.warm_daemon:
        settings["spark.python.daemon.module"] = "comporta.line.daemon"
    builder: Any = SparkSession.builder
    builder = builder.master(parts.master).appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        session: SparkSession = builder.getOrCreate()
    except PySparkRuntimeError as error:
        raise Setup("Spark's JVM did not start", where=str(parts.java_home), do="see the messages above; check line.heap") from error
    return session


def _answers(session: SparkSession) -> bool:
    try:
        jvm: Any = session.sparkContext._jvm  # noqa: SLF001 - the only way to ask the JVM something
        jvm.System.nanoTime()
    except (Py4JError, OSError):
        return False
    return True


def death_of_jvm(session: SparkSession) -> ProcessDied | None:
    """The cause, if the driver's JVM is no longer there."""
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001 - PySpark keeps its child process here
    try:
        status = gateway.proc.wait(SECONDS_TO_DIE if not _answers(session) else 0)
    except subprocess.TimeoutExpired:
        return None
    if status == OUT_OF_MEMORY_STATUS:
        return ProcessDied("Spark's JVM ran out of heap", do="raise line.heap or lower line.max_offsets")
    cause = f"signal {-status}" if status < 0 else f"status {status}"
    return ProcessDied(f"Spark's JVM died with {cause}", do="see the log above it")
