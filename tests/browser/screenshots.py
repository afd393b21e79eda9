"""Takes the pictures of the page for the README: everything runs for some minutes in a home of its own, then Chromium looks at it.

.venv/bin/python tests/browser/screenshots.py [MINUTES]
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

from comporta.commands.dashboard import page_url
from comporta.settings import load

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.browsing import CHROMIUM, QUIET, START_MS

PICTURES = Path(__file__).parents[2] / "docs" / "img"
LARGEST_BYTES = 300_000


def main(minutes: float) -> None:
    """The demo, looked at shortly before its end."""
    browser = next(path for name in CHROMIUM if (path := shutil.which(name)))
    with tempfile.TemporaryDirectory() as home:
        ours = {"COMPORTA_HOME": home} | {f"COMPORTA_{part}_PORT": "0" for part in ("KAFKA", "POSTGRES", "DASHBOARD")}
        environ = {name: value for name, value in os.environ.items() if not name.startswith("COMPORTA_")} | ours
        demo = subprocess.Popen([sys.executable, "-m", "comporta.commands.main", "demo", "--for", f"{minutes + 1}m", "--json"], env=environ)
        try:
            settings, pause = load(environ=ours), threading.Event()
            while page_url(settings) is None:
                assert demo.poll() is None, "the demo ended"
                pause.wait(0.5)
            look(browser, str(page_url(settings)), minutes)
        finally:
            demo.terminate()
            demo.wait(120)


def look(browser: str, url: str, minutes: float) -> None:
    """Both themes, at the width of a small screen, in the sharpness of a good one."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=browser, args=list(QUIET)) as chromium:
        waiting = chromium.new_page()
        waiting.goto(url)
        waiting.locator("[data-alert]").first.wait_for(timeout=2 * START_MS)
        waiting.wait_for_timeout(minutes * 60_000)
        for scheme in ("light", "dark"):
            page = chromium.new_page(
                viewport={"width": 1280, "height": 800}, device_scale_factor=1.25, color_scheme="dark" if scheme == "dark" else "light"
            )
            page.goto(url)
            page.locator("[data-alert]").first.wait_for()
            page.wait_for_timeout(3_000)
            path = PICTURES / f"dashboard-{scheme}.png"
            page.screenshot(path=path)
            assert path.stat().st_size < LARGEST_BYTES, f"{path} has {path.stat().st_size:,} bytes"
            sys.stdout.write(f"{json.dumps(str(path))}: {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 5.5)
