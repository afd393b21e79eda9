"""`comporta simulate`: invents transactions and sends them to Kafka, to stdout or into a file."""

import re
import secrets
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from pathlib import Path
from threading import Event
from typing import Annotated, Any, NoReturn, Protocol

import structlog
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from comporta.commands import shell
from comporta.commands.shell import Answer
from comporta.kafka import clients, topics
from comporta.kafka.producing import PATIENCE_SECONDS, Producer, Sent
from comporta.services.addresses import kafka_bootstrap
from comporta.settings import load
from comporta.simulator.life import ZONE, Message, Plan, messages
from comporta.simulator.timeline import SECOND, SEEDED_START, history, microseconds, steady
from comporta.words.errors import AnswerIsNo, ComportaError, Setup, Usage

_log = structlog.get_logger()

_NAMED = 10
_SEED_BITS = 48
_PROGRESS_EVERY = 500
_MOST_MESSAGES = 10**9
_SPANS = {"min": 60, "h": 3600, "d": 86400}
_TRANSACTION_ID = re.compile(rb'"transaction_id": "([^"]*)"')


class Format(StrEnum):
    """How a transaction is written."""

    CLASSIC_JSON = "classic-json"


class Sink(Protocol):
    """Where messages go. `poll` lets it work while the simulator waits, `close` waits until everything has arrived, `abandon` does not."""

    def send(self, message: Message) -> None: ...

    def poll(self) -> None: ...

    def close(self) -> None: ...

    def abandon(self) -> None: ...


@dataclass
class Tally:
    """What was sent, what was acknowledged, and what was not and why. Money is that of what was acknowledged."""

    produced: int = 0
    acknowledged: int = 0
    amount_cents: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    first_unsent: list[tuple[str, int]] = field(default_factory=list)  # id and bytes


class ToKafka:
    """The topic, keyed by customer."""

    def __init__(self, bootstrap: str, topic: str, patience: float, tally: Tally) -> None:
        self._tally = tally
        self._producer = Producer(bootstrap, topic, patience=patience, on_unsent=self._unsent)

    def send(self, message: Message) -> None:
        self._producer.send(message.key, message.value)

    def poll(self) -> None:
        self._producer.poll()

    def close(self) -> None:
        self._settle(self._producer.close())

    def abandon(self) -> None:
        self._settle(self._producer.abandon())

    def _settle(self, sent: Sent) -> None:
        self._tally.acknowledged = sent.acknowledged
        self._tally.reasons.update(sent.reasons)

    def _unsent(self, value: bytes | None) -> None:
        """A record of ours comes back: its money was counted when it was sent."""
        self._tally.amount_cents -= _cents(value or b"")
        found = _TRANSACTION_ID.search(value or b"")
        if found and len(self._tally.first_unsent) < _NAMED:
            self._tally.first_unsent.append((found[1].decode(), len(value or b"")))


