"""Settings become parts, parts become a line ready to run: the one file that knows every room."""

import getpass
import importlib.metadata
import json
import os
import socket
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from comporta import __version__
from comporta.decoding.limits import LIMITS
from comporta.judging import packs
from comporta.judging.judge import References
from comporta.judging.packs import Pack
from comporta.kafka import clients, positions, topics
from comporta.kafka.mirror import Mirror
from comporta.line.crash import Hook, crash_hook
from comporta.line.reconcile import LogView
from comporta.line.run import Line, LineParts, Owner, Totals
from comporta.line.session import SparkParts, start
from comporta.line.task import TaskParts
from comporta.postgres import control, migrate, ownership, readers
from comporta.postgres.commit import Committer
from comporta.postgres.control import ControlEvent
from comporta.services import artifacts, java, line_process
from comporta.services.addresses import Addresses, addresses
from comporta.settings import Settings
from comporta.words.batches import Batch, LedgerRow
from comporta.words.errors import AnotherOwner, Bug, ComportaError, Setup, Usage
from comporta.words.records import record_hash

# Finite whatever the settings say: a batch of so many 1 KB messages takes seconds and fits a 1 GB heap several times.
DEFAULT_CAP = 50_000


def _nothing() -> None:
    """What happens where nobody asked to be told."""


def line(
    settings: Settings,
    *,
    drain: bool,
    take_over: str | None,
    confirmed: str | None,
    on_commit: Callable[[Totals], None],
    on_spark: Callable[[], None] = _nothing,
) -> Line:
    """A line ready to run. Everything that can be refused without Spark is refused here, before anything is written."""
    if take_over is not None and take_over != settings.line.name:
        raise Usage(
            f"this line is called {settings.line.name}, not {take_over}",
            where="--take-over",
            do="type the name of the line to be taken over",
        )
    crash = crash_hook(os.environ.get("COMPORTA_TEST_CRASH"), test_mode=os.environ.get("COMPORTA_TEST_MODE") == "1")
    pack = packs.builtin(settings.line.pack)
    at = addresses(settings)
    clients.reachable(at.kafka_bootstrap)
    migrate.ensure(at.owner_dsn, at.writer_dsn, at.reader_dsn)
    _refuse_two_databases(at)
    topic = topics.existing(at.kafka_bootstrap, settings.kafka.topic)
    owned = Ownership(settings, at, pack, take_over is not None, confirmed, crash)
    mirror = Mirror(at.kafka_bootstrap, f"comporta-{settings.line.name}")

    facts: dict[str, object] = {}

    def take() -> Owner:
        owner = owned.take()
        line_process.say(settings, **facts)
        return owner

    def start_spark() -> Any:
        session = start(spark_parts(settings), f"comporta-{settings.line.name}")
        facts["spark_ui"] = session.sparkContext.uiWebUrl
        line_process.say(settings, **facts)
        on_spark()
        return session

    def close() -> None:
        mirror.close()
        owned.close()
        line_process.forget(settings)

    return Line(
        LineParts(
            line=settings.line.name,
            topic=topic.name,
            bootstrap=at.kafka_bootstrap,
            max_offsets=settings.line.max_offsets or DEFAULT_CAP,
            trigger=settings.line.trigger,
            patience=settings.line.patience,
            checkpoint=str((settings.line.checkpoint or settings.home / "checkpoints") / settings.line.name),
            drain=drain,
            start_spark=start_spark,
            take_ownership=take,
            still_owned=owned.still_held,
            look=partial(look, at.kafka_bootstrap, topic.name),
            topic_id=partial(_topic_id, at.kafka_bootstrap, topic.name),
            commit=owned.commit,
            mirror=partial(_post, mirror, topic.name),
            task_parts=partial(_task_parts, settings, at.writer_dsn, pack),
            crash=crash,
            on_commit=on_commit,
            close=close,
        )
    )


def _refuse_two_databases(at: Addresses) -> None:
    """The reader may be a replica, but of the database that is written."""
    if readers.installation(at.reader_dsn) != readers.installation(at.writer_dsn):
        raise Setup("it is another database than postgres.dsn", where="postgres.reader_dsn", do="let both name the same database")


