"""Reasons: the stored text, and the sentences that people read."""

import json

import pytest

from comporta.judging.packs import builtin
from comporta.judging.reasons import money, say
from comporta.words.errors import Setup

STORED = (
    '[{"rule":"is_high_value","points":15,"values":{"amount_cents":523450}},'
    '{"rule":"is_location_jump","points":25,"values":{"classic_distance_km":1234.56}},'
    '{"rule":"is_high_velocity","points":20,"values":{"classic_transactions_24h":1500}}]'
)


def test_reasons_are_told_in_english_and_in_portuguese() -> None:
    pack = builtin("classic-v1")
    assert say(STORED, pack, "en") == [
        "amount R$ 5,234.50 is above R$ 5,000.00",
        "1,234.6 km from the transaction before, more than 100 km",
        "1,500 transactions in 24 hours, more than 10",
    ]
    assert say(STORED, pack, "pt-BR") == [
        "valor R$ 5.234,50 acima de R$ 5.000,00",
        "a 1.234,6 km da transação anterior, mais de 100 km",
        "1.500 transações em 24 horas, mais de 10",
    ]


def test_no_reasons_are_no_sentences() -> None:
    assert say("[]", builtin("classic-v1"), "en") == []


def test_every_rule_of_every_language_tells_its_own_example() -> None:
    pack = builtin("classic-v1")
    for rule in pack.rules:
        stored = json.dumps([{"rule": rule.id, "points": rule.points, "values": dict(rule.fires)}])
        for language in ("en", "pt-BR"):
            [sentence] = say(stored, pack, language)
            assert sentence
            assert "{" not in sentence
            assert "?" not in sentence


def test_a_rule_that_the_pack_no_longer_has_is_told_by_its_id() -> None:
    assert say('[{"rule":"is_gone","points":5,"values":{}}]', builtin("classic-v1"), "en") == ["is_gone"]


def test_a_value_that_is_unknown_is_told_as_unknown() -> None:
    stored = '[{"rule":"is_high_value","points":15,"values":{"amount_cents":null}}]'
    assert say(stored, builtin("classic-v1"), "en") == ["amount ? is above R$ 5,000.00"]


def test_an_unknown_language_is_refused_with_the_nearest() -> None:
    with pytest.raises(Setup, match=r"unknown language 'pt-br'; did you mean 'pt-BR'\?"):
        say("[]", builtin("classic-v1"), "pt-br")


MONEY = [
    (0, "en", "BRL", "R$ 0.00"),
    (5, "pt-BR", "BRL", "R$ 0,05"),
    (500000, "pt-BR", "BRL", "R$ 5.000,00"),
    (123456789, "en", "USD", "US$ 1,234,567.89"),
    (123456789, "pt-BR", "JPY", "JPY 1.234.567,89"),
    (-1050, "pt-BR", "BRL", "-R$ 10,50"),
    (1050, "en", None, "10.50"),
]


@pytest.mark.parametrize(("cents", "language", "currency", "told"), MONEY)
def test_money_is_told_as_the_language_writes_it(cents: int, language: str, currency: str | None, told: str) -> None:
    assert money(cents, language, currency) == told
