"""The page on dead letters is complete, and says the limits that hold."""

import re
from pathlib import Path

from comporta.decoding.classic_json import TYPES
from comporta.decoding.limits import LIMITS
from comporta.decoding.reasons import Reason

PAGE = (Path(__file__).parents[3] / "docs" / "dead-letters.md").read_text("utf-8")


def test_the_page_explains_every_reason_in_the_order_in_which_records_are_looked_at() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| (.+) \| (.+) \|$", PAGE, re.MULTILINE)
    assert [reason for reason, _, _ in rows] == [reason.value for reason in Reason]
    assert all(meaning.endswith(".") and remedy.rstrip("?").strip() for _, meaning, remedy in rows)


def test_the_page_says_the_limits_that_hold() -> None:
    for limit in (LIMITS.value_bytes, LIMITS.text_characters, LIMITS.count, LIMITS.score):
        assert f"{limit:,}" in PAGE
    for said in (
        f"deeper than {LIMITS.nesting} levels",
        f"more than {LIMITS.number_characters} characters",
        f"more than {LIMITS.id_characters} characters",
        f"0 to {LIMITS.installments}",
        f"{LIMITS.ahead_minutes} minutes ahead",
        f"{LIMITS.amount_cents / 100:,.2f}",
        f"Before {LIMITS.earliest[:4]} or after {int(LIMITS.latest[:4]) - 1}",
        ", ".join(TYPES),
    ):
        assert said in PAGE
