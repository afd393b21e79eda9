"""`comporta demo`: services, simulator, line and page at once, watched in the terminal, and in the end a sum and what to try next."""

import fcntl
import re
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from comporta.commands import demo_view, shell
from comporta.commands.dashboard import log_ends, reader_dsn
from comporta.commands.demo_parts import Parts, with_free_ports
from comporta.commands.shell import Answer
from comporta.dashboard.explain import Explain, explainer
from comporta.dashboard.panels.headline import waits
from comporta.dashboard.poller import Poller, Sources
from comporta.dashboard.recent import WINDOW
from comporta.dashboard.snapshot import Snapshot
from comporta.judging import packs
from comporta.postgres import page_queries
from comporta.postgres.page_queries import Totals, Wanted
from comporta.settings import Settings, load
from comporta.words.errors import AnotherOwner, ProcessDied, Setup, Usage

# Spark takes some seconds, on a busy machine many; a line that still judges nothing then has a trouble that its log names.
FIRST_DECISION_SECONDS = 180.0
# What was sent shortly before the end is still judged.
DRAIN_SECONDS = 60.0
LOOK_EVERY = 0.25
TOP_ALERTS = 5
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600}
_LONGEST_SECONDS = 7 * 86_400


@dataclass(frozen=True)
class Begun:
    """When the demo began, by this machine's and by the database's clock, and what had been judged before."""

    at: float
    since: datetime
    totals: Totals


def demo(
    length: Annotated[str, typer.Option("--for", metavar="60s", help="How long, once the line judges: as 60s, 10m or 1h.")] = "60s",
    keep: Annotated[bool, typer.Option("--keep", help="Leave services, line and page running at the end.")] = False,
    as_json: shell.Json = False,
) -> None:
    """Everything at once: 200 transactions a second, some of them fraud, from Kafka to the page. Ctrl-C ends it; the data stays."""

    def work() -> Answer:
        seconds = _seconds(length)
        settings = _with_own_services(load())
        with _only_one(settings), _terminated_as_interrupted():
            return _run(settings, seconds, keep=keep, as_json=as_json)

    shell.answer(as_json, work)


def _run(settings: Settings, seconds: float, *, keep: bool, as_json: bool) -> Answer:
    console = shell.console(stderr=as_json)
    settings, moved = with_free_ports(settings)
    explain = explainer({(pack.name, pack.version): pack for pack in map(packs.builtin, packs.names())})
    with Parts(settings) as parts:
        url = parts.start_page()
        console.print(f"The page: {url}", soft_wrap=True)
        for sentence in moved:
            console.print(sentence)
        parts.start_services()
        begun = _begin(settings)
        parts.start_simulator()
        parts.start_line()
        poller = Poller(Sources(settings.line.name, settings.kafka.topic, reader_dsn(settings), log_ends(settings)))
        poller.start()
        try:
            judged_for = _watch(demo_view.Screen(console, url, explain, plain=as_json), parts, poller, begun, seconds)
            console.print("No more is sent; what is left is judged, then all of it stops." if not keep else "No more is sent.")
            sent = parts.stop_simulator()
            left = _drain(parts, poller, log_ends(settings)())
            document = _document(settings, begun, poller.snapshot, sent, judged_for, explain) | {"lag": left, "url": url, "kept": keep}
        finally:
            poller.stop()
        running = parts.keep() if keep else parts.others
    document |= {"running": list(running), "next": _next(running)}
    return Answer(document, lambda out: demo_view.show_end(out, document))


def _seconds(length: str) -> float:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|min|h)\s*", length)
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if not 1 <= seconds <= _LONGEST_SECONDS:
        raise Usage(f"{length!r} is no length of a demo", where="--for", do="give a number with s, m or h, from 1s to 168h")
    return seconds


def _with_own_services(settings: Settings) -> Settings:
    """The demo invents transactions: they belong into no topic and no database but its own."""
    for key, given in (("kafka.bootstrap", settings.kafka.bootstrap), ("postgres.dsn", settings.postgres.dsn)):
        if given is not None:
            raise Setup(
                f"the demo runs on services of its own, and {key} names others", where=settings.origins[key], do=f"unset {key} for it"
            )
    return settings


