"""Values of the database as JSON can say them."""

from decimal import Decimal
from uuid import UUID

import pytest

from comporta.postgres.answers import Rows, distinct, plain


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, None),
        (True, True),
        (2**70, 2**70),
        (0.1, 0.1),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (Decimal("12.50"), 12.5),
        (Decimal(3), 3),
        (Decimal("0.10000000000000000001"), "0.10000000000000000001"),
        (Decimal("NaN"), "NaN"),
        ([Decimal(1), [None]], [1, [None]]),
        ({"a": Decimal("1.5")}, {"a": 1.5}),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_a_value_is_said_without_losing_anything(value: object, said: object) -> None:
    assert plain(value) == said
    assert type(plain(value)) is type(said)


def test_no_column_hides_another_of_the_same_name() -> None:
    names = distinct(["count", "count", "count_2", "count"])
    assert len(set(names)) == 4
    assert Rows(names, [(1, 2, 3, 4)]).objects() == [{"count": 1, "count_2": 2, "count_2_2": 3, "count_3": 4}]
