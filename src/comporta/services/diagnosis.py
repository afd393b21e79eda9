"""What the facts mean: values in, findings out, each with what to do. Asks nobody."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

GIGABYTE = 1_000_000_000
LITTLE_DISK = 2 * GIGABYTE
LITTLE_MEMORY = 2 * GIGABYTE
HOUR_MS = 3_600_000
DURABLE = ("fsync", "full_page_writes", "synchronous_commit")
# More than this many copies and a single broker may go without anybody noticing.
SAFE_COPIES = 3


class Grade(StrEnum):
    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """One thing looked at: fine, worth knowing, or wrong; what was seen, and what to do."""

    check: str
    grade: Grade
    what: str
    do: str = ""


@dataclass(frozen=True)
class TopicFacts:
    """What a cluster says of a topic. Leader None: nobody leads that partition."""

    name: str
    partitions: int
    config: Mapping[str, str]
    leaders: Mapping[int, int | None]
    replicas: Mapping[int, Sequence[int]]
    in_sync: Mapping[int, Sequence[int]]
    brokers: int


def ok(check: str, what: str) -> Finding:
    return Finding(check, Grade.OK, what)


def note(check: str, what: str, do: str = "") -> Finding:
    return Finding(check, Grade.NOTE, what, do)


def problem(check: str, what: str, do: str = "") -> Finding:
    return Finding(check, Grade.PROBLEM, what, do)


def disk(free: int, *, retention_bytes: int, partitions: int, holds_topic: bool) -> Finding:
    """The disk under COMPORTA_HOME, and whether a full topic of the settings would fit on it."""
    amount = _size(free)
    if free < LITTLE_DISK:
        return problem("disk", f"{amount} free", "make room: Kafka and PostgreSQL stop when the disk is full")
    if holds_topic and 0 <= free < retention_bytes * partitions:
        full = _size(retention_bytes * partitions)
        return note("disk", f"{amount} free, and the topic may grow to {full}", "lower kafka.retention_bytes, or watch the disk")
    return ok("disk", f"{amount} free")


def memory(available: int) -> Finding:
    if available < LITTLE_MEMORY:
        return note("memory", f"{_size(available)} free", "the line takes line.heap and as much again; stop what is not needed")
    return ok("memory", f"{_size(available)} free")


def java(version: int | None, where: str) -> Finding:
    if version is None:
        return problem("java", f"no version to be read at {where}", "install comporta anew: its Java comes as a wheel")
    return ok("java", f"{version} at {where}")


def artifacts(missing: int, size: int) -> Finding:
    if missing:
        return note("artifacts", f"{missing} files of {_size(size)} are not here yet", "nothing: they are fetched when they are needed")
    return ok("artifacts", "all here")


def port(setting: str, wanted: int, taken_by: str | None) -> Finding:
    """A port that a service of ours will want; `taken_by` names a stranger on it."""
    if taken_by is not None:
        variable = "COMPORTA_" + setting.replace(".", "_").upper()
        return problem("ports", f"{setting} {wanted} is taken by {taken_by}", f"choose another with {variable}, or 0 for any that is free")
    return ok("ports", f"{setting} {wanted or 'any'} is free or ours")


def service(name: str, state: str, address: str | None, *, answers: bool) -> Finding:
    if answers:
        return ok(name, f"{state}, answers at {address}")
    remedy = "check its address and that it runs" if state == "external" else "start it: comporta up"
    return problem(name, f"{state}, does not answer", remedy)


def durability(settings: Mapping[str, str]) -> list[Finding]:
    """PostgreSQL's own settings: with one of these off, a crash can take back what was committed."""
    off = [
        f"{name} is {settings[name]}" for name in DURABLE if settings.get(name, "on") not in {"on", "local", "remote_apply", "remote_write"}
    ]
    if off:
        return [
            problem("durability", "; ".join(off), "turn it on in PostgreSQL's configuration: a crash could take back what was committed")
        ]
    return [ok("durability", ", ".join(f"{name} {settings.get(name)}" for name in DURABLE))]


def one_role_for_all(owner: str, writer: str, reader: str) -> Finding:
    if writer in {owner, reader}:
        return note("roles", "one user owns, writes and reads", "set postgres.owner_dsn and postgres.reader_dsn to users of their own")
    return ok("roles", "owner, writer and reader are different users")


def topic(facts: TopicFacts, *, partitions: int) -> list[Finding]:
    """Everything about the topic that decides whether a transaction can get lost before it is judged."""
    findings = [*_retention(facts), *_cleaning(facts), *_times(facts), *_copies(facts), *_availability(facts)]
    if facts.partitions != partitions:
        findings.append(
            note(
                "partitions",
                f"{facts.name} has {facts.partitions}, kafka.partitions says {partitions}",
                "nothing: the topic's own number counts",
            )
        )
    else:
        findings.append(ok("partitions", str(facts.partitions)))
    return findings