class ToFile:
    """One message a line; what is written is acknowledged."""

    def __init__(self, path: Path | None, tally: Tally) -> None:
        self._tally = tally
        self._path = path
        try:
            self._file = sys.stdout.buffer if path is None else path.open("xb")
        except FileExistsError:
            raise Setup("the file is there already", where=str(path), do="remove it or choose another name") from None
        except OSError as error:
            raise Setup(f"the file cannot be made ({error.strerror})", where=str(path), do="choose another path") from None

    def send(self, message: Message) -> None:
        try:
            self._file.write(message.value + b"\n")
        except BrokenPipeError:
            raise
        except OSError as error:
            raise Setup(f"the file cannot be written ({error.strerror})", where=str(self._path), do="make room, then start again") from None
        self._tally.acknowledged += 1

    def poll(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.flush()
        if self._path is not None:
            self._file.close()

    def abandon(self) -> None:
        self.close()


def simulate(
    *,
    count: Annotated[
        int | None, typer.Option(min=1, max=_MOST_MESSAGES, help="How many transactions; with --rate, none means without end.")
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(min=0.001, max=1_000_000, help="So many a second; their event times are then the time at which they are sent."),
    ] = None,
    customers: Annotated[int | None, typer.Option(min=1, max=100_000_000, help="How many customers the bank has.")] = None,
    fraud_rate: Annotated[float, typer.Option(min=0.0, max=0.9, help="Share of the transactions that belong to a fraud.")] = 0.01,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**63 - 1, help="The same seed with the same options gives the same records; else one is drawn and told."),
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="Event time of the first transaction, as 2025-03-10T00:00:00-03:00, or now (with --rate).")
    ] = None,
    span: Annotated[str | None, typer.Option(help="Spread the event times over so long, as 1h or 365d.")] = None,
    leak: Annotated[
        bool, typer.Option("--leak", help="Write the answer into fraud_score, is_fraud and fraud_type, as the original did.")
    ] = False,
    form: Annotated[Format, typer.Option("--format", help="How a transaction is written.")] = Format.CLASSIC_JSON,
    to: Annotated[str, typer.Option(metavar="kafka|stdout|file:PATH", help="Where the transactions go.")] = "kafka",
    patience: Annotated[
        float, typer.Option(min=0.1, max=86400, help="Seconds after which a message that Kafka does not take is given up.")
    ] = (PATIENCE_SECONDS),
    as_json: shell.Json = False,
) -> NoReturn:
    """Invent a bank's transactions, honest ones and frauds, and send them."""
    del form  # the one there is

    def work() -> Answer:
        plan = _plan(count, rate, seed, start, span, customers=customers, fraud_rate=fraud_rate, leak=leak)
        due = _due(plan, rate, live=_is_live(rate, seed, start, span))
        if to == "stdout" and as_json:
            raise Usage("--to stdout prints the records where --json prints its document", do="choose --to file:PATH, or leave out --json")
        begins = datetime.fromtimestamp(plan.start_us / SECOND, ZONE).isoformat()
        tally = Tally()
        sink = _sink(to, patience, tally)
        _log.info("simulating", seed=plan.seed, start=begins, customers=plan.customers, to=to)
        began = time.monotonic()
        try:
            with _progress(count, shown=to != "stdout" and not as_json) as step:
                stopped = _send(islice(messages(plan), count), sink, tally, due, step)
        except BrokenPipeError:
            shell.be_quiet()  # whoever read our stdout has seen enough
            raise typer.Exit(0) from None
        document = _document(plan, tally, time.monotonic() - began, stopped=stopped)
        return Answer(document, lambda console: _show(console, document, to), error=_unsent_error(tally))

    shell.answer(as_json, work)


def _plan(
    count: int | None,
    rate: float | None,
    seed: int | None,
    start: str | None,
    span: str | None,
    *,
    customers: int | None,
    fraud_rate: float,
    leak: bool,
) -> Plan:
    drawn = secrets.randbits(_SEED_BITS) if seed is None else seed
    now_us = microseconds(datetime.now(UTC))
    if _is_live(rate, seed, start, span):
        return steady(drawn, now_us, rate or 0, customers=customers, fraud_rate=fraud_rate, leak=leak)
    if start == "now":
        raise Usage("--start now goes with --rate and without --span: history cannot begin now", where="comporta simulate")
    start_us = None if start is None else _instant(start)
    if count is not None:
        return history(
            drawn,
            count,
            start_us=start_us,
            end_us=now_us if seed is None else None,
            customers=customers,
            span_seconds=None if span is None else _seconds(span),
            fraud_rate=fraud_rate,
            leak=leak,
        )
    if rate is None:
        raise Usage("how many? Neither --count nor --rate is given", where="comporta simulate", do="give one of them, or both")
    if span is not None:
        raise Usage("--span spreads a --count", where="comporta simulate", do="give --count as well")
    return steady(drawn, start_us or microseconds(SEEDED_START), rate, customers=customers, fraud_rate=fraud_rate, leak=leak)


def _is_live(rate: float | None, seed: int | None, start: str | None, span: str | None) -> bool:
    """Events happen when they are sent: a rate is given, and nothing that would put them elsewhere."""
    return rate is not None and span is None and (start == "now" or (start is None and seed is None))


def _instant(text: str) -> int:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise Usage(f"{text!r} is no time", where="--start", do="write it as 2025-03-10T00:00:00-03:00") from None
    return microseconds(instant if instant.tzinfo else instant.replace(tzinfo=ZONE))


def _seconds(text: str) -> float:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(min|h|d)\s*", text)
    if found is None or float(found[1]) == 0:
        raise Usage(f"{text!r} is no length of time", where="--span", do="write a number and min, h or d, as 1h")
    return float(found[1]) * _SPANS[found[2]]


