"""Measures how fast a backlog drains and where a batch's time goes, and writes docs/benchmarks.md.

    make bench [ARGS="--messages 300000 --rounds 3"]

Every drain reads the same topic into a fresh database, with Comporta's own Python daemon and with PySpark's, in turn. Each is a process of
its own; its rate is that of the rows that PostgreSQL holds, from the first commit to the last: Spark's start and the first batch are left out.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import psycopg

from comporta import assembly
from comporta.kafka import topics
from comporta.line import session
from comporta.services import database, embedded
from comporta.services.addresses import Addresses, addresses
from comporta.settings import Settings, load

TOP = Path(__file__).parents[1]
PAGE = TOP / "docs" / "benchmarks.md"
SEED = 1
SMALL_CAP = 500
SMALL_BATCHES = 20


@dataclass(frozen=True)
class Drained:
    """One drain, as PostgreSQL and the line tell it."""

    rows: int
    batches: int
    seconds: float
    warm_rate: float
    whole_rate: float
    median_batch: float
    stages: Mapping[str, float]


def main() -> None:
    arguments = argparse.ArgumentParser(description="Measures the drain and writes docs/benchmarks.md.")
    arguments.add_argument("--messages", type=int, default=300_000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--partitions", type=int, default=4)
    arguments.add_argument("--one", choices=["warm", "stock"], help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.one:
        print(json.dumps(_one_drain(warm_daemon=given.one == "warm")))
        return
    with tempfile.TemporaryDirectory(prefix="comporta-bench-") as folder, _services(Path(folder)) as settings:
        large, small = f"bench-{given.messages}", f"bench-{SMALL_CAP}"
        sent_per_second = _simulate(settings, large, given.partitions, given.messages)
        _simulate(settings, small, given.partitions, SMALL_CAP * SMALL_BATCHES)
        large_runs: dict[str, list[Drained]] = {"warm": [], "stock": []}
        small_runs: dict[str, list[Drained]] = {"warm": [], "stock": []}
        for number in range(1, given.rounds + 1):
            for daemon in ("warm", "stock"):
                print(f"round {number} of {given.rounds}, {daemon} daemon", file=sys.stderr)
                large_runs[daemon].append(_drain(settings, large, daemon, given.messages, assembly.DEFAULT_CAP))
                small_runs[daemon].append(_drain(settings, small, daemon, SMALL_CAP * SMALL_BATCHES, SMALL_CAP))
        page = _page(
            messages=given.messages,
            partitions=given.partitions,
            sent_per_second=sent_per_second,
            large=large_runs,
            small=small_runs,
            durability=_durability(settings),
        )
    PAGE.write_text(page)
    print(page)


@contextmanager
def _services(folder: Path) -> Iterator[Settings]:
    environ = {"COMPORTA_KAFKA_PORT": "0", "COMPORTA_POSTGRES_PORT": "0"}
    settings = load(home=folder / "home", environ=environ)
    embedded.up(settings)
    try:
        yield settings
    finally:
        embedded.down(settings, delete_data=True)


def _simulate(settings: Settings, topic: str, partitions: int, count: int) -> float:
    bootstrap = addresses(settings).kafka_bootstrap
    topics.create(bootstrap, topic, partitions, {"message.timestamp.type": "LogAppendTime"})
    began = time.perf_counter()
    told = _run(
        [str(Path(sys.executable).with_name("comporta")), "simulate", "--count", str(count), "--seed", str(SEED), "--json"], settings, topic
    )
    assert told["acknowledged"] == count, told
    return count / (time.perf_counter() - began)


def _drain(settings: Settings, topic: str, daemon: str, messages: int, cap: int) -> Drained:
    """One drain into a fresh database. What it did is counted in PostgreSQL."""
    name = f"bench_{os.urandom(4).hex()}"
    superuser = database.dsn(settings.home, database.SUPERUSER, "postgres")
    with psycopg.connect(superuser, autocommit=True) as connection:
        database.make_database(connection, name)
    owner, writer, reader = (database.dsn(settings.home, role, name) for role in database.ROLES)
    at = Addresses(addresses(settings).kafka_bootstrap, owner, writer, reader)
    told = _run([sys.executable, str(Path(__file__)), "--one", daemon], settings, topic, at, cap)
    with psycopg.connect(reader) as connection:
        decided = connection.execute("SELECT count(*) FROM decisions").fetchone()
        commits = connection.execute(
            "SELECT extract(epoch FROM committed_at)::float8, sum(to_offset - from_offset)::int8 FROM ledger_history GROUP BY 1 ORDER BY 1"
        ).fetchall()
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
    assert decided == (messages,), f"{decided} decisions of {messages} messages"
    assert sum(rows for _, rows in commits) == messages
    gaps = [after - before for (before, _), (after, _) in pairwise(commits)]
    after_first = messages - commits[0][1]
    return Drained(
        rows=messages,
        batches=len(commits),
        seconds=told["seconds"],
        warm_rate=after_first / (commits[-1][0] - commits[0][0]) if gaps else 0.0,
        whole_rate=messages / told["seconds"],
        median_batch=statistics.median(gaps) if gaps else 0.0,
        stages=told["stages"],
    )


def _one_drain(*, warm_daemon: bool) -> dict[str, Any]:
    """In a process of its own: the line as `comporta stream --drain` runs it, with one daemon or the other."""
    settings = load()
    line = assembly.line(settings, drain=True, take_over=None, confirmed=None, on_commit=lambda _: None)
    spark = replace(assembly.spark_parts(settings), warm_daemon=warm_daemon)
    line.parts = replace(line.parts, start_spark=partial(session.start, spark, "comporta-bench"))
    totals = line.run()
    assert totals.first_batch_at is not None
    assert totals.last_commit_at is not None
    return asdict(totals) | {"seconds": totals.last_commit_at - totals.first_batch_at}


def _run(command: Sequence[str], settings: Settings, topic: str, at: Addresses | None = None, cap: int | None = None) -> dict[str, Any]:
    at = at or addresses(settings)
    with tempfile.TemporaryDirectory(prefix="comporta-bench-run-") as folder:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("COMPORTA_")} | {
            "COMPORTA_HOME": folder,
            "COMPORTA_CACHE": str(settings.cache),
            "COMPORTA_KAFKA_BOOTSTRAP": at.kafka_bootstrap,
            "COMPORTA_KAFKA_TOPIC": topic,
            "COMPORTA_POSTGRES_DSN": at.writer_dsn,
            "COMPORTA_POSTGRES_OWNER_DSN": at.owner_dsn,
            "COMPORTA_POSTGRES_READER_DSN": at.reader_dsn,
        }
        if cap is not None:
            environ["COMPORTA_LINE_MAX_OFFSETS"] = str(cap)
        log = Path(folder) / "log"
        with log.open("w") as stderr:
            ran = subprocess.run(command, env=environ, cwd=folder, stdout=subprocess.PIPE, stderr=stderr, text=True, check=False)
        if ran.returncode != 0:
            sys.exit(f"{command} ended with {ran.returncode}\n{log.read_text()[-4000:]}")
    told: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return told


def _durability(settings: Settings) -> Mapping[str, str]:
    with psycopg.connect(addresses(settings).reader_dsn) as connection:
        found = {}
        for name in ("fsync", "full_page_writes", "synchronous_commit"):
            row = connection.execute(f"SHOW {name}".encode()).fetchone()
            assert row is not None
            found[name] = str(row[0])
    return found


def _page(
    *,
    messages: int,
    partitions: int,
    sent_per_second: float,
    large: Mapping[str, list[Drained]],
    small: Mapping[str, list[Drained]],
    durability: Mapping[str, str],
) -> str:
    warm = large["warm"]
    durable = ", ".join(f"{name} {value}" for name, value in durability.items())
    return f"""<!-- written by make bench -->