@contextmanager
def _only_one(settings: Settings) -> Iterator[None]:
    """Two demos in one home would stop each other's parts."""
    (settings.home / "run").mkdir(parents=True, exist_ok=True)
    with (settings.home / "run" / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AnotherOwner(
                "a demo runs in this home already", where=str(settings.home), do="wait for it, or set another COMPORTA_HOME"
            ) from None
        yield


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM ends the demo as Ctrl-C does: in order."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _wanted(settings: Settings) -> Wanted:
    return Wanted(reader_dsn(settings)(), settings.line.name, WINDOW, TOP_ALERTS)


def _begin(settings: Settings) -> Begun:
    wanted = _wanted(settings)
    with page_queries.open_reader(wanted.dsn) as connection:
        reading = page_queries.look(connection, wanted, None)
    return Begun(time.monotonic(), reading.at, reading.totals or Totals())


def _watch(screen: demo_view.Screen, parts: Parts, poller: Poller, begun: Begun, seconds: float) -> float:
    """Show what happens until the time is over, counted from the first decision, or until Ctrl-C. Returns how long it judged."""
    pause, began = threading.Event(), time.monotonic()
    end: float | None = None
    try:
        with screen:
            while end is None or time.monotonic() < end:
                parts.check()
                now, memory = time.monotonic(), poller.snapshot.memory
                if end is None and memory is not None and memory.totals.transactions > begun.totals.transactions:
                    end = now + seconds
                if end is None and now - began > FIRST_DECISION_SECONDS:
                    raise ProcessDied("the line has judged nothing yet", where=str(parts.line_output), do="read there why")
                screen.show(poller.snapshot, now, None if end is None else end - now)
                pause.wait(LOOK_EVERY)
    except KeyboardInterrupt:
        pass  # the short way to the end
    return 0.0 if end is None else seconds - max(end - time.monotonic(), 0.0)


def _drain(parts: Parts, poller: Poller, ends: Mapping[int, tuple[int, int]]) -> int:
    """Wait until the line has come to where the log ended when the last of it had been sent. Returns how many messages still wait."""
    pause, deadline = threading.Event(), time.monotonic() + DRAIN_SECONDS
    while True:
        parts.check()
        places = poller.snapshot.places or {}
        left = sum(max(latest - places.get(partition, 0), 0) for partition, (_, latest) in ends.items())
        if left == 0 or time.monotonic() > deadline:
            return left
        pause.wait(LOOK_EVERY)


def _document(
    settings: Settings, begun: Begun, snapshot: Snapshot, sent: Mapping[str, Any], judged_for: float, explain: Explain
) -> dict[str, Any]:
    wanted = _wanted(settings)
    with page_queries.open_reader(wanted.dsn) as connection:
        found = page_queries.done_since(connection, wanted, begun.since)
    before, memory = begun.totals, snapshot.memory
    after = memory.totals if memory else before
    # The first half drained what had piled up before the line was ready.
    typical, longest = waits(memory.commits, memory.moved_at - timedelta(seconds=judged_for / 2)) if memory else (None, None)
    return {
        "seconds": round(time.monotonic() - begun.at, 1),
        "produced": sent.get("produced"),
        "acknowledged": sent.get("acknowledged"),
        "unsent": sent.get("unsent"),
        "transactions": after.transactions - before.transactions,
        "amount_cents": after.amount_cents - before.amount_cents,
        "alerts": after.alerts - before.alerts,
        "alert_amount_cents": after.alert_amount_cents - before.alert_amount_cents,
        "levels": {level: rows - before.levels.get(level, 0) for level, rows in after.levels.items()},
        "dead_letters": found.dead_letters,
        "duplicates": found.duplicates,
        "wait_seconds": {"typical": typical, "longest": longest},
        "top_alerts": [
            {
                "transaction_id": alert.transaction_id,
                "customer_id": alert.customer_id,
                "level": alert.level,
                "action": alert.action,
                "score": alert.score,
                "type": alert.type,
                "amount_cents": alert.amount_cents,
                "currency": alert.currency,
                "reasons": [text for text, _ in explain(alert)],
            }
            for alert in found.top_alerts
        ],
    }


def _next(running: tuple[str, ...]) -> list[str]:
    """Three commands to try, that work as things are now."""
    if "line" in running:
        return ["comporta simulate --rate 500", "comporta lag --watch", "comporta down"]
    return [
        "comporta up" if not running else "comporta status",
        'comporta sql "SELECT level, count(*) FROM decisions GROUP BY level"',
        "comporta simulate --count 20000 --seed 7 && comporta stream --drain",
    ]
