"""The page as a reader sees it: Debian's Chromium looks at the real thing, from Kafka to the screen."""

import http.client
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from playwright.sync_api import Page, expect

from comporta.services import database, embedded, processes
from support.browsing import MARKUP, START_MS, Open, Running, critical, until
from support.lines import rows

SOON_MS = 20_000
CONTRAST = Path(__file__).with_name("contrast.js").read_text("utf-8")


def light(page: Page, name: str) -> str:
    return page.locator(f'[data-light="{name}"] b').inner_text()


def figure(page: Page, tile: str) -> str:
    return page.locator(f'[data-tile="{tile}"] .c-figure').inner_text()


def test_a_transaction_that_a_plain_client_produced_appears_with_its_reasons_in_words(running: Running, open_page: Open) -> None:
    page = open_page()
    running.produce(critical(3))
    row = page.locator('[data-alert="T000000003"]')
    row.wait_for(timeout=SOON_MS)
    text = row.inner_text()
    assert "CRITICAL" in text
    assert "R$ 7,310.00" in text
    assert "Pix to a payee this customer has never paid" in text
    assert "Amount R$ 7,310.00 is above R$ 5,000.00" in text
    # What stood in the message is text and nothing else; open_page() has an eye on dialogs.
    assert MARKUP in text
    assert row.locator("img").count() == 0
    expect(page.locator('[data-tile="transactions"] .c-note')).to_have_text("3 judged in all")
    expect(page.locator('[data-tile="lag"] .c-figure')).to_have_text("0messages")
    assert [light(page, name) for name in ("Line", "PostgreSQL", "Kafka")] == ["running", "up", "up"]
    assert page.locator(".c-notice").count() == 0


def test_what_is_committed_is_on_the_page_within_two_seconds(running: Running, open_page: Open) -> None:
    page = open_page()
    waits = []
    for number in range(10, 15):
        name = f"T{number:09}"
        running.produce(critical(number))
        seen_ms = page.wait_for_selector(f'[data-alert="{name}"]', timeout=SOON_MS) and page.evaluate("Date.now()")
        ((committed_ms,),) = rows(
            running.at.reader_dsn,
            f"""select extract(epoch from h.committed_at)::float8 * 1000 from ledger_history h join decisions d using (topic_id, partition)
                where d.transaction_id = '{name}' and d."offset" >= h.from_offset and d."offset" < h.to_offset""",
        )
        waits.append((seen_ms - committed_ms) / 1000)
    # The typical one of five, for a busy machine may hold up any single one.
    assert sorted(waits)[2] < 2.0, waits


def test_the_level_filter_works_by_keyboard_and_survives_a_reload(open_page: Open) -> None:
    page = open_page()
    levels = page.locator(".c-alerts .c-row[data-level]")
    assert set(levels.evaluate_all("rows => rows.map(row => row.dataset.level)")) == {"CRITICAL", "HIGH"}
    page.get_by_role("radio", name="All").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name="CRITICAL")).to_be_checked()
    assert set(levels.evaluate_all("rows => rows.map(row => row.dataset.level)")) == {"CRITICAL"}
    page.keyboard.press("ArrowRight")
    assert set(levels.evaluate_all("rows => rows.map(row => row.dataset.level)")) == {"HIGH"}
    page.reload()
    page.locator('[data-alert="T000000002"]').wait_for(timeout=SOON_MS)
    assert set(levels.evaluate_all("rows => rows.map(row => row.dataset.level)")) == {"HIGH"}


def test_a_list_that_is_held_stands_still_and_tells_how_many_are_newer(running: Running, open_page: Open) -> None:
    page = open_page()
    page.get_by_role("button", name="Hold").click()
    running.produce(critical(20))
    page.get_by_role("button", name="Go on, 1 newer").wait_for(timeout=SOON_MS)
    assert page.locator('[data-alert="T000000020"]').count() == 0
    page.get_by_role("button", name="Go on").click()
    page.locator('[data-alert="T000000020"]').wait_for(timeout=SOON_MS)


def test_two_readers_are_fed_by_one_poller(running: Running, open_page: Open) -> None:
    open_page()
    open_page()
    asked = "select count(*) from pg_stat_activity where application_name = 'comporta dashboard'"
    with psycopg.connect(database.dsn(running.settings.home, database.SUPERUSER, "postgres")) as connection:
        assert connection.execute(asked.encode()).fetchone() == (1,)


