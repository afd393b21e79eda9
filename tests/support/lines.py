"""What tests of the line share: messages of the original's form, a plain Kafka client to send them, and two ways to run a line."""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from confluent_kafka import Producer

from comporta import assembly
from comporta.line.run import Totals
from comporta.services.addresses import Addresses
from comporta.settings import load

Sent = tuple[str | None, bytes | None]


def message(number: int, chance: random.Random, **changes: Any) -> dict[str, Any]:
    """A message of the original's 38 fields; over many of them every rule fires and every level appears."""
    customer = chance.randrange(300)
    hour, minute = chance.randrange(24), chance.randrange(60)
    pix = chance.random() < 0.5
    return {
        "transaction_id": f"T{number:09}",
        "customer_id": f"C{customer:06}",
        "session_id": f"S{number % 977:05}",
        "device_id": f"D{customer % 131:05}",
        "timestamp": f"2026-03-{1 + number % 3:02}T{hour:02}:{minute:02}:{number % 60:02}.{number % 1000:03}",
        "type": "PIX" if pix else chance.choice(["CREDIT_CARD", "DEBIT_CARD", "TED", "BOLETO", "WITHDRAWAL"]),
        "amount": round(chance.lognormvariate(5, 2), 2),
        "currency": "BRL",
        "channel": chance.choice(["MOBILE_APP", "WEB_BANKING", "ATM", "BRANCH", "WHATSAPP_PAY"]),
        "ip_address": f"10.{customer % 256}.0.{number % 256}",
        "geolocation_lat": round(-23.5 + chance.random(), 6),
        "geolocation_lon": round(-46.6 + chance.random(), 6),
        "merchant_id": f"M{number % 613:05}",
        "merchant_name": chance.choice(["Padaria São João", "Posto Ipê", "Farmácia <b>Sul</b>", "Loja '; drop table"]),
        "merchant_category": chance.choice(["food", "fuel", "health", "electronics"]),
        "mcc_code": chance.choice(["5411", "5812_delivery", "5541", "7995"]),
        "mcc_risk_level": chance.choice(["low", "medium", "high", None]),
        "card_number_hash": None if pix else f"{number:064x}",
        "card_brand": None if pix else chance.choice(["VISA", "ELO"]),
        "card_type": None if pix else "CREDIT",
        "installments": None if pix else chance.randrange(1, 13),
        "card_entry": None if pix else chance.choice(["CHIP", "CONTACTLESS", "MANUAL", "MAGNETIC"]),
        "cvv_validated": None if pix else True,
        "auth_3ds": None if pix else chance.random() < 0.5,
        "pix_key_type": chance.choice(["CPF", "EMAIL"]) if pix else None,
        "pix_key_destination": f"key-{number}" if pix else None,
        "destination_bank": "Banco do Sul" if pix else None,
        "distance_from_last_txn_km": round(chance.random() * 300, 2),
        "time_since_last_txn_min": chance.randrange(1000),
        "transactions_last_24h": chance.randrange(20),
        "accumulated_amount_24h": round(chance.random() * 20000, 2),
        "unusual_time": chance.random() < 0.1,
        "new_beneficiary": chance.random() < 0.3,
        "status": "APPROVED",
        "refusal_reason": None,
        "fraud_score": round(chance.random() * 100, 2),
        "is_fraud": chance.random() < 0.02,
        "fraud_type": None,
    } | changes


def sent(fields: Mapping[str, Any]) -> Sent:
    """The record that a message becomes: its customer is the key."""
    return str(fields["customer_id"]), json.dumps(fields, ensure_ascii=False).encode()


def some(count: int, first: int = 0) -> list[Sent]:
    """Good messages, numbered from `first`."""
    chance = random.Random(first)  # noqa: S311 - a test's own chance
    return [sent(message(first + number, chance)) for number in range(count)]


def until(holds: Callable[[], object], seconds: float = 90) -> None:
    """Wait for a condition, not for a time."""
    deadline, pause = time.monotonic() + seconds, threading.Event()
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        pause.wait(0.05)


def produce(bootstrap: str, topic: str, records: Iterable[Sent], partition: int | None = None) -> None:
    """Send with a plain client, in order, with Java's placement, and make sure that all of it was acknowledged."""
    failed: list[str] = []
    producer = Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "enable.idempotence": True, "linger.ms": 20})
    place: dict[str, Any] = {} if partition is None else {"partition": partition}
    for key, value in records:
        while True:
            try:
                producer.produce(topic, value, key, on_delivery=lambda error, _: failed.append(str(error)) if error else None, **place)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(60) == 0
    assert not failed


def rows(dsn: str, sql: str) -> list[tuple[Any, ...]]:
    """What a query answers, for asserting."""
    with psycopg.connect(dsn) as connection:
        return connection.execute(sql.encode()).fetchall()


@dataclass
class Lines:
    """Runs lines over one topic and any of its databases, each line with a home of its own."""

    cache: Path
    folder: Path

    def environ(self, at: Addresses, topic: str, **more: str) -> dict[str, str]:
        """The settings of a home beside the services that points at them; the home belongs to the database."""
        return {
            "COMPORTA_HOME": str(self.folder / at.writer_dsn.rpartition("/")[2]),
            "COMPORTA_CACHE": str(self.cache),
            "COMPORTA_KAFKA_BOOTSTRAP": at.kafka_bootstrap,
            "COMPORTA_KAFKA_TOPIC": topic,
            "COMPORTA_POSTGRES_DSN": at.writer_dsn,
            "COMPORTA_POSTGRES_OWNER_DSN": at.owner_dsn,
            "COMPORTA_POSTGRES_READER_DSN": at.reader_dsn,
            "COMPORTA_SPARK_MASTER": "local[2]",
        } | more

    def drain(self, at: Addresses, topic: str, confirmed: str | None = None, **more: str) -> Totals:
        """Drain in this process: the JVM is shared by all tests, a Spark session takes a second."""
        settings = load(environ=self.environ(at, topic, **more))
        line = assembly.line(settings, drain=True, take_over=None, confirmed=confirmed, on_commit=lambda _totals: None)
        return line.run()

    def start(self, at: Addresses, topic: str, *arguments: str, **more: str) -> subprocess.Popen[str]:
        """`comporta …` as a process of its own, as a person starts it."""
        command = [sys.executable, "-m", "comporta.commands.main", *arguments]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("COMPORTA_")} | self.environ(at, topic, **more)
        return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder)

    def run(self, at: Addresses, topic: str, *arguments: str, **more: str) -> tuple[int, dict[str, Any], str]:
        """Exit code, the JSON document and stderr of `comporta … --json`."""
        process = self.start(at, topic, *arguments, "--json", **more)
        out, err = process.communicate(timeout=300)
        return process.returncode, json.loads(out) if out.strip() else {}, err