def spark_parts(settings: Settings) -> SparkParts:
    """Java, the connectors and the memory that a Spark session of ours gets."""
    return SparkParts(
        java_home=java.java_home(settings.cache),
        jars=tuple(artifacts.ensure(settings.cache, "spark-connectors")),
        master=settings.spark.master,
        heap=settings.line.heap,
        scratch=settings.home / "spark" / settings.line.name,
    )


def look(bootstrap: str, topic: str, ledger: Mapping[int, LedgerRow]) -> LogView:
    """What Kafka says of the topic now, with the records read again that the ledger remembers as its last."""
    ranges = positions.watermarks(bootstrap, topic)
    last_hashes = {}
    for partition, row in ledger.items():
        if row.last_offset is not None and partition in ranges and ranges[partition].earliest <= row.last_offset < ranges[partition].latest:
            record = positions.record_at(bootstrap, topic, partition, row.last_offset)
            last_hashes[partition] = record_hash(record.offset, record.timestamp_us, record.key, record.value) if record else None
    # Asked last: if the topic was made again while we looked, its id says so.
    described = topics.existing(bootstrap, topic)
    return LogView(
        topic=topic,
        topic_id=described.topic_id,
        earliest={partition: offsets.earliest for partition, offsets in ranges.items()},
        latest={partition: offsets.latest for partition, offsets in ranges.items()},
        last_hashes=last_hashes,
        compacted="compact" in described.config.get("cleanup.policy", ""),
    )


class Ownership:
    """Takes the line the first time, draws a new token every further time; a line without a ledger gets its first positions."""

    def __init__(self, settings: Settings, at: Addresses, pack: Pack, take_over: bool, confirmed: str | None, hook: Hook) -> None:
        self._settings, self._at, self._pack = settings, at, pack
        self._take_over, self._confirmed = take_over, confirmed
        self._held: ownership.Owner | None = None
        self._committer = Committer(at.writer_dsn, hook=hook)

    def take(self) -> Owner:
        if self._held is not None and not self._held.still_held():
            lost = self._held
            self.close()
            self._refuse_successor(lost)
        self._held = held = self._take() if self._held is None else ownership.renew(self._held)
        return Owner(held.topic_id, held.token, held.installation, {partition: _position(row) for partition, row in held.ledger.items()})

    def still_held(self) -> bool:
        return self._held is not None and self._held.still_held()

    def commit(self, batch: Batch) -> Mapping[str, float]:
        if self._held is None:
            raise Bug("a batch came before the line was owned")
        return self._committer.commit(self._held, batch).seconds

    def close(self) -> None:
        self._committer.close()
        if self._held is not None:
            self._held.close()
        self._held = None

    def _take(self) -> ownership.Owner:
        """Held only when everything that a beginning writes is written, so that a second try does all of it again."""
        topic = topics.existing(self._at.kafka_bootstrap, self._settings.kafka.topic)
        taken = ownership.take(self._at.writer_dsn, topic.topic_id, topic.name, self._settings.line.name, take_over=self._take_over)
        # Asked for once: a line that is taken over in its turn must not throw its successor out again.
        self._take_over = False
        try:
            return self._begin(taken)
        except BaseException:
            taken.close()
            raise

    def _refuse_successor(self, lost: ownership.Owner) -> None:
        """A lock that was lost with its session may be taken again, but not from someone who has owned the line since."""
        for known in readers.lines(self._at.writer_dsn):
            if known.owner.topic_id == lost.topic_id and known.owner.token != lost.token:
                raise AnotherOwner(
                    f"the line was taken over by {known.owner}", where=lost.line, do="nothing more is written from here; end this process"
                )

    def _begin(self, taken: ownership.Owner) -> ownership.Owner:
        """First positions if there are none; then whatever has changed of what decisions depend on beside the log."""
        known = control.events(self._at.writer_dsn, taken.topic_id)
        _refuse_other_pack(self._pack, [event.value for event in known if event.kind == control.PACK_ACTIVATED])
        first = {} if taken.ledger else _first_offsets(self._settings, self._at.kafka_bootstrap, taken.topic, self._confirmed)
        holds_from = first or {partition: row.next_offset for partition, row in taken.ledger.items()}
        return ownership.start_line(taken, first, _holding(self._settings, self._pack, holds_from))


