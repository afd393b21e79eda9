"""What the facts mean: tables of values, each with its verdict."""

from dataclasses import replace

import pytest

from comporta.services import diagnosis
from comporta.services.diagnosis import Finding, Grade, TopicFacts

OURS = {
    "message.timestamp.type": "LogAppendTime",
    "cleanup.policy": "delete",
    "retention.bytes": "10737418240",
    "retention.ms": "-1",
    "min.insync.replicas": "1",
}
FACTS = TopicFacts(
    name="transactions",
    partitions=4,
    config=OURS,
    leaders=dict.fromkeys(range(4), 1),
    replicas=dict.fromkeys(range(4), (1,)),
    in_sync=dict.fromkeys(range(4), (1,)),
    brokers=1,
)
CLUSTER = replace(
    FACTS,
    config=OURS | {"min.insync.replicas": "2"},
    replicas=dict.fromkeys(range(4), (1, 2, 3)),
    in_sync=dict.fromkeys(range(4), (1, 2, 3)),
    brokers=3,
)


def found(facts: TopicFacts, check: str, partitions: int = 4) -> Finding:
    return next(finding for finding in diagnosis.topic(facts, partitions=partitions) if finding.check == check)


def configured(**changes: str) -> TopicFacts:
    return replace(FACTS, config=OURS | {name.replace("_", "."): value for name, value in changes.items()})


@pytest.mark.parametrize("facts", [FACTS, CLUSTER])
def test_a_topic_as_comporta_makes_it_has_no_problem(facts: TopicFacts) -> None:
    assert not [finding for finding in diagnosis.topic(facts, partitions=4) if finding.grade is Grade.PROBLEM]


def test_retention_is_said_plainly_per_partition_and_in_all() -> None:
    finding = found(FACTS, "retention")
    assert "10.7 GB per partition, so 42.9 GB in the 4 partitions" in finding.what
    assert "no limit of time" in finding.what


@pytest.mark.parametrize(
    ("changes", "check", "grade"),
    [
        ({"retention_ms": "3600000"}, "retention", Grade.PROBLEM),
        ({"retention_ms": "604800000"}, "retention", Grade.NOTE),
        ({"retention_bytes": "-1"}, "retention", Grade.NOTE),
        ({"cleanup_policy": "compact"}, "compaction", Grade.PROBLEM),
        ({"cleanup_policy": "compact,delete"}, "compaction", Grade.PROBLEM),
        ({"message_timestamp_type": "CreateTime"}, "append time", Grade.PROBLEM),
        ({"unclean_leader_election_enable": "true"}, "elections", Grade.PROBLEM),
    ],
)
def test_a_setting_that_can_lose_records_is_found(changes: dict[str, str], check: str, grade: Grade) -> None:
    finding = found(configured(**changes), check)
    assert finding.grade is grade
    assert finding.do or grade is Grade.NOTE


def test_one_broker_is_worth_knowing_and_no_problem() -> None:
    assert found(FACTS, "replication").grade is Grade.NOTE


@pytest.mark.parametrize(
    ("facts", "grade"),
    [
        (CLUSTER, Grade.OK),
        (replace(CLUSTER, replicas=dict.fromkeys(range(4), (1,))), Grade.PROBLEM),
        (replace(CLUSTER, config=OURS), Grade.PROBLEM),
    ],
)
def test_in_a_cluster_copies_and_acknowledgements_must_suffice(facts: TopicFacts, grade: Grade) -> None:
    assert found(facts, "replication").grade is grade


def test_a_partition_without_leader_is_named() -> None:
    assert "partition 2" in found(replace(FACTS, leaders={0: 1, 1: 1, 2: None, 3: 1}), "leaders").what


def test_a_copy_that_lags_is_named() -> None:
    assert "partition 1" in found(replace(CLUSTER, in_sync={**CLUSTER.in_sync, 1: (1, 2)}), "leaders").what


def test_another_number_of_partitions_than_the_settings_say_is_worth_knowing() -> None:
    assert found(FACTS, "partitions", partitions=8).grade is Grade.NOTE


@pytest.mark.parametrize(
    ("partitions", "looked_at", "without_key", "misplaced", "grade"),
    [
        (4, 0, 0, 0, Grade.NOTE),
        (4, 800, 0, 0, Grade.OK),
        (4, 800, 0, 1, Grade.PROBLEM),
        (4, 800, 5, 0, Grade.PROBLEM),
        (1, 200, 200, 0, Grade.NOTE),
    ],
)
def test_keys_must_lie_in_their_partition(partitions: int, looked_at: int, without_key: int, misplaced: int, grade: Grade) -> None:
    finding = diagnosis.keys(partitions=partitions, looked_at=looked_at, without_key=without_key, misplaced=misplaced)
    assert finding.grade is grade


@pytest.mark.parametrize(
    ("settings", "grade"),
    [
        ({"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}, Grade.OK),
        ({"fsync": "off", "full_page_writes": "on", "synchronous_commit": "on"}, Grade.PROBLEM),
        ({"fsync": "on", "full_page_writes": "off", "synchronous_commit": "on"}, Grade.PROBLEM),
        ({"fsync": "on", "full_page_writes": "on", "synchronous_commit": "off"}, Grade.PROBLEM),
        ({"fsync": "on", "full_page_writes": "on", "synchronous_commit": "local"}, Grade.OK),
        ({"fsync": "on", "full_page_writes": "on", "synchronous_commit": "remote_apply"}, Grade.OK),
    ],
)
def test_a_commit_must_survive_a_crash(settings: dict[str, str], grade: Grade) -> None:
    assert [finding.grade for finding in diagnosis.durability(settings)] == [grade]


@pytest.mark.parametrize(
    ("free", "holds_topic", "grade"),
    [
        (1_000_000_000, True, Grade.PROBLEM),
        (20_000_000_000, True, Grade.NOTE),
        (20_000_000_000, False, Grade.OK),
        (90_000_000_000, True, Grade.OK),
    ],
)
def test_the_disk_must_hold_what_the_topic_may_become(free: int, holds_topic: bool, grade: Grade) -> None:
    assert diagnosis.disk(free, retention_bytes=10737418240, partitions=4, holds_topic=holds_topic).grade is grade


def test_a_topic_without_a_limit_of_size_says_nothing_of_the_disk() -> None:
    assert diagnosis.disk(20_000_000_000, retention_bytes=-1, partitions=4, holds_topic=True).grade is Grade.OK


def test_a_stranger_on_a_port_is_named_with_the_way_out() -> None:
    finding = diagnosis.port("kafka.port", 9092, "nginx, pid 5")
    assert finding.grade is Grade.PROBLEM
    assert "nginx, pid 5" in finding.what
    assert "COMPORTA_KAFKA_PORT" in finding.do


def test_a_service_that_does_not_answer_says_what_to_do() -> None:
    assert diagnosis.service("kafka", "down", None, answers=False).do == "start it: comporta up"
    assert "check its address" in diagnosis.service("kafka", "external", "h:1", answers=False).do
    assert diagnosis.service("kafka", "up", "h:1", answers=True).grade is Grade.OK


def test_one_user_for_everything_is_worth_knowing() -> None:
    assert diagnosis.one_role_for_all("a", "a", "a").grade is Grade.NOTE
    assert diagnosis.one_role_for_all("a", "b", "c").grade is Grade.OK
