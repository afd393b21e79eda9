"""What PostgreSQL's errors mean, and that nothing of a row or a password leaves with them."""

import pickle
from typing import Any

import psycopg
import pytest
from adbc_driver_manager import AdbcStatusCode, IntegrityError, OperationalError

from comporta.postgres.failures import answer, is_connection_lost, place, told
from comporta.words.errors import Bug, ComportaError, DamagedState, Setup, Unreachable

DSN = "postgresql://writer:canary@db.example.org:5433/bank"
CANARY = "Failing row contains (canary, 4111111111111111)"


def error_with(state: str | None, text: str = CANARY, constraint: str = "") -> OperationalError:
    details: list[tuple[Any, bytes]] = [(b"PG_DIAG_CONSTRAINT_NAME", constraint.encode()), (b"PG_DIAG_MESSAGE_DETAIL", CANARY.encode())]
    status = AdbcStatusCode.IO if state is None else AdbcStatusCode.INTEGRITY
    return OperationalError(text, status_code=status, sqlstate=state, details=details)


@pytest.mark.parametrize(
    ("states", "kind"),
    [
        (["08006", "53100", "53300", "57P01", "57P03", "57014", "58030", "40001", "40P01", "55P03", "25006"], Unreachable),
        (["23505", "23514", "22021", "22P03", "XX001"], DamagedState),
        (["28P01", "28000", "3D000", "42501", "42P01", "42703", "0A000"], Setup),
        (["XX000", "25P02", "P0001"], Bug),
    ],
)
def test_the_class_of_an_error_is_told_by_its_sqlstate(states: list[str], kind: type[ComportaError]) -> None:
    for state in states:
        error = answer(error_with(state, constraint="decisions_pkey"), place(DSN))
        assert type(error) is kind
        assert f"(SQLSTATE {state}, constraint decisions_pkey)" in str(error)
        assert "canary" not in str(error)


def test_a_connection_that_ended_without_a_word_is_a_bad_moment() -> None:
    silent = error_with(None, "server closed the connection unexpectedly")
    assert is_connection_lost(silent)
    assert is_connection_lost(psycopg.OperationalError("the connection is lost"))
    assert is_connection_lost(error_with("57P01"))
    assert type(answer(silent, place(DSN))) is Unreachable


def test_an_error_of_the_driver_itself_is_a_bug_and_no_bad_moment() -> None:
    wrong = IntegrityError(CANARY, status_code=AdbcStatusCode.INVALID_ARGUMENT, sqlstate=None, details=[])
    assert not is_connection_lost(wrong)
    assert type(answer(wrong, place(DSN))) is Bug


@pytest.mark.parametrize(
    "sentence",
    [
        'FATAL:  password authentication failed for user "writer"',
        'FATAL:  database "bank" does not exist',
        'FATAL:  role "writer" does not exist',
        "fe_sendauth: no password supplied",
        'FATAL:  no pg_hba.conf entry for host "10.0.0.1"',
    ],
)
def test_a_connection_that_the_server_refused_is_a_bad_setup(sentence: str) -> None:
    for refused in (psycopg.OperationalError(sentence), error_with(None, sentence)):
        assert type(answer(refused, place(DSN))) is Setup


@pytest.mark.parametrize(
    "sentence", ["Connection refused", "timeout expired", "FATAL:  the database system is starting up", 'host name "x" not known']
)
def test_a_server_that_is_away_or_not_ready_is_a_bad_moment(sentence: str) -> None:
    assert type(answer(psycopg.OperationalError(sentence), place(DSN))) is Unreachable


@pytest.mark.parametrize(
    ("dsn", "shown"),
    [
        (DSN, "PostgreSQL at db.example.org:5433/bank"),
        ("host=/tmp user=ana password=canary", "PostgreSQL at /tmp:5432/ana"),
        ("postgresql://ana:canary@[::1]/x", "PostgreSQL at ::1:5432/x"),
        ("postgresql://ana:canary@h:1/x?bad=1", "PostgreSQL"),
    ],
)
def test_a_place_is_named_without_user_and_password(dsn: str, shown: str) -> None:
    assert place(dsn) == shown


def test_inside_told_every_error_of_the_drivers_becomes_ours_and_travels() -> None:
    with pytest.raises(DamagedState) as refused, told(DSN):
        raise error_with("23514", constraint="decisions_score_check")
    assert refused.value.__suppress_context__
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)  # noqa: S301 - our own bytes
