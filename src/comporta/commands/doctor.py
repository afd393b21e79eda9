"""`comporta doctor`: look at everything that the line stands on, and say what to do."""

import shutil
import stat
from collections.abc import Callable, Iterable

import psutil
from rich.console import Console
from rich.table import Table
from rich.text import Text

from comporta import __version__
from comporta.commands import shell
from comporta.commands.shell import Answer
from comporta.commands.status import shown
from comporta.kafka import sampling, topics
from comporta.postgres import migrate
from comporta.services import addresses, artifacts, broker, database, diagnosis, embedded, java, ports, processes
from comporta.services.diagnosis import Finding, Grade, TopicFacts
from comporta.services.embedded import Report
from comporta.settings import Settings, load
from comporta.words.errors import ComportaError, Exit

_COLOURS = {Grade.OK: "green", Grade.NOTE: "cyan", Grade.PROBLEM: "bold red"}


def doctor(as_json: shell.Json = False) -> None:
    """Look at versions, ports, disk, database and topic; say what is wrong and what to do. Exit code 1 if anything is wrong."""

    def work() -> Answer:
        settings = load()
        with shell.waiting("looking", as_json=as_json):
            findings = examine(settings)
        healthy = all(finding.grade is not Grade.PROBLEM for finding in findings)
        document = {
            "healthy": healthy,
            "checks": [{"check": one.check, "grade": one.grade, "what": one.what, "do": one.do or None} for one in findings],
        }
        return Answer(document, lambda console: _show(console, findings, healthy=healthy), Exit.FINE if healthy else Exit.ANSWER_IS_NO)

    shell.answer(as_json, work)


def examine(settings: Settings) -> list[Finding]:
    """All checks in the order in which a person would want to read them."""
    report = embedded.status(settings)
    findings = [*_machine(settings), *_ports(settings, report)]
    findings += [diagnosis.service(one.name, one.state, shown(one), answers=one.answers) for one in (report.kafka, report.postgres)]
    if report.postgres.answers:
        findings += _told("database", lambda: _database(settings))
    if report.kafka.answers:
        findings += _told("topic", lambda: _topic(settings))
    return findings


def _told(check: str, look: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """A check that fails with an answer of ours is a finding, and the others go on."""
    try:
        return list(look())
    except ComportaError as error:
        return [diagnosis.problem(check, error.what, error.do)]


def _machine(settings: Settings) -> list[Finding]:
    home = next(folder for folder in (settings.home, *settings.home.parents) if folder.exists())
    lacking = {entry.name: entry for group in artifacts.ROOTS for entry in artifacts.missing(settings.cache, group)}
    chosen = java.chosen()
    findings = [
        diagnosis.ok("comporta", f"{__version__}, home {settings.home}"),
        diagnosis.java(java.version(chosen), str(chosen)),
        diagnosis.artifacts(len(lacking), sum(entry.size for entry in lacking.values())),
        diagnosis.disk(
            shutil.disk_usage(home).free,
            retention_bytes=settings.kafka.retention_bytes,
            partitions=settings.kafka.partitions,
            holds_topic=settings.kafka.bootstrap is None,
        ),
        diagnosis.memory(psutil.virtual_memory().available),
    ]
    secrets = database.folder(settings.home) / "passwords.json"
    if secrets.exists() and secrets.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        findings.append(diagnosis.problem("secrets", f"others may read {secrets}", f"chmod 600 {secrets}"))
    return findings


def _ports(settings: Settings, report: Report) -> list[Finding]:
    """Only a port that is named and on which nothing of ours listens can be in the way."""
    wanted = [
        ("kafka.port", settings.kafka.port, report.kafka.pid is None and settings.kafka.bootstrap is None),
        ("postgres.port", settings.postgres.port, report.postgres.pid is None and settings.postgres.dsn is None),
    ]
    return [
        diagnosis.port(setting, port, (processes.listener(port) or "somebody") if will_bind and port and not ports.is_free(port) else None)
        for setting, port, will_bind in wanted
    ]


def _database(settings: Settings) -> Iterable[Finding]:
    owner, writer, reader = addresses.postgres_dsns(settings)
    version = migrate.version(owner)
    if version < migrate.LATEST:
        what = f"has version {version}, this Comporta needs {migrate.LATEST}"
        yield diagnosis.problem("database", what, "run: comporta up" if version == 0 else "stop the line, then run: comporta migrate")
    else:
        yield diagnosis.ok("database", f"PostgreSQL {database.facts(writer).version}, version {version} of the tables")
        changed = migrate.drift(owner)
        if changed:
            yield diagnosis.problem("database", f"the tables were changed by hand: {'; '.join(changed)}", "change them back")
    yield from diagnosis.durability(database.facts(writer).settings)
    yield diagnosis.one_role_for_all(*(database.facts(dsn).user for dsn in (owner, writer, reader)))


def _topic(settings: Settings) -> Iterable[Finding]:
    bootstrap = addresses.kafka_bootstrap(settings)
    found = topics.describe(bootstrap, settings.kafka.topic)
    if found is None:
        yield diagnosis.problem("topic", f"there is no topic {settings.kafka.topic}", "make it: comporta up")
        return
    facts = TopicFacts(
        name=found.name,
        partitions=found.partitions,
        config=found.config,
        leaders=found.leaders,
        replicas=found.replicas,
        in_sync=found.in_sync,
        brokers=broker.count(bootstrap),
    )
    yield diagnosis.ok("topic", f"{found.name}, id {found.topic_id}")
    yield from diagnosis.topic(facts, partitions=settings.kafka.partitions)
    sample = sampling.sample_keys(bootstrap, found.name)
    yield diagnosis.keys(
        partitions=found.partitions, looked_at=sample.looked_at, without_key=sample.without_key, misplaced=sample.misplaced
    )


def _show(console: Console, findings: list[Finding], *, healthy: bool) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for one in findings:
        table.add_row(Text(one.grade, _COLOURS[one.grade]), one.check, Text(shell.one_line(one.what)))
        if one.do:
            table.add_row("", "", Text(f"→ {shell.one_line(one.do)}", "bold"))
    console.print(table)
    console.print("nothing is wrong" if healthy else Text("something is wrong: see the lines that say problem", "bold red"))