def _position(row: ownership.LedgerRow) -> LedgerRow:
    return LedgerRow(row.next_offset, None if row.clock is None else microseconds(row.clock), row.last_offset, row.last_hash)


def microseconds(instant: datetime) -> int:
    return (instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _first_offsets(settings: Settings, bootstrap: str, topic: str, confirmed: str | None) -> dict[int, int]:
    """Where a line without a ledger begins. To begin later than the log does must be confirmed by the topic's name."""
    ranges = positions.watermarks(bootstrap, topic)
    wanted = settings.line.start
    if wanted == "earliest":
        return {partition: offsets.earliest for partition, offsets in ranges.items()}
    if wanted == "latest":
        first = {partition: offsets.latest for partition, offsets in ranges.items()}
    else:
        first = positions.offsets_at(bootstrap, topic, datetime.fromisoformat(wanted))
    skipped = sum(first[partition] - offsets.earliest for partition, offsets in ranges.items())
    if skipped and confirmed != topic:
        raise Setup(
            f"line.start = {wanted!r} would leave {skipped:,} messages unjudged",
            where=topic,
            do=f"set line.start to earliest, or confirm with --yes {topic}",
        )
    return first


def _holding(settings: Settings, pack: Pack, offsets: Mapping[int, int]) -> list[ControlEvent]:
    """What decisions depend on and does not stand in the log."""
    values: dict[str, object] = {
        control.PACK_ACTIVATED: {"name": pack.name, "version": pack.version},
        control.DEDUPE_WINDOW: {"days": settings.line.dedupe_days},
        control.DECODE_LIMITS: LIMITS.document(),
        control.VERSIONS: {"comporta": __version__, "tzdata": importlib.metadata.version("tzdata")},
    }
    who = f"{getpass.getuser()}@{socket.gethostname()}"
    return [ControlEvent(kind, value, dict(offsets), who) for kind, value in values.items()]


def _refuse_other_pack(pack: Pack, activated: list[Mapping[str, object]]) -> None:
    wanted = {"name": pack.name, "version": pack.version}
    if activated and activated[-1] != wanted:
        raise Setup(
            f"the line judges with pack {activated[-1].get('name')} version {activated[-1].get('version')}, not {pack.name} version {pack.version}",
            where="line.pack",
            do="the pack is chosen at the first start only: set line.pack to the one in use",
        )


def _topic_id(bootstrap: str, topic: str) -> UUID:
    return topics.existing(bootstrap, topic).topic_id


def _post(mirror: Mirror, topic: str, owner: Owner, offsets: Mapping[int, int]) -> None:
    """The line's position as a consumer group, so that any Kafka tool shows the truth; never in the line's way."""
    metadata = json.dumps({"installation": str(owner.installation), "topic_id": str(owner.topic_id)})
    mirror.post({(topic, partition): offset for partition, offset in offsets.items()}, metadata)


def _task_parts(settings: Settings, dsn: str, pack: Pack, owner: Owner, ledger: Mapping[int, LedgerRow]) -> TaskParts:
    return TaskParts(
        topic=settings.kafka.topic,
        window=timedelta(days=settings.line.dedupe_days),
        references=References(pack=pack),
        known_identities=partial(readers.known_identities, dsn, owner.topic_id),
        clocks={partition: row.clock_us for partition, row in ledger.items() if row.clock_us is not None},
    )


def backlog(settings: Settings) -> int | None:
    """How many messages wait for the line; None where that cannot be told."""
    at = addresses(settings)
    topic = topics.existing(at.kafka_bootstrap, settings.kafka.topic)
    ranges = positions.watermarks(at.kafka_bootstrap, topic.name)
    try:
        stands = readers.ledger_positions(at.reader_dsn, topic.topic_id)
    except ComportaError:
        stands = {}
    return sum(offsets.latest - stands.get(partition, offsets.earliest) for partition, offsets in ranges.items())