def _sink(to: str, patience: float, tally: Tally) -> Sink:
    if to == "stdout":
        return ToFile(None, tally)
    if to.startswith("file:") and to != "file:":
        return ToFile(Path(to.removeprefix("file:")), tally)
    if to != "kafka":
        raise Usage(f"{to!r} is no place to send to", where="--to", do="choose kafka, stdout or file:PATH")
    settings = load()
    bootstrap = kafka_bootstrap(settings)
    clients.reachable(bootstrap)
    topics.existing(bootstrap, settings.kafka.topic)
    return ToKafka(bootstrap, settings.kafka.topic, patience, tally)


def _due(plan: Plan, rate: float | None, *, live: bool) -> Callable[[int, Message], float] | None:
    """When the message of that number is to be sent, in seconds after the start."""
    if rate is None:
        return None
    if live:
        return lambda _number, message: (message.at_us - plan.start_us) / SECOND
    return lambda number, _message: number / rate


def _send(
    run: Iterator[Message], sink: Sink, tally: Tally, due: Callable[[int, Message], float] | None, step: Callable[[int], None]
) -> bool:
    """Sends until the end or until Ctrl-C, and waits for what is under way; a second Ctrl-C gives that up. True: it was stopped."""
    began, stop = time.monotonic(), Event()
    with _interrupts(stop):
        try:
            for message in run:
                if due is not None:
                    _wait_until(began + due(tally.produced, message), sink, stop)
                if stop.is_set():
                    break
                tally.produced += 1
                tally.amount_cents += message.cents
                sink.send(message)
                if tally.produced % _PROGRESS_EVERY == 0:
                    step(tally.produced)
            sink.close()
        except KeyboardInterrupt:
            sink.abandon()
    step(tally.produced)
    return stop.is_set()


@contextmanager
def _interrupts(stop: Event) -> Iterator[None]:
    """The first SIGINT or SIGTERM sets `stop`, the second interrupts."""

    def heed(_number: int, _frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, heed) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait_until(due: float, sink: Sink, stop: Event) -> None:
    while (left := due - time.monotonic()) > 0 and not stop.is_set():
        sink.poll()
        stop.wait(min(left, 0.5))


def _cents(value: bytes) -> int:
    found = re.search(rb'"amount": (\d+)\.(\d\d),', value)
    return int(found[1] + found[2]) if found else 0


def _document(plan: Plan, tally: Tally, seconds: float, *, stopped: bool) -> dict[str, Any]:
    return {
        "produced": tally.produced,
        "acknowledged": tally.acknowledged,
        "unsent": tally.produced - tally.acknowledged,
        "amount_cents": tally.amount_cents,
        "unsent_reasons": dict(tally.reasons),
        "unsent_ids": [identity for identity, _ in tally.first_unsent],
        "seed": plan.seed,
        "start": datetime.fromtimestamp(plan.start_us / SECOND, ZONE).isoformat(),
        "customers": plan.customers,
        "seconds": round(seconds, 3),
        "rate": round(tally.acknowledged / seconds, 1) if seconds else None,
        "stopped": stopped,
    }


def _unsent_error(tally: Tally) -> ComportaError | None:
    unsent = tally.produced - tally.acknowledged
    if unsent == 0:
        return None
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in tally.reasons.items())
    names = ", ".join(f"{identity} ({size:,} bytes)" for identity, size in tally.first_unsent)
    return AnswerIsNo(
        f"{unsent:,} of {tally.produced:,} transactions were not acknowledged ({reasons}); the first of them: {names}",
        do="look at the broker: comporta status",
    )


def _show(console: Console, document: dict[str, Any], to: str) -> None:
    out = shell.console(stderr=True) if to == "stdout" else console
    reais, cents = divmod(document["amount_cents"], 100)
    rate = f", {document['rate']:,.0f} a second" if document["rate"] else ""
    out.print(f"{document['acknowledged']:,} of {document['produced']:,} transactions acknowledged in {document['seconds']:,.1f} s{rate}")
    out.print(f"R$ {reais:,}.{cents:02d}, {document['customers']:,} customers")
    out.print(f"seed {document['seed']}, first event time {document['start']}")


@contextmanager
def _progress(count: int | None, *, shown: bool) -> Iterator[Callable[[int], None]]:
    if not shown or not sys.stderr.isatty():
        yield lambda _done: None
        return
    columns = (TextColumn("sending"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.speed:,.0f}/s"), TimeRemainingColumn())
    with Progress(*columns, console=shell.console(stderr=True), transient=True) as progress:
        task: TaskID = progress.add_task("sending", total=count)
        yield lambda done: progress.update(task, completed=done)
