"""What the page says of the line and of its sources."""

from dataclasses import replace

import pytest

from comporta.dashboard.panels import status
from comporta.dashboard.panels.status import Notice
from comporta.dashboard.snapshot import Health, Snapshot
from comporta.postgres.page_queries import Reading
from support.snapshots import NOON, NOW, before, commit, healthy, owner, stopped

AWAY = Health(NOW - 32, "no answer")
NEVER = Health(None, "no answer")


def lights(snapshot: Snapshot, now: float = NOW) -> dict[str, str]:
    return {light.name: light.text for light in status.view(snapshot, now).lights}


def notices(snapshot: Snapshot, now: float = NOW) -> list[Notice]:
    return list(status.view(snapshot, now).notices)


def test_when_all_is_well_nothing_is_noticed() -> None:
    shown = status.view(healthy(), NOW)
    assert lights(healthy()) == {"Line": "running", "PostgreSQL": "up", "Kafka": "up"}
    assert (shown.notices, shown.stale, shown.as_of_ms, shown.age_ms) == ((), False, round(NOON.timestamp() * 1000), 0)


def test_before_the_first_answer_the_page_says_that_it_is_asking() -> None:
    assert lights(Snapshot("line", "transactions")) == {"Line": "unknown", "PostgreSQL": "asking", "Kafka": "asking"}


def test_postgresql_away_is_said_with_the_age_of_what_is_shown() -> None:
    snapshot = replace(healthy(), database=AWAY, read_at=NOW - 32, kafka=Health(NOW))
    shown = status.view(snapshot, NOW)
    assert shown.stale
    assert shown.age_ms == 32_000
    assert lights(snapshot) == {"Line": "unknown", "PostgreSQL": "away", "Kafka": "up"}
    assert notices(snapshot) == [
        Notice(
            "bad",
            "PostgreSQL is away. The figures are those of its last answer; the page goes on by itself.",
            "32 s old",
            "comporta status",
        )
    ]


def test_postgresql_that_hangs_is_away_as_well_although_nothing_failed() -> None:
    assert lights(healthy(), NOW + 4)["PostgreSQL"] == "away"


def test_postgresql_that_never_answered_leaves_nothing_known() -> None:
    (notice,) = notices(Snapshot("line", "transactions", database=NEVER))
    assert (notice.text, notice.remedy) == (
        "PostgreSQL is away. Nothing is known yet; the page fills by itself as soon as it answers.",
        "comporta up",
    )


def test_a_database_that_refuses_us_is_not_called_away() -> None:
    refused = Health(None, "this user lacks a privilege", refused=True)
    (notice,) = notices(Snapshot("line", "transactions", database=refused))
    assert notice.text.startswith("PostgreSQL refuses: this user lacks a privilege.")
    assert lights(Snapshot("line", "transactions", database=refused))["PostgreSQL"] == "refuses"


def test_kafka_away_makes_the_lag_unknown_and_leaves_the_line_running() -> None:
    snapshot = replace(healthy(), kafka=AWAY)
    assert lights(snapshot) == {"Line": "running", "PostgreSQL": "up", "Kafka": "away"}
    assert notices(snapshot) == [Notice("warn", "Kafka is away. The lag is unknown.", "for 32 s", "comporta status")]


def test_a_line_that_never_ran_is_a_note_and_no_alarm() -> None:
    snapshot = replace(healthy(), reading=Reading(NOON), memory=None)
    assert lights(snapshot)["Line"] == "never ran"
    assert notices(snapshot) == [Notice("note", "No line has judged topic transactions yet.", remedy="comporta stream")]


def test_a_line_whose_lock_is_free_is_stopped_and_what_waits_is_told() -> None:
    snapshot = stopped(healthy(positions={0: 90}, last_commit=before(240)))
    assert lights(snapshot)["Line"] == "stopped"
    assert notices(snapshot) == [
        Notice("bad", "The line is not running.", "last commit 4 min 0 s ago, 10 messages waiting", "comporta stream")
    ]


def test_a_line_that_took_its_lock_a_moment_ago_is_starting() -> None:
    snapshot = healthy(positions={0: 90}, last_commit=before(600))
    assert snapshot.reading is not None
    young = replace(snapshot, reading=replace(snapshot.reading, owner=owner(since=before(20))))
    assert lights(young)["Line"] == "starting"
    assert notices(young) == []
    old = replace(snapshot, reading=replace(snapshot.reading, owner=owner(since=before(61))))
    assert lights(old)["Line"] == "running"


def test_a_line_that_holds_its_lock_but_commits_nothing_while_messages_wait_is_not_healthy() -> None:
    snapshot = healthy(positions={0: 90}, last_commit=before(600))
    assert snapshot.memory is not None
    still = replace(snapshot, memory=replace(snapshot.memory, moved_at=before(42)))
    assert lights(still)["Line"] == "stands still"
    assert notices(still) == [
        Notice("bad", "The line is there but commits nothing, while messages wait.", "for 42 s, 10 messages waiting", "comporta logs line")
    ]


@pytest.mark.parametrize("ends", [{0: (0, 80)}, {0: (95, 100)}])
def test_a_log_that_was_cut_or_lost_what_was_unread_is_an_alarm(ends: dict[int, tuple[int, int]]) -> None:
    (notice,) = notices(healthy(positions={0: 90}, ends=ends, commits=(commit(1, 5),)))
    assert (notice.tone, notice.remedy) == ("bad", "comporta doctor")
    assert notice.text.startswith("Partition 0: ")
