"""What the tests of the page share: everything running in one home, the browser that looks at it, and what a fraud looks like."""

import random
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from playwright.sync_api import Page, Request

from comporta.services import line_process, processes
from comporta.services.addresses import Addresses, addresses
from comporta.settings import Settings
from support.lines import Sent, message, produce, sent

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# What Chromium does on its own account, besides what it is told.
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


CHANCE = random.Random(1)  # noqa: S311 - a test's own chance
# How long the first transaction may take: Spark has to start first.
START_MS = 90_000
MARKUP = "<img src=x onerror=alert(1)> ${7*7} {{7*7}} </script>"
FRAUD = {
    "type": "PIX",
    "new_beneficiary": True,
    "amount": 7_310.0,
    "fraud_score": 70.0,
    "transactions_last_24h": 1,
    "distance_from_last_txn_km": 1.0,
    "card_entry": None,
    "unusual_time": False,
    "mcc_risk_level": "low",
    "merchant_name": MARKUP,
}


def critical(number: int) -> Sent:
    """A transaction that classic-v1 finds CRITICAL: two rules and the message's own score of 70 are 90; its merchant's name tries things."""
    return sent(message(number, CHANCE, **FRAUD))


def high(number: int) -> Sent:
    """One that it finds HIGH: one rule and 60 are 67.5."""
    return sent(message(number, CHANCE, **FRAUD | {"new_beneficiary": False, "fraud_score": 60.0, "merchant_name": "Padaria"}))


@dataclass(frozen=True)
class Running:
    """All of Comporta at work in one home; `url` is the page's."""

    settings: Settings
    environ: Mapping[str, str]
    url: str

    @property
    def at(self) -> Addresses:
        return addresses(self.settings)

    def produce(self, *records: Sent) -> None:
        produce(self.at.kafka_bootstrap, self.settings.kafka.topic, records)

    def start_line(self) -> None:
        """`comporta stream`, as another process of this home."""
        command = [sys.executable, "-m", "comporta.commands.main", "stream"]
        name = line_process.name(self.settings)
        processes.start(self.settings.home, name, command, output=self.settings.home / "logs" / "stream.out", environ=self.environ)

    def stop_line(self) -> None:
        processes.stop(self.settings.home, line_process.name(self.settings), patience=60)


@dataclass(frozen=True)
class Reader:
    """A browser's page, and what it asked for and complained of."""

    page: Page
    requests: list[Request]
    complaints: list[str]


Open = Callable[..., Page]


def until(holds: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait for a condition, with a bound."""
    deadline, pause = time.monotonic() + seconds, threading.Event()
    while not holds():
        assert time.monotonic() < deadline, f"after {seconds} s still not: {what}"
        pause.wait(0.05)


def is_ours(address: str, url: str) -> bool:
    return address.startswith((url, "data:", "blob:", url.replace("http:", "ws:")))