# Benchmarks

{messages:,} messages of the 38-field JSON (`comporta simulate --seed {SEED}`) in {partitions} partitions, pack `classic-v1`, cap {assembly.DEFAULT_CAP:,},
the embedded Kafka and PostgreSQL beside the line. Durability: {durable}, acks=all. Medians of {len(warm)} rounds, smallest and largest in brackets.
Rows are counted in PostgreSQL. *Warm* is from the first commit to the last, so the first batch is left out; *whole* is from the start of the
first batch to the last commit. Spark's start is in neither.

{_machine()}

## The drain

| Python daemon | rows/s, warm | rows/s, whole | seconds per batch |
| --- | --- | --- | --- |
| Comporta's, warm | {_figures(warm, "warm_rate")} | {_figures(warm, "whole_rate")} | {_figures(warm, "median_batch", 2)} |
| PySpark's own | {_figures(large["stock"], "warm_rate")} | {_figures(large["stock"], "whole_rate")} | {_figures(large["stock"], "median_batch", 2)} |

`comporta simulate` sent them at {sent_per_second:,.0f} messages/s, its start included.

## Where a batch's time goes

Seconds per batch of {assembly.DEFAULT_CAP:,}, mean over all batches of the median drain, the first one included. What runs in tasks is summed over them;
{os.cpu_count()} cores share it.

