"""A home in which everything runs as a person starts it, each part a process of its own, and a browser that looks at it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Playwright, sync_playwright

from comporta.commands.up import prepare
from comporta.services import embedded
from comporta.settings import load
from support.browsing import CHROMIUM, QUIET, START_MS, Open, Reader, Running, critical, high, is_ours


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    home = tmp_path_factory.mktemp("page") / "home"
    ours = {
        "COMPORTA_HOME": str(home),
        "COMPORTA_KAFKA_PORT": "0",
        "COMPORTA_POSTGRES_PORT": "0",
        "COMPORTA_DASHBOARD_PORT": "0",
        "COMPORTA_SPARK_MASTER": "local[2]",
    }
    settings = load(environ=ours)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("COMPORTA_")} | ours
    page = subprocess.Popen(
        [sys.executable, "-m", "comporta.commands.main", "dashboard", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environ,
        text=True,
        cwd=home.parent,
    )
    try:
        assert page.stdout is not None
        everything = Running(settings, environ, json.loads(page.stdout.readline())["url"])
        embedded.up(settings)
        prepare(settings)
        everything.start_line()
        everything.produce(critical(1), high(2))
        yield everything
        everything.stop_line()
    finally:
        page.terminate()
        embedded.down(settings, delete_data=True)
    assert page.wait(30) == 0
    assert not (home.parent / ".nicegui").exists()


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as found:
        yield found


@pytest.fixture(scope="session")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    path = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("NO CHROMIUM on this machine: nothing here says that the page works. Install it with: make browser")
    browser = playwright.chromium.launch(executable_path=path, args=list(QUIET))
    yield browser
    browser.close()


@pytest.fixture
def open_page(chromium: Browser, running: Running) -> Iterator[Open]:
    """Opens the page and waits for the first alert; at the end no script may have complained and nothing may have been asked of anybody but the page's own server."""
    readers = []

    def open_it(path: str = "", *, width: int = 1280, height: int = 860, scheme: str = "light") -> Page:
        page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme="dark" if scheme == "dark" else "light")
        reader = Reader(page, [], [])
        page.on("request", lambda request: reader.requests.append(request))  # noqa: PLW0108 - Playwright takes no built-in method
        page.on("pageerror", lambda error: reader.complaints.append(str(error)))
        page.on("console", lambda message: reader.complaints.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: reader.complaints.append(f"dialog: {dialog.message}"))
        readers.append(reader)
        page.goto(running.url + path)
        page.locator('[data-alert="T000000001"]').wait_for(timeout=START_MS)
        return page

    yield open_it
    for reader in readers:
        reader.page.close()
        assert [request.url for request in reader.requests if not is_ours(request.url, running.url)] == []
        assert reader.complaints == []
