"""One owner per topic and database: who it is, how it changes, and what becomes of those who believe that they still are."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import UUID

import psutil
import psycopg
import pytest

from comporta.postgres import control, ownership, readers
from comporta.postgres.commit import Committer
from comporta.postgres.control import PACK_ACTIVATED, VERSIONS, ControlEvent
from comporta.services.addresses import Addresses
from comporta.words.errors import AnotherOwner, Bug, DataLoss, Setup, Unreachable
from support.batches import TOPIC_ID, Ready, plain, ready
from support.pooler import Pooler

TESTS = Path(__file__).parents[1]
OTHER_ID = UUID("00000000-0000-4000-8000-000000000001")
PATIENCE = 30


@pytest.fixture
def base(fresh_database: Addresses) -> Ready:
    return ready(fresh_database)


@contextmanager
def another_line(base: Ready, point: str, how: str) -> Iterator[subprocess.Popen[str]]:
    """A process that owns the line and has stopped or died at this point of its second batch."""
    command = [sys.executable, "-m", "support.another_line", point, how]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdin is not None
        process.stdin.write(base.at.writer_dsn + "\n")
        process.stdin.flush()
        wait_for(process, {psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE})
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(process: subprocess.Popen[str], states: set[str]) -> None:
    pause, deadline = threading.Event(), time.monotonic() + PATIENCE
    while psutil.Process(process.pid).status() not in states:
        assert time.monotonic() < deadline, "it neither stopped nor died"
        pause.wait(0.02)


def test_a_second_owner_is_refused_and_told_who_the_first_one_is(base: Ready) -> None:
    with base.own() as first:
        with pytest.raises(AnotherOwner, match=re.escape(f"owned by pid {os.getpid()} on {socket.gethostname()} since 20")):
            base.own()
        assert first.still_held()
        (line,) = readers.lines(base.at.reader_dsn)
        assert (line.owner.line, line.owner.token, line.backend) == ("line", first.token, line.owner.backend_pid)
    (line,) = readers.lines(base.at.reader_dsn)
    assert line.backend is None, "nobody is alive"


def test_every_start_has_an_epoch_more_and_a_new_token(base: Ready) -> None:
    with base.own() as first:
        renewed = ownership.renew(first)
        assert (renewed.epoch, renewed.token != first.token, renewed.installation) == (2, True, first.installation)
        since = base.value("select since from line_owner")
    with base.own() as second:
        assert (second.epoch, second.installation) == (3, readers.installation(base.at.reader_dsn))
        assert base.value("select since from line_owner") > since


def test_the_lock_is_of_one_topic_and_of_one_database(base: Ready, fresh_databases: Callable[[], Addresses]) -> None:
    elsewhere = ready(fresh_databases())
    with base.own(), elsewhere.own() as same_topic, ownership.take(base.at.writer_dsn, OTHER_ID, "other", "another line") as other_topic:
        assert (same_topic.epoch, other_topic.epoch) == (1, 1)


def test_names_that_do_not_fit_what_is_stored_are_refused_with_both_sides_named(base: Ready) -> None:
    base.own().close()
    with pytest.raises(Setup, match="belongs to the line 'line'"):
        ownership.take(base.at.writer_dsn, TOPIC_ID, "transactions", "second")
    with pytest.raises(DataLoss, match=f"{OTHER_ID}.*{TOPIC_ID}"):
        ownership.take(base.at.writer_dsn, OTHER_ID, "transactions", "line")
    with pytest.raises(Setup, match=f"reads topic transactions .{TOPIC_ID}.* not other"):
        ownership.take(base.at.writer_dsn, OTHER_ID, "other", "line")
    assert base.rows("select topic_id, epoch from line_owner") == [(TOPIC_ID, 1)]


def test_a_new_line_writes_its_first_offsets_and_what_it_depends_on(base: Ready) -> None:
    events = [
        ControlEvent(PACK_ACTIVATED, {"name": "classic-v1", "version": 1}, {0: 5, 1: 0}, "ana"),
        ControlEvent(VERSIONS, {"x": 1}, {0: 5, 1: 0}, "ana"),
    ]
    with ownership.take(base.at.writer_dsn, TOPIC_ID, "transactions", "line") as owner:
        started = ownership.start_line(owner, {0: 5, 1: 0}, events)
        assert {partition: row.next_offset for partition, row in started.ledger.items()} == {0: 5, 1: 0}
        assert readers.ledger_positions(base.at.reader_dsn, TOPIC_ID) == {0: 5, 1: 0}
        with pytest.raises(Bug, match="has a ledger"):
            ownership.start_line(started, {0: 9}, [])
    stored = control.events(base.at.reader_dsn, TOPIC_ID)
    assert [(event.kind, event.value, event.offsets, event.who) for event in stored] == [
        (e.kind, e.value, e.offsets, e.who) for e in events
    ]


def test_a_start_records_only_what_has_changed(base: Ready) -> None:
    with ownership.take(base.at.writer_dsn, TOPIC_ID, "transactions", "line") as owner:
        owner = ownership.start_line(owner, {0: 0}, [ControlEvent(VERSIONS, {"a": 1, "b": 2}, {0: 0}, "ana")])  # noqa: PLW2901
        ownership.start_line(owner, {}, [ControlEvent(VERSIONS, {"b": 2, "a": 1}, {0: 7}, "ana")])
        ownership.start_line(owner, {}, [ControlEvent(VERSIONS, {"a": 1, "b": 3}, {0: 9}, "eva")])
        ownership.start_line(owner, {}, [ControlEvent(VERSIONS, {"a": 1, "b": 2}, {0: 11}, "eva")])
    stored = control.events(base.at.reader_dsn)
    assert [event.offsets for event in stored] == [{0: 0}, {0: 9}, {0: 11}]
    holding = control.holding_at(stored, VERSIONS, 0, 10)
    assert holding is not None
    assert holding.value == {"a": 1, "b": 3}


def test_who_was_replaced_cannot_begin_a_line_or_renew(base: Ready) -> None:
    first = base.own()
    first.close()
    with base.own():
        with pytest.raises(Unreachable):
            ownership.renew(first)
        assert not first.still_held()


def test_a_session_that_was_ended_holds_nothing_any_more(base: Ready) -> None:
    with base.own() as owner:
        base.act("select pg_terminate_backend(backend_pid, 5000) from line_owner", as_writer=True)
        assert not owner.still_held()
        with pytest.raises(Unreachable):
            ownership.renew(owner)


@pytest.mark.parametrize(("point", "stored"), [("after_copy", 10), ("after_commit", 20)])
def test_a_line_that_is_killed_leaves_all_of_its_batch_or_nothing_and_the_next_one_goes_on(base: Ready, point: str, stored: int) -> None:
    with another_line(base, point, "SIGKILL"):
        with base.own() as owner, Committer(base.at.writer_dsn) as committer:
            assert {partition: row.next_offset for partition, row in owner.ledger.items()} == {0: stored}
            assert base.value("select count(*) from decisions") == stored
            committer.commit(owner, plain(stored, 30))
        assert base.rows('select count(*), count(distinct "offset"), max("offset") from decisions') == [(30, 30, 29)]


def test_a_line_that_froze_inside_its_commit_is_overcome_and_cannot_write_when_it_wakes(base: Ready) -> None:
    with another_line(base, "after_copy", "SIGSTOP") as frozen:
        with pytest.raises(AnotherOwner, match=rf"pid {frozen.pid} on .* --take-over line"):
            base.own()
        began = time.monotonic()
        with (
            ownership.take(base.at.writer_dsn, TOPIC_ID, "transactions", "line", take_over=True) as owner,
            Committer(base.at.writer_dsn) as committer,
        ):
            committer.commit(owner, plain(10, 30))
            assert time.monotonic() - began < 10
            frozen.send_signal(signal.SIGCONT)
            out, _ = frozen.communicate(timeout=PATIENCE)
            assert out.split() == ["Unreachable", "AnotherOwner", "False"]
            assert owner.still_held()
        assert base.rows('select count(*), count(distinct "offset") from decisions') == [(30, 30)]
        assert base.rows("select from_offset, to_offset from ledger_history order by 1") == [(0, 10), (10, 30)]


def test_a_take_over_of_a_line_that_nobody_owns_is_an_ordinary_start(base: Ready) -> None:
    with ownership.take(base.at.writer_dsn, TOPIC_ID, "transactions", "line", take_over=True) as owner:
        assert owner.epoch == 1


def test_a_take_over_ends_no_session_that_is_not_of_the_line_even_if_it_has_the_pid_of_one(base: Ready) -> None:
    with psycopg.connect(base.at.writer_dsn, autocommit=True) as innocent, base.own(), another_session(base) as other_line:
        base.act(
            "update line_owner set commit_backend_pid = %s, commit_backend_start = '2020-01-01 00:00:00+00'", innocent.info.backend_pid
        )
        with ownership.take(base.at.writer_dsn, TOPIC_ID, "transactions", "line", take_over=True):
            assert innocent.execute("select 1").fetchone() == (1,)
            assert other_line.still_held()


@contextmanager
def another_session(base: Ready) -> Iterator[ownership.Owner]:
    """The owner of another line in the same database."""
    with ownership.take(base.at.writer_dsn, OTHER_ID, "other", "another line") as owner:
        yield owner


def test_a_session_that_froze_before_it_stood_in_the_owner_row_is_overcome_too(base: Ready) -> None:
    frozen = psycopg.connect(base.at.writer_dsn, application_name=ownership.commit_session(TOPIC_ID))
    with base.own(), closing(frozen):
        frozen.execute("select 1 from line_owner for update")
        with ownership.take(base.at.writer_dsn, TOPIC_ID, "transactions", "line", take_over=True) as owner:
            assert owner.epoch == 2


def test_a_commit_session_of_ones_own_that_is_stuck_does_not_keep_the_line_from_its_next_start(base: Ready) -> None:
    stuck = psycopg.connect(base.at.writer_dsn, application_name=ownership.commit_session(TOPIC_ID))
    with base.own() as owner, closing(stuck):
        stuck.execute("select 1 from line_ledger for update")
        assert ownership.renew(owner).epoch == 2


def test_a_transaction_pooler_is_refused(base: Ready) -> None:
    with Pooler(base.at.writer_dsn) as pooler, pytest.raises(Setup, match="transaction pooler"):
        ownership.take(pooler.dsn(), TOPIC_ID, "transactions", "line")
