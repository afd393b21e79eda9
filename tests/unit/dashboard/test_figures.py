"""The tiles, the levels and the alerts."""

from dataclasses import replace

import pytest

from comporta.dashboard.explain import explainer
from comporta.dashboard.panels import alerts, headline, levels
from comporta.dashboard.panels.headline import Tile, waits
from comporta.dashboard.phrases import UNKNOWN
from comporta.dashboard.snapshot import Health, Snapshot
from comporta.judging import packs
from comporta.postgres.page_queries import Alert, Totals
from support.snapshots import NOW, alert, before, commit, healthy

PACK = packs.builtin("classic-v1")
EXPLAIN = explainer({(PACK.name, PACK.version): PACK})
NOTHING = Snapshot("line", "transactions", database=Health(None, "no answer"))


def tiles(snapshot: Snapshot, now: float = NOW) -> dict[str, Tile]:
    return {tile.key: tile for tile in headline.view(snapshot, now).tiles}


def test_the_tiles_tell_rates_totals_and_shares() -> None:
    batches = tuple(commit(20 - number, 200, HIGH=6) for number in range(20))
    shown = tiles(healthy(commits=batches, totals=Totals(1_234_567, 98_765_432_100, 12_345, 999_999, {})))
    assert (shown["transactions"].value, shown["transactions"].note) == ("200", "1,234,567 judged in all")
    assert (shown["alerts"].value, shown["alerts"].note) == ("6.0", "12,345 in all, 1.0 %")
    assert (shown["amount"].value, shown["amount"].note) == ("R$ 987.65 M", "R$ 9,999.99 of it in alerts; BRL only")
    assert shown["amount"].exact == "R$ 987,654,321.00"


def test_what_is_unknown_is_a_dash_and_never_a_zero() -> None:
    assert {tile.value for tile in tiles(NOTHING).values()} == {UNKNOWN}


def test_while_postgresql_is_away_totals_stay_and_rates_are_unknown() -> None:
    shown = tiles(healthy(commits=(commit(1, 200, waits=(0.4, 0.9)),), totals=Totals(5, 500, 0, 0, {})), NOW + 30)
    assert shown["transactions"].note == "5 judged in all"
    assert [shown[key].value for key in ("transactions", "alerts", "wait", "lag")] == [UNKNOWN] * 4


def test_the_typical_wait_weighs_each_commit_by_its_rows() -> None:
    many, few = commit(2, 1_000, waits=(0.4, 0.7)), commit(1, 10, waits=(9.0, 9.5))
    assert waits((many, few), before(60)) == (0.4, 9.5)
    assert waits((many, few), before(0)) == (None, None)
    assert waits((commit(1, 0), commit(1, 5)), before(60)) == (None, None)


@pytest.mark.parametrize(("end", "value", "unit", "note"), [(100, "0", "messages", "nothing waits"), (101, "1", "message", "30 s behind")])
def test_the_lag_tile_has_messages_and_time(end: int, value: str, unit: str, note: str) -> None:
    shown = tiles(healthy(ends={0: (0, end)}))["lag"]
    assert (shown.value, shown.unit, shown.note) == (value, unit, note)


def test_levels_are_counted_for_the_last_minutes_and_in_all() -> None:
    batches = (commit(400, 50, CRITICAL=50), commit(10, 100, CRITICAL=2, MEDIUM=18))
    shown = levels.view(healthy(commits=batches, totals=Totals(9, 0, 0, 0, {"CRITICAL": 7, "NORMAL": 2})), NOW)
    rows = {row.level: (row.recent, row.recent_share, row.total) for row in shown.rows}
    assert list(rows) == ["CRITICAL", "HIGH", "MEDIUM", "LOW", "NORMAL"]
    assert rows["CRITICAL"] == ("2", "2.0 %", "7")
    assert rows["HIGH"] == ("0", "0.0 %", "0")
    assert rows["NORMAL"] == ("80", "80.0 %", "2")
    assert shown.span == "last 5 min"


def test_levels_of_a_shorter_time_say_so() -> None:
    assert levels.view(healthy(known_since=before(90)), NOW).span == "last 1 min 30 s"


def test_levels_are_dashes_while_nothing_is_known() -> None:
    assert {(row.recent, row.total) for row in levels.view(NOTHING, NOW).rows} == {(UNKNOWN, UNKNOWN)}


def shown_alerts(*found: Alert) -> alerts.Alerts:
    return alerts.view(EXPLAIN, replace(healthy(), alerts=found), NOW)


def test_an_alert_is_told_with_its_reasons_in_words_and_what_each_adds_to_the_score() -> None:
    (row,) = shown_alerts(alert()).rows
    assert (row.level, row.action, row.score, row.amount) == ("CRITICAL", "block", "92.5", "R$ 7,310.00")
    assert (row.kind, row.place, row.customer, row.transaction) == ("Pix", "mobile app · Padaria", "C1", "T1")
    assert [(reason.text, reason.points) for reason in row.reasons] == [
        ("Pix to a payee this customer has never paid", "+12.5"),
        ("The message's own score", "+80"),
    ]


def test_an_alert_of_an_unknown_pack_is_told_by_its_rules() -> None:
    (row,) = shown_alerts(alert(pack="other", pack_version=3)).rows
    assert [reason.text for reason in row.reasons] == ["is_pix_new_beneficiary, a rule of pack other version 3"]


@pytest.mark.parametrize("stored", ["", "null", "[1]", '[{"rule":"x"}]', '[{"rule":"x","points":"many"}]'])
def test_reasons_that_cannot_be_read_are_said_to_be_so(stored: str) -> None:
    (row,) = shown_alerts(alert(reasons=stored)).rows
    assert [reason.text for reason in row.reasons] == ["The stored reasons cannot be read"]


def test_what_a_message_did_not_say_is_left_out() -> None:
    (row,) = shown_alerts(alert(channel=None, merchant_name=None, currency=None, message_score=None)).rows
    assert (row.place, row.amount) == ("", "7,310.00 (currency unknown)")
    assert len(row.reasons) == 1


def test_text_of_a_message_stays_text() -> None:
    name = "<img src=x onerror=alert(1)>${7*7}{{7*7}}"
    (row,) = shown_alerts(alert(merchant_name=name)).rows
    assert row.place == f"mobile app · {name}"


def test_the_levels_that_can_be_chosen_are_those_of_alerts() -> None:
    assert shown_alerts().levels == ("CRITICAL", "HIGH")
    assert shown_alerts(alert(level="MEDIUM")).levels == ("CRITICAL", "HIGH", "MEDIUM")
