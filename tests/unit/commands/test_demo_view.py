"""What the demo shows in a terminal."""

import pytest
from rich.console import Console

from comporta.commands.demo import _next, _seconds
from comporta.commands.demo_view import bars, picture, sentence, show_end, sums
from comporta.dashboard.explain import explainer
from comporta.dashboard.snapshot import Health, Snapshot
from comporta.judging import packs
from comporta.words.errors import Usage
from support.snapshots import NOW, alert, commit, healthy

PACK = packs.builtin("classic-v1")
EXPLAIN = explainer({(PACK.name, PACK.version): PACK})
NOTHING = Snapshot("line", "transactions", database=Health(None, "no answer"))
DONE = {
    "url": "http://127.0.0.1:8080/",
    "seconds": 72.4,
    "acknowledged": 12_000,
    "transactions": 12_000,
    "amount_cents": 500_000_000,
    "alerts": 240,
    "alert_amount_cents": 3_000_000,
    "levels": {"CRITICAL": 40, "HIGH": 200, "NORMAL": 11_760},
    "dead_letters": 0,
    "duplicates": 3,
    "lag": 0,
    "wait_seconds": {"typical": 0.42, "longest": 0.9},
    "top_alerts": [],
    "running": [],
    "next": ["comporta up"],
}


def drawn(snapshot: Snapshot, left: float | None, width: int = 110) -> str:
    console = Console(width=width, record=True, file=None, force_terminal=False)
    with console.capture() as captured:
        console.print(picture(snapshot, NOW, left, "http://127.0.0.1:8080/", EXPLAIN, width))
    return captured.get()


def test_bars_are_drawn_against_the_highest_and_what_is_unknown_is_a_dot() -> None:
    assert bars([None, 0.0, 50.0, 100.0]) == "· ▄█"
    assert bars([0.0, 0.0]) == "  "
    assert bars([]) == ""


def test_a_line_of_text_tells_what_the_screen_would() -> None:
    batches = tuple(commit(20 - number, 200, HIGH=6, waits=(0.4, 0.7)) for number in range(20))
    assert sentence(healthy(commits=batches), NOW, 42.0) == (
        "42 s left: 200 transactions/s, 6.0 alerts/s, lag 0, append to commit 0.4 s; CRITICAL 0, HIGH 120, MEDIUM 0, LOW 0, NORMAL 3,880"
    )
    assert sentence(NOTHING, NOW, None) == "the line is getting ready (unknown)"
    assert sentence(healthy(positions={0: 90}), NOW, None) == "the line is getting ready (running), 10 messages wait"


@pytest.mark.parametrize("width", [80, 110, 200])
def test_the_picture_fits_its_screen_and_shows_text_of_messages_as_text(width: int) -> None:
    snapshot = healthy(commits=(commit(3, 100, CRITICAL=1), commit(2, 100)))
    shown = drawn(Snapshot(**{**vars(snapshot), "alerts": (alert(type="[red]\x1b[2JPIX[/red]"),)}), 10.0, width)
    assert max(len(line) for line in shown.splitlines()) <= width
    assert "[red] [2JPIX[/red]" in shown
    assert "Pix to a payee" in shown


def test_before_anything_is_known_the_picture_has_dashes_and_says_why() -> None:
    shown = drawn(NOTHING, 10.0)
    assert "PostgreSQL is away" in shown
    assert "0 per second" not in shown


def test_the_sum_says_what_was_sent_and_what_became_of_it() -> None:
    assert sums(DONE) == [
        "12,000 transactions sent, 12,000 judged in 1 min 12 s; 0 dead letters, 3 duplicates",
        "240 alerts (2.0 %): CRITICAL 40, HIGH 200, MEDIUM 0, LOW 0, NORMAL 11,760",
        "R$ 5.00 M judged, R$ 30,000.00 of it in alerts (BRL only)",
        "Append to commit, in the second half: 0.4 s typically, 0.9 s at the longest",
    ]
    assert "5 still wait" in sums(DONE | {"lag": 5, "transactions": 11_995})[0]
    assert "40 of them had waited in the topic before" in sums(DONE | {"transactions": 12_040})[0]


def test_the_end_says_what_is_left_running_and_what_to_try(capsys: pytest.CaptureFixture[str]) -> None:
    show_end(Console(width=240), DONE)
    assert "Nothing is left running; the data stays" in capsys.readouterr().out
    show_end(Console(width=240), DONE | {"running": ["page", "line", "kafka", "postgres"]})
    assert "Still running: page, line, kafka, postgres.\nThe page: http://127.0.0.1:8080/" in capsys.readouterr().out


def test_three_commands_follow_that_work_as_things_are() -> None:
    assert [len(_next(running)) for running in ((), ("kafka", "postgres"), ("page", "postgres", "kafka", "line"))] == [3, 3, 3]
    assert _next(())[0] == "comporta up"
    assert _next(("postgres", "kafka", "line"))[-1] == "comporta down"


@pytest.mark.parametrize(("text", "seconds"), [("60s", 60), ("1.5m", 90), (" 2 min ", 120), ("1h", 3_600)])
def test_a_length_has_a_unit(text: str, seconds: float) -> None:
    assert _seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "60", "0s", "-5s", "1d", "999h", "soon"])
def test_what_is_no_length_is_refused(text: str) -> None:
    with pytest.raises(Usage):
        _seconds(text)
