"""The log decides: neither the size of the batches nor being killed in the middle of one changes a single decision."""

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import adbc_driver_postgresql.dbapi
import pyarrow as pa

from comporta.kafka.keys import partition_for
from comporta.postgres.digests import digest
from comporta.services.addresses import Addresses
from proxy import COMMIT, Proxy
from support.lines import Lines, Sent, message, produce, rows, sent, until

PARTITIONS = 4
MESSAGES = 42_000
RANDOM_STRINGS = 10_000
# Of the decisions of this log without append times, as they are on every machine.
DIGEST = "1e3430444442e8b79ca2f6ba43ce4fb8"

GOOD = json.dumps(message(1, random.Random(1))).encode()  # noqa: S311 - a test's own chance
BROKEN: list[tuple[bytes, str]] = [
    (b"", "EMPTY"),
    (b"\x00\x00\x00\x00\x07abc", "AVRO_MAGIC"),
    (b"[1, 2]", "AVRO_MAGIC"),
    (b'"text"', "AVRO_MAGIC"),
    (b"Obj\x01", "AVRO_MAGIC"),
    (b'{"transaction_id": ', "JSON_SYNTAX"),
    (GOOD[:-1], "JSON_SYNTAX"),
    (GOOD + b" {}", "JSON_TRAILING"),
    (GOOD[:-1] + b', "amount": 1}', "JSON_DUPLICATE_KEY"),
    (GOOD[:-1] + b', "x": {"a": 1, "a": 2}}', "JSON_DUPLICATE_KEY"),
    (GOOD[:-1] + b', "x": ' + b"[" * 40 + b"]" * 40 + b"}", "JSON_LIMIT"),
    (GOOD[:-1] + b', "x": ' + b"9" * 5000 + b"}", "JSON_LIMIT"),
    (GOOD[:-1] + b', "x": "' + b"x" * 300_000 + b'"}', "TOO_LARGE"),
    (GOOD[:-1] + b', "x": "\xff\xfe"}', "ENCODING"),
    (GOOD[:-1] + b', "x": "\\ud800"}', "ENCODING"),
    (GOOD.decode().encode("utf-16-le"), "ENCODING"),
    (b"{}", "MISSING_FIELD"),
    (b'{"tipo": "PIX", "valor": 10}', "MISSING_FIELD"),
]
CHANGED: list[tuple[dict[str, object], str]] = [
    ({"transaction_id": None}, "MISSING_FIELD"),
    ({"transaction_id": 7}, "ID_NOT_TEXT"),
    ({"transaction_id": "  "}, "ID_BLANK"),
    ({"customer_id": "C" * 200}, "ID_TOO_LONG"),
    ({"customer_id": "C\u00001"}, "ID_CONTROL_CHARACTER"),
    ({"timestamp": "yesterday"}, "TIME_UNREADABLE"),
    ({"timestamp": "2026-02-30T10:00:00"}, "TIME_IMPOSSIBLE"),
    ({"timestamp": "1812-01-01T10:00:00"}, "TIME_OUT_OF_RANGE"),
    ({"type": "CHEQUE"}, "TYPE_UNKNOWN"),
    ({"amount": "12.00"}, "AMOUNT_NOT_A_NUMBER"),
    ({"amount": True}, "AMOUNT_NOT_A_NUMBER"),
    ({"amount": float("nan")}, "AMOUNT_NOT_FINITE"),
    ({"amount": float("inf")}, "AMOUNT_NOT_FINITE"),
    ({"amount": -1}, "AMOUNT_NEGATIVE"),
    ({"amount": 1e15}, "AMOUNT_TOO_LARGE"),
]


@dataclass
class Log:
    """What was sent, per partition in order, and what must become of it."""

    records: list[tuple[int, Sent]] = field(default_factory=list)
    transactions: Counter[int] = field(default_factory=Counter)
    duplicates: Counter[int] = field(default_factory=Counter)
    tombstones: Counter[int] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    cents: int = 0

    def add(self, partition: int, record: Sent, kind: Counter[int]) -> None:
        self.records.append((partition, record))
        kind[partition] += 1