def test_the_page_says_that_the_line_is_stopped_and_recovers(running: Running, open_page: Open) -> None:
    page = open_page()
    running.stop_line()
    notice = page.locator(".c-notice", has_text="The line is not running.")
    notice.wait_for(timeout=SOON_MS)
    running.produce(critical(30))
    expect(notice).to_contain_text("1 message waiting", timeout=SOON_MS)
    expect(notice).to_contain_text("comporta stream")
    assert light(page, "Line") == "stopped"
    assert figure(page, "lag").startswith("1")
    running.start_line()
    page.locator('[data-alert="T000000030"]').wait_for(timeout=START_MS)
    expect(page.locator(".c-notice")).to_have_count(0, timeout=SOON_MS)
    assert light(page, "Line") == "running"


def test_the_page_says_that_postgresql_is_away_with_the_age_of_what_it_shows_and_recovers(running: Running, open_page: Open) -> None:
    page = open_page()
    until(lambda: light(page, "Line") == "running", 60, "the line runs")
    judged = page.locator('[data-tile="transactions"] .c-note').inner_text()
    database.stop(running.settings.home)
    notice = page.locator(".c-notice", has_text="PostgreSQL is away.")
    notice.wait_for(timeout=SOON_MS)
    expect(notice).to_contain_text(" s old", timeout=SOON_MS)
    assert light(page, "PostgreSQL") == "away"
    assert light(page, "Line") == "unknown"
    # What was known stays; what is known only now and here is unknown, not zero.
    assert page.locator('[data-tile="transactions"] .c-note').inner_text() == judged
    assert figure(page, "transactions").startswith("–")  # noqa: RUF001 - a dash
    assert figure(page, "lag") == "–"  # noqa: RUF001
    assert page.locator('[data-alert="T000000001"]').count() == 1

    embedded.up(running.settings)
    expect(notice).to_have_count(0, timeout=SOON_MS)
    running.produce(critical(40))
    page.locator('[data-alert="T000000040"]').wait_for(timeout=START_MS)
    assert light(page, "PostgreSQL") == "up"


def test_the_page_says_that_it_hears_nothing_of_its_process_and_recovers(running: Running, open_page: Open) -> None:
    page = open_page()
    until(lambda: light(page, "PostgreSQL") == "up", 60, "PostgreSQL answers")
    process = processes.running(running.settings.home, "dashboard")
    assert process is not None
    process.suspend()
    try:
        notice = page.locator(".c-notice", has_text="This page has heard nothing from its process.")
        notice.wait_for(timeout=SOON_MS)
        assert [light(page, name) for name in ("Line", "PostgreSQL", "Kafka")] == ["unknown"] * 3
    finally:
        process.resume()
    expect(notice).to_have_count(0, timeout=SOON_MS)
    until(lambda: light(page, "PostgreSQL") == "up", 60, "PostgreSQL answers")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 860), (390, 844)])
def test_the_page_is_readable_at_both_widths_in_both_themes(open_page: Open, width: int, height: int, scheme: str) -> None:
    page = open_page(width=width, height=height, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width, "nothing sticks out at the side"
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 20, 25)"
    assert dark == (scheme == "dark")
    # Text needs a contrast of 4.5 to what lies behind it, large text 3 (WCAG AA).
    assert page.evaluate(CONTRAST) == []


def test_the_reader_can_choose_the_colours_and_keeps_them(open_page: Open) -> None:
    page = open_page(scheme="light")
    button = page.get_by_role("button", name="Colours")
    button.click()
    button.click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    button.wait_for()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 20, 25)"


def test_everything_on_the_page_has_a_name_for_those_who_listen_to_it(open_page: Open) -> None:
    page = open_page()
    assert page.get_by_role("main").count() == 1
    assert page.locator("html").get_attribute("lang") == "en-US"
    for name in ("Committed per second", "Levels", "Lag", "Latest alerts", "Now"):
        assert page.get_by_role("region", name=name, exact=True).count() == 1, name
    assert "transactions and" in (page.locator(".c-plot").get_attribute("aria-label") or "")
    assert page.get_by_role("table", name="Latest alerts").get_by_role("columnheader").count() == 5
    page.locator(".c-plot").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".c-tip")).to_contain_text("transactions/s")


def test_only_this_machine_may_ask_and_the_browser_may_ask_only_it(running: Running) -> None:
    place = urlsplit(running.url)
    assert place.hostname == "127.0.0.1"
    with urllib.request.urlopen(running.url) as answer:  # noqa: S310 - our own page
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    connection = http.client.HTTPConnection("127.0.0.1", place.port or 0, timeout=10)
    connection.request("GET", "/", headers={"Host": "rebound.example.org"})
    assert connection.getresponse().status == 400
    connection.close()


def test_what_does_not_exist_is_not_found_and_nothing_is_told_of_how_the_page_is_made(running: Running) -> None:
    for path in ("docs", "openapi.json", "nothing"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(running.url + path)  # noqa: S310 - our own page
        assert refused.value.code == 404, path
