"""Whether the log is still the one that the ledger speaks of; pure: positions, topic ids and hashes go in, a verdict comes out."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from comporta.words.batches import LedgerRow
from comporta.words.errors import ComportaError, DataLoss, Setup


@dataclass(frozen=True)
class LogView:
    """What Kafka says of the topic now; `last_hashes` holds, per partition, the hash of the record at the ledger's last offset (None: it is gone)."""

    topic: str
    topic_id: UUID
    earliest: Mapping[int, int]
    latest: Mapping[int, int]
    last_hashes: Mapping[int, bytes | None]
    compacted: bool = False


def reconcile(topic_id: UUID, ledger: Mapping[int, LedgerRow], log: LogView) -> ComportaError | None:
    """The first thing that forbids going on, or None. Positions are compared only if it is the same topic."""
    if log.compacted:
        return Setup(
            "the topic is compacted, so the log may drop what was not judged", where=log.topic, do="set its cleanup.policy to delete"
        )
    if log.topic_id != topic_id:
        return DataLoss(
            f"the topic was deleted and created again: the ledger knows id {topic_id}, Kafka has {log.topic_id}",
            where=log.topic,
            do="what nobody read of the old topic is gone; keep the database, and start a new line in another database",
        )
    for partition, row in sorted(ledger.items()):
        problem = _partition(f"{log.topic}-{partition}", partition, row, log)
        if problem:
            return problem
    for partition in sorted(set(log.earliest) - set(ledger)):
        if log.earliest[partition] > 0:
            return _retention(f"{log.topic}-{partition}", 0, log.earliest[partition])
    return None


def _partition(where: str, partition: int, row: LedgerRow, log: LogView) -> ComportaError | None:
    earliest, latest = log.earliest.get(partition), log.latest.get(partition)
    if earliest is None or latest is None:
        return DataLoss("the partition is gone from the topic", where=where, do="find out who changed the topic")
    if latest < row.next_offset:
        return DataLoss(
            f"the log was cut: the ledger stands at {row.next_offset}, the log ends at {latest}; [{latest}, {row.next_offset}) is gone",
            where=where,
            do="what was judged stays; find out why the broker lost its tail before new records take these offsets",
        )
    if earliest > row.next_offset:
        return _retention(where, row.next_offset, earliest)
    if row.last_offset is not None and earliest <= row.last_offset and log.last_hashes.get(partition) != row.last_hash:
        return DataLoss(
            f"the record at offset {row.last_offset} is not the one that was judged: the log was cut and has grown again, or this is another cluster",
            where=where,
            do="check kafka.bootstrap and the broker's history; nothing was written",
        )
    return None


def _retention(where: str, start: int, end: int) -> DataLoss:
    return DataLoss(
        f"retention has passed the reader: [{start}, {end}), {end - start} messages, was deleted before it was judged",
        where=where,
        do="raise retention now; the line stays down until a person has decided",
    )