def the_log() -> Log:
    """In every partition good messages, copies near and far, tombstones, every kind of broken record and 10,000 random strings; always the same."""
    chance, log, firsts = random.Random(20260301), Log(), dict[int, list[Sent]]()  # noqa: S311 - a test's own chance
    for number in range(MESSAGES):
        fields = message(number, chance)
        record = sent(fields)
        partition = partition_for(str(record[0]).encode(), PARTITIONS)
        log.add(partition, record, log.transactions)
        log.cents += round(float(fields["amount"]) * 100)
        firsts.setdefault(partition, []).append(record)
        if number % 50 == 7:
            log.add(partition, record, log.duplicates)
        if number % 400 == 9:
            log.add(partition, (record[0], None), log.tombstones)
    noise = [(chance.randbytes(chance.randrange(1, 60)), "") for _ in range(RANDOM_STRINGS)]
    changed = [(json.dumps(message(90_000 + number, chance) | change).encode(), reason) for number, (change, reason) in enumerate(CHANGED)]
    for number, (value, reason) in enumerate([*noise, *BROKEN, *changed] + [*BROKEN, *changed] * (PARTITIONS - 1)):
        partition = number % PARTITIONS
        log.records.insert(chance.randrange(len(log.records)), (partition, (None, value)))
        log.reasons[reason] += 1
    for partition, records in firsts.items():
        for record in records[:40]:
            log.add(partition, record, log.duplicates)
    return log


def decisions(at: Addresses, *, without: str = "topic_id") -> pa.Table:
    with adbc_driver_postgresql.dbapi.connect(at.owner_dsn) as connection, connection.cursor() as cursor:
        cursor.execute('select * from decisions order by partition, "offset"')
        return cursor.fetch_arrow_table().drop_columns(without.split())


def stored(at: Addresses, table: str, columns: str) -> list[tuple[object, ...]]:
    return sorted(rows(at.owner_dsn, f"select {columns} from {table}"), key=repr)


def copies_by_distance(at: Addresses) -> dict[tuple[int, bool], int]:
    """Per partition the duplicates whose first copy was in the same batch, and those whose first copy was in an earlier one."""
    found = rows(
        at.owner_dsn,
        """select d.partition, d.first_offset >= h.from_offset, count(*)
           from duplicates d join ledger_history h on h.partition = d.partition and d."offset" >= h.from_offset and d."offset" < h.to_offset
           group by 1, 2""",
    )
    return {(partition, near): count for partition, near, count in found}


def test_one_log_gives_the_same_decisions_at_every_batch_size_and_after_every_kill(
    fresh_databases: Callable[[], Addresses], topic: Callable[..., str], lines: Lines
) -> None:
    log, name = the_log(), topic(partitions=PARTITIONS)
    at = {cap: fresh_databases() for cap in (50_000, 500, 5_000)}
    bootstrap = at[500].kafka_bootstrap
    for partition in range(PARTITIONS):
        produce(bootstrap, name, [record for place, record in log.records if place == partition], partition=partition)

    for cap in (50_000, 500):
        totals = lines.drain(at[cap], name, COMPORTA_LINE_MAX_OFFSETS=str(cap))
        assert totals.rows == len(log.records)
        assert totals.batches >= len(log.records) / cap
    drain_through_every_crash(lines, at[5_000], name)

    for cap, database in at.items():
        assert_accounted(database, log)
        copies = copies_by_distance(database)
        for partition in range(PARTITIONS):
            assert copies[partition, True] > 0, f"no duplicate within a batch of {cap} in partition {partition}"
            assert copies[partition, False] > 0, f"no duplicate across batches of {cap} in partition {partition}"
    reference = at[50_000]
    expected = decisions(reference)
    for cap in (500, 5_000):
        assert decisions(at[cap]).equals(expected)
        for table, columns in (
            ("metrics_minute", "line, minute, dimension, value, transactions, amount_cents, max_amount_cents, alerts, alert_amount_cents"),
            ("dead_letters", 'topic_id, partition, "offset", topic, key, size, schema_id, reason, field, detail, first_seen_at'),
            ("duplicates", 'topic_id, partition, "offset", append_time, identity, transaction_id, first_offset'),
            ("identities", 'topic_id, partition, identity, "offset", clock'),
            ("fraud_alerts", 'topic_id::text, partition, "offset", transaction_id, score, risk_level, reasons::text'),
        ):
            assert stored(at[cap], table, columns) == stored(reference, table, columns), f"{table} differs at {cap}"
    assert set(expected["level"].to_pylist()) == {"CRITICAL", "HIGH", "MEDIUM", "LOW", "NORMAL"}
    assert digest(decisions(reference, without="topic_id append_time")).hex() == DIGEST


