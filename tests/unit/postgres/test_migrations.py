"""The migrations as files: in order, and with the limits that decoding has."""

import re

from comporta.decoding.classic_json import TYPES
from comporta.decoding.limits import LIMITS
from comporta.postgres.migrate import LATEST, WRITES, migrations
from comporta.words.levels import Action, Level

ALL = b"\n".join(migration.text for migration in migrations()).decode()


def test_migrations_are_numbered_from_one() -> None:
    assert [migration.version for migration in migrations()] == list(range(1, LATEST + 1))
    assert LATEST >= 1


def test_the_tables_have_the_limits_of_decoding() -> None:
    for column, upper in {
        "amount_cents": LIMITS.amount_cents,
        "accumulated_24h_cents": LIMITS.accumulated_cents,
        "transactions_24h": LIMITS.count,
        "message_score": LIMITS.score,
        "utc_offset_minutes": LIMITS.utc_offset_minutes,
    }.items():
        assert re.search(rf"check \({column} between -?\d+ and {upper}\)", ALL), column
    for column in ("transaction_id", "customer_id"):
        assert f"check (char_length({column}) between 1 and {LIMITS.id_characters})" in ALL
    assert f">= '{LIMITS.earliest[:10]} 00:00:00+00'" in ALL
    assert f"< '{LIMITS.latest[:10]} 00:00:00+00'" in ALL


def test_the_tables_list_the_types_levels_and_actions() -> None:
    for column, values in (("type", TYPES), ("level", tuple(Level)), ("action", tuple(Action))):
        listed = re.search(rf"check \({column} in \(([^)]*)\)", ALL)
        assert listed is not None
        assert set(re.findall(r"'(\w+)'", listed[1])) == set(values)


def test_the_writer_may_write_only_tables_that_exist() -> None:
    assert set(re.findall(r"create table (\w+)", ALL)) - set(WRITES) == {"installation"}
