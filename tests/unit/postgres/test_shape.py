"""Which changes by hand are told, and which may be."""

import pytest

from comporta.postgres.shape import differences

MIGRATED = {
    "column decisions.score": "double precision not null",
    "column decisions.mcc": "text",
    "constraint decisions_pkey of decisions": "p",
    "index decisions_alerts of decisions": "plain",
}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param({}, [], id="nothing was changed"),
        pytest.param({"column decisions.mcc": None}, ["column decisions.mcc is missing"], id="a column went"),
        pytest.param({"column decisions.mcc": "integer"}, ["column decisions.mcc is integer, not text"], id="a type changed"),
        pytest.param(
            {"constraint decisions_pkey of decisions": None}, ["constraint decisions_pkey of decisions is missing"], id="the key went"
        ),
        pytest.param({"index decisions_alerts of decisions": None}, ["index decisions_alerts of decisions is missing"], id="an index went"),
        pytest.param({"trigger t of decisions": "trigger"}, ["trigger t of decisions was added"], id="a trigger may change what is stored"),
        pytest.param({"constraint c of decisions": "c"}, ["constraint c of decisions was added"], id="a new rule may refuse a row"),
        pytest.param({"index i of decisions": "unique"}, ["index i of decisions was added"], id="a unique index may refuse a row"),
        pytest.param({"column decisions.x": "text not null"}, ["column decisions.x was added"], id="a column that every row must fill"),
        pytest.param({"column decisions.x": "text not null with default"}, [], id="a column that fills itself"),
        pytest.param({"column decisions.x": "text", "index i of decisions": "plain"}, [], id="more columns and indexes do no harm"),
        pytest.param({"column mine.x": "text not null", "constraint c of mine": "c"}, [], id="another table is another's business"),
    ],
)
def test_changes_by_hand_are_told_if_they_matter(change: dict[str, str | None], told: list[str]) -> None:
    found = {name: kind for name, kind in (MIGRATED | change).items() if kind is not None}
    assert differences(MIGRATED, found) == told
