"""Control events: what changes the meaning of later decisions and does not stand in the log, with the offsets from which it holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from comporta.postgres.connections import Connection, connect
from comporta.postgres.failures import told

PACK_ACTIVATED = "pack_activated"
DEDUPE_WINDOW = "dedupe_window"
DECODE_LIMITS = "decode_limits"
VERSIONS = "versions"


@dataclass(frozen=True)
class ControlEvent:
    """`offsets`: from which offset on it holds, per partition; a partition that is not named came later and obeys from its first record."""

    kind: str
    value: Any
    offsets: Mapping[int, int]
    who: str


@dataclass(frozen=True)
class StoredEvent(ControlEvent):
    id: int
    at: datetime


def record(connection: Connection, topic_id: UUID, events: Sequence[ControlEvent]) -> None:
    for event in events:
        connection.execute(
            "insert into control_events (topic_id, kind, value, offsets, who) values (%s, %s, %s, %s, %s)",
            (topic_id, event.kind, Jsonb(event.value), Jsonb({str(key): value for key, value in sorted(event.offsets.items())}), event.who),
        )


def record_changes(connection: Connection, topic_id: UUID, events: Sequence[ControlEvent]) -> list[ControlEvent]:
    """Record only what differs from the last event of its kind; a start that changes nothing leaves no trace."""
    changed = [event for event in events if not _holds_already(connection, topic_id, event)]
    record(connection, topic_id, changed)
    return changed


def _holds_already(connection: Connection, topic_id: UUID, event: ControlEvent) -> bool:
    last = connection.execute(
        "select value = %s from control_events where topic_id = %s and kind = %s order by id desc limit 1",
        (Jsonb(event.value), topic_id, event.kind),
    ).fetchone()
    return last is not None and bool(last[0])


def events(dsn: str, topic_id: UUID | None = None) -> list[StoredEvent]:
    """All of them in the order in which they were recorded."""
    with told(dsn), connect(dsn, "comporta control", read_only=True) as connection:
        found = connection.execute(
            "select kind, value, offsets, who, id, at from control_events where %(topic)s::uuid is null or topic_id = %(topic)s order by id",
            {"topic": topic_id},
        ).fetchall()
    return [
        StoredEvent(kind, value, {int(key): offset for key, offset in offsets.items()}, who, number, at)
        for kind, value, offsets, who, number, at in found
    ]


def holding_at(recorded: Sequence[StoredEvent], kind: str, partition: int, offset: int) -> StoredEvent | None:
    """The event of this kind that a record at this place obeys: the latest of those whose offset is not after it."""
    holding = [event for event in recorded if event.kind == kind and event.offsets.get(partition, 0) <= offset]
    return max(holding, key=lambda event: (event.offsets.get(partition, 0), event.id), default=None)