{_stages(sorted(warm, key=lambda run: run.warm_rate)[len(warm) // 2])}

## What the warm daemon saves

{SMALL_BATCHES} batches of {SMALL_CAP} messages, where the fixed cost of a batch is nearly all of it:

| Python daemon | seconds per batch |
| --- | --- |
| Comporta's, warm | {_figures(small["warm"], "median_batch", 2)} |
| PySpark's own | {_figures(small["stock"], "median_batch", 2)} |
"""


def _figures(runs: Sequence[Drained], name: str, digits: int = 0) -> str:
    values = sorted(getattr(run, name) for run in runs)
    return f"{statistics.median(values):,.{digits}f} ({values[0]:,.{digits}f} to {values[-1]:,.{digits}f})"


def _stages(run: Drained) -> str:
    """The driver's stages in the order of time; below a stage, what of it was spent on what."""
    parts = {"spark_job": "task_", "commit": "commit_"}
    steps = [name for name in ("plan", "spark_job", "settle", "commit") if name in run.stages]
    between = run.seconds - sum(run.stages[name] for name in steps)
    longest = max(*(run.stages[name] for name in steps), between)
    lines = ["| stage | seconds | |", "| --- | ---: | --- |"]
    for step in steps:
        lines.append(_stage(f"**{step.replace('_', ' ')}**", run.stages[step], run.batches, longest))
        prefix = parts.get(step, " ")
        inner = {name.removeprefix(prefix): seconds for name, seconds in run.stages.items() if name.startswith(prefix)}
        for name, seconds in sorted(inner.items(), key=lambda item: -item[1]):
            lines.append(_stage(f"· {'in tasks: ' if step == 'spark_job' else ''}{name.replace('_', ' ')}", seconds, run.batches, 0))
    return "\n".join([*lines, _stage("**between batches**: Spark's planning and its checkpoint", between, run.batches, longest)])


def _stage(name: str, seconds: float, batches: int, longest: float) -> str:
    return f"| {name} | {seconds / batches:.3f} | {'█' * round(30 * seconds / longest) if longest else ''} |"


def _machine() -> str:
    models = [line.partition(":")[2].strip() for line in _lines(Path("/proc/cpuinfo")) if line.startswith("model name")]
    memory = psutil.virtual_memory().total / 2**30
    return f"Machine: {os.cpu_count()} cores ({models[0] if models else platform.processor() or platform.machine()}), {memory:.0f} GiB, {platform.system()}, Python {platform.python_version()}."


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


if __name__ == "__main__":
    main()