def drain_through_every_crash(lines: Lines, at: Addresses, name: str) -> None:
    """Killed after the fetch, under its locks, after COPY, after COMMIT; a COMMIT whose reply never came; its checkpoints deleted; then to the end."""
    small = {"COMPORTA_LINE_MAX_OFFSETS": "5000", "COMPORTA_TEST_MODE": "1"}
    for crash in ("after_fetch:2", "after_locks:1", "after_copy:2", "after_commit:1"):
        code, _, log = lines.run(at, name, "stream", "--drain", **small, COMPORTA_TEST_CRASH=crash)
        assert code == -9, log
        assert "crash_point" in log
        # The position is in the ledger alone.
        shutil.rmtree(Path(lines.environ(at, name)["COMPORTA_HOME"]) / "checkpoints")
    with Proxy.before(at.writer_dsn) as proxy:
        behind = replace(at, writer_dsn=proxy.dsn(at.writer_dsn))
        before = committed_batches(at)
        line = lines.start(behind, name, "stream", "--drain", "--json", **small, COMPORTA_HOME=str(lines.folder / "behind-a-proxy"))
        until(lambda: committed_batches(at) > before)
        proxy.withhold_answer_to(COMMIT)
        assert proxy.happened.wait(60), "no COMMIT came by"
        # What the server has done is done; all that the line knows is that its connections are gone.
        until(lambda: committed_batches(at) > before + 1)
        proxy.cut()
        out, log = line.communicate(timeout=120)
    assert line.returncode == 0, log
    assert "error" not in json.loads(out)


def committed_batches(at: Addresses) -> int:
    return int(rows(at.owner_dsn, "select count(distinct (token, batch)) from ledger_history")[0][0])


def assert_accounted(at: Addresses, log: Log) -> None:
    """Every offset is exactly one of the four, and the cents are the producer's."""
    ((count, cents),) = rows(at.owner_dsn, "select count(*), sum(amount_cents) from decisions")
    assert (count, cents) == (log.transactions.total(), log.cents)
    for table, expected in (("decisions", log.transactions), ("duplicates", log.duplicates)):
        assert dict(rows(at.owner_dsn, f"select partition, count(*) from {table} group by 1")) == dict(expected)
    reasons: Counter[str] = Counter(dict(rows(at.owner_dsn, "select reason, count(*) from dead_letters group by 1")))
    assert reasons.total() == log.reasons.total()
    for reason, least in log.reasons.items():
        assert not reason or reasons[reason] >= least, reason
    tombstones = rows(
        at.owner_dsn,
        "select partition, sum(tombstones), sum(upper(r) - lower(r)) from ledger_history, unnest(tombstone_offsets) r group by 1",
    )
    assert {partition: count for partition, _, count in tombstones} == dict(log.tombstones)
    ((gaps,),) = rows(
        at.owner_dsn,
        "select count(*) from (select from_offset - lag(to_offset) over (partition by partition order by from_offset) gap from ledger_history) g where gap <> 0",
    )
    assert gaps == 0
    ends = rows(at.owner_dsn, "select partition, next_offset, next_offset = last_offset + 1 from line_ledger")
    assert {partition: end for partition, end, _ in ends} == dict(Counter(partition for partition, _ in log.records))
    assert all(whole for _, _, whole in ends)