def _retention(facts: TopicFacts) -> list[Finding]:
    limit, time = int(facts.config.get("retention.bytes", "-1")), int(facts.config.get("retention.ms", "-1"))
    if limit >= 0:
        whole = _size(limit * facts.partitions)
        size = f"{_size(limit)} per partition, so {whole} in the {facts.partitions} partitions of {facts.name}; beyond it the oldest go, read or not"
    else:
        size = "no limit of size"
    age = f"after {time / HOUR_MS:g} h records go, read or not" if time >= 0 else "no limit of time"
    said = f"{size}; {age}"
    if 0 <= time < 24 * HOUR_MS:
        return [problem("retention", said, "raise retention.ms: a line that stands still for a day must not lose anything")]
    if limit < 0 and time < 0:
        return [note("retention", said, "the topic grows for ever: watch the disk, or set retention.bytes")]
    return [note("retention", said)] if time >= 0 else [ok("retention", said)]


def _cleaning(facts: TopicFacts) -> list[Finding]:
    policy = facts.config.get("cleanup.policy", "delete")
    if "compact" in policy:
        return [
            problem(
                "compaction", f"cleanup.policy is {policy}: Kafka throws away records that have a successor", "set cleanup.policy=delete"
            )
        ]
    return [ok("compaction", "none: cleanup.policy is delete")]


def _times(facts: TopicFacts) -> list[Finding]:
    kind = facts.config.get("message.timestamp.type", "CreateTime")
    if kind != "LogAppendTime":
        what = f"message.timestamp.type is {kind}: producers' clocks decide on retention and on what is a duplicate"
        return [problem("append time", what, "set message.timestamp.type=LogAppendTime")]
    return [ok("append time", kind)]


def _copies(facts: TopicFacts) -> list[Finding]:
    copies = min((len(nodes) for nodes in facts.replicas.values()), default=0)
    needed = int(facts.config.get("min.insync.replicas", "1"))
    findings: list[Finding] = []
    if facts.brokers <= 1:
        findings.append(note("replication", "one broker, one copy: what it took in the last seconds can be lost with its machine's power"))
    elif copies < min(SAFE_COPIES, facts.brokers):
        findings.append(
            problem("replication", f"{copies} of {facts.brokers} brokers keep a copy", f"raise it to {min(SAFE_COPIES, facts.brokers)}")
        )
    elif copies >= SAFE_COPIES and needed < SAFE_COPIES - 1:
        what = f"{copies} copies, but min.insync.replicas is {needed}: an acknowledged record may stand on one broker alone"
        findings.append(problem("replication", what, f"set min.insync.replicas={SAFE_COPIES - 1}"))
    else:
        findings.append(ok("replication", f"{copies} copies, {needed} of them before a record is acknowledged"))
    if facts.config.get("unclean.leader.election.enable", "false") == "true":
        what = "unclean.leader.election.enable is true: a broker that lags may take over and acknowledged records vanish"
        findings.append(problem("elections", what, "set it to false"))
    return findings


def _availability(facts: TopicFacts) -> list[Finding]:
    headless = sorted(partition for partition, leader in facts.leaders.items() if leader is None)
    if headless:
        return [problem("leaders", f"nobody leads partition {', '.join(map(str, headless))}", "bring the brokers that hold it back")]
    thin = sorted(partition for partition, nodes in facts.replicas.items() if len(facts.in_sync.get(partition, ())) < len(nodes))
    if thin:
        return [problem("leaders", f"copies of partition {', '.join(map(str, thin))} lag behind", "look at the brokers that hold them")]
    return [ok("leaders", "every partition is led, every copy in step")]


def keys(*, partitions: int, looked_at: int, without_key: int, misplaced: int) -> Finding:
    """The order of one customer's transactions rests on the key: the same customer, the same partition."""
    if looked_at == 0:
        return note("keys", "the topic is empty: no key to look at")
    if misplaced:
        what = f"{misplaced} of {looked_at} sampled records lie in another partition than murmur2 puts their key"
        return problem(
            "keys", what, "let producers place keys as Java does (librdkafka: partitioner=murmur2_random); was a partition added?"
        )
    if without_key:
        what = f"{without_key} of {looked_at} sampled records have no key"
        if partitions == 1:
            return note("keys", f"{what}; in one partition they are in order all the same")
        return problem(
            "keys", f"{what}: a customer's transactions are spread over partitions", "let producers use the customer's id as key"
        )
    return ok("keys", f"{looked_at} sampled, all in murmur2's partition")


def _size(amount: int) -> str:
    return f"{amount / GIGABYTE:.1f} GB" if amount >= GIGABYTE else f"{amount / 1e6:.0f} MB"
