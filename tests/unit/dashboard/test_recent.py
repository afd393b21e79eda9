"""What the page remembers from one look to the next."""

from dataclasses import replace
from datetime import timedelta

from comporta.dashboard.recent import MARGIN, WINDOW, Recent, pulses, remember
from comporta.postgres.page_queries import Position, Reading, Seen, Totals
from support.snapshots import NOON, TOPIC, before, commit, owner

FIRST = Reading(
    at=NOON,
    owner=owner(),
    positions=(Position(0, 100, None),),
    last_commit=before(1),
    commits=(commit(1, 10, HIGH=2),),
    totals=Totals(100, 10_000, 20, 2_000, {"HIGH": 20, "NORMAL": 80}),
    known_since=before(60),
)


def begun() -> Recent:
    memory = remember(None, FIRST)
    assert memory is not None
    return memory


def test_the_first_look_brings_totals_that_already_hold_its_commits() -> None:
    memory = begun()
    assert memory.totals == FIRST.totals
    assert (memory.commits, memory.known_since, memory.seen) == (FIRST.commits, before(60), Seen(TOPIC, {0: 100}))


def test_later_commits_are_added_to_totals_and_levels() -> None:
    later = Reading(NOON + timedelta(seconds=1), owner(), (Position(0, 105, None),), before(-1), (commit(-1, 5, CRITICAL=1),))
    memory = remember(begun(), later)
    assert memory is not None
    assert memory.totals == Totals(105, 10_500, 21, 2_100, {"HIGH": 20, "NORMAL": 84, "CRITICAL": 1})
    assert memory.commits == (*FIRST.commits, *later.commits)


def test_commits_older_than_the_window_are_forgotten_and_known_since_moves_with_it() -> None:
    much_later = Reading(NOON + WINDOW + MARGIN, owner(), (Position(0, 100, None),), before(1))
    memory = remember(begun(), much_later)
    assert memory is not None
    assert memory.commits == ()
    assert memory.known_since == NOON
    assert memory.totals == FIRST.totals


def test_a_look_with_totals_starts_anew_whatever_was_remembered() -> None:
    anew = replace(FIRST, totals=Totals(3, 300, 0, 0, {"NORMAL": 3}), commits=(), at=NOON + timedelta(seconds=9))
    assert remember(begun(), anew) == remember(None, anew)


def test_without_an_owner_nothing_is_remembered() -> None:
    assert remember(begun(), Reading(NOON)) is None


def test_the_line_was_last_seen_to_move_when_a_position_changed() -> None:
    still = Reading(NOON + timedelta(seconds=20), owner(), (Position(0, 100, None),), before(1))
    moved = Reading(NOON + timedelta(seconds=40), owner(), (Position(0, 101, None),), before(-40), (commit(-40, 1),))
    memory = remember(begun(), still)
    assert memory is not None
    assert memory.moved_at == NOON
    memory = remember(memory, moved)
    assert memory is not None
    assert memory.moved_at == moved.at


def test_the_partitions_of_one_batch_are_one_pulse() -> None:
    parts = [commit(4, 10, batch=1), commit(2, 20, batch=2, partition=0, HIGH=1), commit(1.9, 30, batch=2, partition=1, CRITICAL=2)]
    assert pulses(parts) == [(before(4), None, 10, 0), (before(1.9), before(4), 50, 3)]
