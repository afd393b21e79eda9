"""COMMIT was sent and nothing came back: what is stored is asked, and nothing is stored twice."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from comporta.postgres.commit import Committed, Committer
from comporta.postgres.ownership import Owner
from comporta.services.addresses import Addresses
from comporta.words.errors import AnotherOwner, Unreachable
from proxy import COMMIT, Proxy
from support.batches import Ready, plain, ready

PATIENCE = 30


@pytest.fixture
def base(fresh_database: Addresses) -> Ready:
    return ready(fresh_database)


@pytest.fixture
def owner(base: Ready) -> Iterator[Owner]:
    with base.own() as owner:
        yield owner


@pytest.fixture
def proxy(base: Ready) -> Iterator[Proxy]:
    with Proxy.before(base.at.writer_dsn) as proxy:
        yield proxy


@pytest.fixture
def committer(base: Ready, proxy: Proxy) -> Iterator[Committer]:
    """Commits by way of the proxy, which has seen one good batch already."""
    with Committer(proxy.dsn(base.at.writer_dsn)) as committer:
        yield committer


@pytest.fixture
def beside(proxy: Proxy) -> Iterator[Callable[..., Future[Committed]]]:
    """Commits in a thread of its own, so that the test can pull the cable meanwhile; however the test ends, the thread does too."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit
        proxy.close()


def count(base: Ready) -> tuple[int, ...]:
    rows: tuple[int, ...] = base.rows(
        """select (select count(*) from decisions), (select count(*) from identities), (select sum(transactions)::integer from metrics_minute),
                  (select max(next_offset) from line_ledger), (select count(*) from ledger_history)"""
    )[0]
    return rows


def test_a_reply_that_never_came_to_a_commit_that_was_done_is_found_out(
    base: Ready, owner: Owner, proxy: Proxy, committer: Committer, beside: Callable[..., Future[Committed]]
) -> None:
    committer.commit(owner, plain(0, 10))
    proxy.withhold_answer_to(COMMIT)
    running = beside(committer.commit, owner, plain(10, 20, number=1))
    assert proxy.happened.wait(PATIENCE)
    assert count(base) == (20, 20, 20, 20, 2), "the server has committed"
    proxy.cut()
    assert running.result(PATIENCE).again is True
    assert count(base) == (20, 20, 20, 20, 2)
    assert committer.commit(owner, plain(20, 30, number=2)).again is False


def test_a_commit_that_never_arrived_is_sent_again(
    base: Ready, owner: Owner, proxy: Proxy, committer: Committer, beside: Callable[..., Future[Committed]]
) -> None:
    committer.commit(owner, plain(0, 10))
    proxy.swallow(COMMIT)
    running = beside(committer.commit, owner, plain(10, 20, number=1))
    assert proxy.happened.wait(PATIENCE)
    assert count(base) == (10, 10, 10, 10, 1), "the server knows nothing of it"
    proxy.cut()
    assert running.result(PATIENCE).again is False
    assert count(base) == (20, 20, 20, 20, 2)


def test_a_session_that_the_server_still_believes_in_is_ended_before_the_batch_is_sent_again(
    base: Ready, owner: Owner, proxy: Proxy, committer: Committer, beside: Callable[..., Future[Committed]]
) -> None:
    committer.commit(owner, plain(0, 10))
    proxy.swallow(COMMIT)
    running = beside(committer.commit, owner, plain(10, 20, number=1))
    assert proxy.happened.wait(PATIENCE)
    proxy.cut(both_sides=False)
    assert running.result(PATIENCE).again is False
    assert count(base) == (20, 20, 20, 20, 2)


def test_with_no_way_to_ask_it_says_so_and_the_same_batch_given_again_later_is_stored_once(
    base: Ready, owner: Owner, proxy: Proxy, committer: Committer, beside: Callable[..., Future[Committed]]
) -> None:
    committer.commit(owner, plain(0, 10))
    proxy.withhold_answer_to(COMMIT)
    running = beside(committer.commit, owner, plain(10, 20, number=1))
    assert proxy.happened.wait(PATIENCE)
    proxy.refuse()
    with pytest.raises(Unreachable):
        running.result(PATIENCE)
    with pytest.raises(Unreachable):
        committer.commit(owner, plain(10, 20, number=1))
    proxy.accept()
    assert committer.commit(owner, plain(10, 20, number=1)).again is True
    assert count(base) == (20, 20, 20, 20, 2)


def test_who_was_replaced_before_the_reply_got_lost_does_not_send_again(
    base: Ready, owner: Owner, proxy: Proxy, committer: Committer, beside: Callable[..., Future[Committed]]
) -> None:
    committer.commit(owner, plain(0, 10))
    proxy.swallow(COMMIT)
    running = beside(committer.commit, owner, plain(10, 20, number=1))
    assert proxy.happened.wait(PATIENCE)
    owner.close()
    proxy.refuse()
    with base.own() as new, Committer(base.at.writer_dsn) as other:
        assert new.ledger[0].next_offset == 10
        with pytest.raises(Unreachable):
            running.result(PATIENCE)
        proxy.accept()
        with pytest.raises(AnotherOwner):
            committer.commit(owner, plain(10, 20, number=1))
        other.commit(new, plain(10, 15))
    assert count(base) == (15, 15, 15, 15, 2)


def test_a_slow_network_changes_nothing(base: Ready, owner: Owner, proxy: Proxy, committer: Committer) -> None:
    proxy.delay = 0.01
    committer.commit(owner, plain(0, 10))
    assert count(base) == (10, 10, 10, 10, 1)
