"""`comporta status`: what runs, where, and how it fares."""

from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from comporta.commands import shell
from comporta.commands.shell import Answer
from comporta.postgres.failures import place
from comporta.services import database, embedded, line_process, processes
from comporta.services.embedded import Report, Service, State
from comporta.settings import Settings, load

_COLOURS = {
    State.UP: "green",
    State.EXTERNAL: "cyan",
    State.STARTING: "yellow",
    State.DEGRADED: "yellow",
    State.FAILED: "red",
    State.DOWN: "dim",
}


def status(as_json: shell.Json = False) -> None:
    """How Kafka, PostgreSQL and the line fare. Answers within 15 seconds, also when everything is down."""

    def work() -> Answer:
        settings = load()
        report = embedded.status(settings)

        def say(console: Console) -> None:
            show(console, settings, report)

        return Answer(document(settings, report), say)

    shell.answer(as_json, work)


def document(settings: Settings, report: Report) -> dict[str, Any]:
    """The names that others rely on. The DSN holds its password: programs need it, people are shown none."""
    return {
        "home": str(settings.home),
        "services": {
            "kafka": {"state": report.kafka.state, "bootstrap": report.kafka.address, **_facts(report.kafka)},
            "registry": {"state": State.DOWN, "url": None},
            "postgres": {"state": report.postgres.state, "dsn": report.postgres.address, **_facts(report.postgres)},
        },
        "line": _line(settings),
    }


def _facts(service: Service) -> dict[str, Any]:
    since = datetime.fromtimestamp(service.since, UTC).isoformat() if service.since else None
    return {
        "answers": service.answers,
        "port": service.port,
        "pid": service.pid,
        "since": since,
        "memory_bytes": service.memory_bytes,
        "note": service.note,
    }


def _line(settings: Settings) -> dict[str, Any]:
    """The line of this home; it says more of itself once it owns its topic."""
    name = line_process.name(settings)
    process = processes.running(settings.home, name)
    said = line_process.said(settings)
    if process is None:
        state = State.FAILED if processes.noted(settings.home, name) else State.DOWN
    else:
        state = State.UP if said else State.STARTING
    return {"name": settings.line.name, "state": state, "pid": process.pid if process else None, "spark_ui": said.get("spark_ui")}


def show(console: Console, settings: Settings, report: Report) -> None:
    """For people: one row each, no password."""
    table = Table(box=None, pad_edge=False)
    for column in ("", "state", "address", "pid", "since", "memory"):
        table.add_column(column)
    for service in (report.kafka, report.postgres):
        table.add_row(*_row(service))
    line = _line(settings)
    table.add_row(
        f"line {line['name']}", Text(line["state"], _COLOURS[line["state"]]), line["spark_ui"] or "", str(line["pid"] or ""), "", ""
    )
    console.print(table)
    if report.kafka.state is State.UP:
        console.print(Text("one broker, one copy: what it took in the last seconds can be lost with the machine's power", "dim"))
    for service in (report.kafka, report.postgres):
        if service.note:
            console.print(Text(f"{service.name}: {service.note}", "yellow"))


def _row(service: Service) -> tuple[str | Text, ...]:
    since = datetime.fromtimestamp(service.since, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S") if service.since else ""
    memory = f"{service.memory_bytes / 1e6:.0f} MB" if service.memory_bytes else ""
    return service.name, Text(service.state, _COLOURS[service.state]), Text(shown(service)), str(service.pid or ""), since, memory


def shown(service: Service) -> str:
    """Where it is, for people: the DSN without user and password."""
    if service.address is None:
        return ""
    is_dsn = service.name == database.NAME
    return shell.one_line(place(service.address).removeprefix("PostgreSQL at ") if is_dsn else service.address)
