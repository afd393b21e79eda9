"""What people see: the original's views, the marks, and their own SQL."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
import pytest

from comporta.postgres import answers, readers
from comporta.postgres.commit import Committer
from comporta.postgres.migrate import LATEST
from comporta.postgres.ownership import Owner
from comporta.services.addresses import Addresses
from comporta.words.batches import TableWrite
from comporta.words.errors import Usage
from support.batches import NOON, TOPIC_ID, Ready, batch, decisions, identities, identity, later, plain, ready, step

TRANSACTIONS = {
    "transaction_id": "text",
    "customer_id": "text",
    "device_id": "text",
    "event_time": "timestamp without time zone",
    "transaction_type": "text",
    "amount": "double precision",
    "channel": "text",
    "merchant": "text",
    "category": "text",
    "mcc_risk_level": "text",
    "card_brand": "text",
    "pix_key_type": "text",
    "transactions_last_24h": "integer",
    "accumulated_amount_24h": "double precision",
    "fraud_score": "integer",
    "fraud_score_total": "integer",
    "risk_level": "text",
    "is_fraud": "boolean",
    "fraud_type": "text",
    "status": "text",
}
FRAUD_ALERTS = {
    "transaction_id": "text",
    "customer_id": "text",
    "device_id": "text",
    "event_time": "timestamp without time zone",
    "transaction_type": "text",
    "amount": "double precision",
    "channel": "text",
    "merchant": "text",
    "category": "text",
    "pix_key_type": "text",
    "destination_bank": "text",
    "is_pix_new_beneficiary": "boolean",
    "is_location_jump": "boolean",
    "distance_from_last_txn_km": "double precision",
    "fraud_score": "integer",
    "fraud_score_total": "integer",
    "risk_level": "text",
    "is_fraud": "boolean",
    "fraud_type": "text",
}


@pytest.fixture
def base(fresh_database: Addresses) -> Ready:
    return ready(fresh_database)


@pytest.fixture
def owner(base: Ready) -> Iterator[Owner]:
    with base.own() as owner:
        yield owner


@pytest.fixture
def committer(base: Ready) -> Iterator[Committer]:
    with Committer(base.at.writer_dsn) as committer:
        yield committer


def columns(base: Ready, view: str) -> dict[str, str]:
    return dict(
        base.rows(
            "select column_name::text, data_type::text from information_schema.columns where table_name = %s order by ordinal_position",
            view,
        )
    )


def test_the_views_have_the_names_and_types_of_the_original(base: Ready) -> None:
    assert list(columns(base, "transactions").items()) == list(TRANSACTIONS.items())
    assert list(columns(base, "fraud_alerts").items())[: len(FRAUD_ALERTS)] == list(FRAUD_ALERTS.items())


def test_the_views_say_what_the_original_would_have_said(base: Ready, owner: Owner, committer: Committer) -> None:
    stored = decisions(
        range(3),
        amount_cents=[123456, 1, 0],
        event_time=[NOON, later(hours=-11), NOON],
        score=[99.99, -3.5, 20.0],
        message_score=[65.99, None, -0.5],
        level=["CRITICAL", "NORMAL", "HIGH"],
        alert=[True, False, True],
        new_payee=[True, True, None],
        location_jump=[None, False, True],
        accumulated_24h_cents=[10_000_001, None, None],
        transactions_24h=[12, None, 0],
        message_is_fraud=[True, None, False],
        message_fraud_type=["CLONED_CARD", None, None],
        merchant_name="Padaria",
        payee_bank=["Banco", None, None],
    )
    committer.commit(owner, batch(step(0, 3), writes=[TableWrite("decisions", stored, digest=True)]))
    query = """select amount, event_time::text, fraud_score, fraud_score_total, transactions_last_24h, accumulated_amount_24h, is_fraud, fraud_type, merchant
               from transactions order by transaction_id"""
    assert base.rows(query) == [
        (1234.56, "2026-03-01 09:00:00", 65, 99, 12, 100000.01, True, "CLONED_CARD", "Padaria"),
        (0.01, "2026-02-28 22:00:00", None, -3, None, None, None, None, "Padaria"),
        (0.0, "2026-03-01 09:00:00", 0, 20, 0, None, False, None, "Padaria"),
    ]
    assert base.rows("select transaction_id, is_pix_new_beneficiary, is_location_jump, destination_bank from fraud_alerts order by 1") == [
        ("T0-0", True, False, "Banco"),
        ("T0-2", False, True, None),
    ]


def test_marks_tell_a_reused_id_and_a_record_that_was_seen_elsewhere(base: Ready, owner: Owner, committer: Committer) -> None:
    ids = ["same id, other content", "same id, other content", "same record", "alone", "pruned", "pruned", "half pruned", "half pruned"]
    marks = ["a", "b", "c", "d", "e"]
    committer.commit(
        owner,
        batch(
            step(0, 8),
            step(0, 1, partition=1),
            writes=[
                TableWrite(
                    "decisions",
                    pa.concat_tables([decisions(range(8), transaction_id=ids), decisions([0], 1, transaction_id="same record")]),
                    digest=True,
                ),
                TableWrite(
                    "identities",
                    pa.concat_tables(
                        [identities([0, 1, 2, 3, 6], identity=[identity(m) for m in marks]), identities([0], 1, identity=[identity("c")])]
                    ),
                ),
            ],
        ),
    )
    assert base.rows('select transaction_id, id_reused, seen_elsewhere from decisions_marked order by partition, "offset"') == [
        ("same id, other content", True, False),
        ("same id, other content", True, False),
        ("same record", False, True),
        ("alone", False, False),
        ("pruned", None, None),
        ("pruned", None, None),
        ("half pruned", None, False),
        ("half pruned", None, None),
        ("same record", False, True),
    ]


def test_known_identities_are_found_in_their_own_partition_only(base: Ready, owner: Owner, committer: Committer) -> None:
    committer.commit(owner, plain(0, 5))
    wanted = pa.array([identity(n) for n in (4, 99, 0)], pa.binary(16))
    found = readers.known_identities(base.at.writer_dsn, TOPIC_ID, 0, wanted)
    assert sorted(zip(found["identity"].to_pylist(), found["offset"].to_pylist(), found["clock"].to_pylist(), strict=True)) == sorted(
        [(identity(4), 4, NOON), (identity(0), 0, NOON)]
    )
    assert readers.known_identities(base.at.writer_dsn, TOPIC_ID, 1, wanted).num_rows == 0
    assert readers.known_identities(base.at.writer_dsn, TOPIC_ID, 0, wanted.slice(0, 0)).schema == found.schema


def test_a_task_whose_connection_was_lost_asks_again(base: Ready, owner: Owner, committer: Committer) -> None:
    committer.commit(owner, plain(0, 5))
    wanted = pa.array([identity(1)], pa.binary(16))
    readers.known_identities(base.at.writer_dsn, TOPIC_ID, 0, wanted)
    base.act(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'comporta task' and datname = current_database()",
        as_writer=True,
    )
    assert readers.known_identities(base.at.writer_dsn, TOPIC_ID, 0, wanted).num_rows == 1


def test_an_answer_has_numbers_times_and_objects_as_json_has_them(base: Ready, owner: Owner, committer: Committer) -> None:
    committer.commit(owner, plain(0, 1))
    rows = answers.sql(
        base.at.reader_dsn,
        """select "offset", score, topic_id, append_time, event_time at time zone 'America/Sao_Paulo' as local, reasons, invalid_fields, currency, alert,
                  1.50::numeric as price, 'infinity'::timestamptz as never, now() - now() as took, array[append_time] as times, '\\x00ff'::bytea as raw,
                  '{[1,3)}'::int8multirange as ranges, 1 as a, 2 as a
           from decisions""",
    )
    assert rows.objects() == [
        {
            "offset": 0,
            "score": 12.5,
            "topic_id": str(TOPIC_ID),
            "append_time": "2026-03-01T12:00:00+00:00",
            "local": "2026-03-01T09:00:00",
            "reasons": [{"rule": "is_high_value", "points": 15}],
            "invalid_fields": [],
            "currency": None,
            "alert": False,
            "price": 1.5,
            "never": "infinity",
            "took": "00:00:00",
            "times": ["2026-03-01T12:00:00+00:00"],
            "raw": "\\x00ff",
            "ranges": "{[1,3)}",
            "a": 1,
            "a_2": 2,
        }
    ]
    json.dumps(rows.objects(), allow_nan=False)


NO_QUESTIONS = {
    "selec 1": 'syntax error at or near "selec"',
    "select nix from decisions": 'column "nix" does not exist',
    "select 1; drop table decisions": "multiple commands",
    "delete from decisions": "only questions",
    "with gone as (delete from decisions returning 1) select * from gone": "only questions",
    "select pg_sleep(5)": "longer than 1 s",
    "select * from generate_series(1, 200000)": "more than 100,000 rows",
    "": "no rows",
    "copy decisions to stdout": "no rows",
    "set transaction read write": "no rows",
}


def test_what_is_no_question_is_refused_in_one_line(base: Ready) -> None:
    for statement, complaint in NO_QUESTIONS.items():
        with pytest.raises(Usage, match=complaint) as refused:
            answers.sql(base.at.reader_dsn, statement, seconds=1)
        assert "\n" not in str(refused.value)


def test_the_commands_answer_people_and_programs(base: Ready, outside: Callable[[Addresses, str], Mapping[str, str]]) -> None:
    environment = os.environ | dict(outside(base.at, "transactions"))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "comporta.commands.main", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    asked = run("sql", "--json", "select 1 as one, null as nothing")
    assert (asked.returncode, json.loads(asked.stdout), asked.stderr) == (0, [{"one": 1, "nothing": None}], "")
    shown = run("sql", "select '[red]x[/red]' as markup, 12 as number")
    assert [line.split() for line in shown.stdout.splitlines()] == [["markup", "number"], ["[red]x[/red]", "12"], ["(1", "row)"]]
    wrong = run("sql", "--json", "selec")
    assert (wrong.returncode, json.loads(wrong.stdout)["error"]["code"]) == (2, 2)
    assert len(wrong.stderr.splitlines()) == 1
    assert json.loads(run("migrate", "--json").stdout) == {"from": LATEST, "to": LATEST}
