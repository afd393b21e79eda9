"""`comporta dashboard`: the page, on the loopback interface, until it is stopped."""

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from comporta.commands import shell
from comporta.commands.log_file import log_into
from comporta.dashboard.listening import listen, url
from comporta.services import processes
from comporta.services.addresses import kafka_bootstrap, postgres_dsns
from comporta.settings import Settings, load

NAME = "dashboard"


def dashboard(
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Where to listen; 0 takes any free port.")] = None,
    as_json: shell.Json = False,
) -> None:
    """Show what the line does, live, in a browser on this machine. The address is printed first; Ctrl-C or SIGTERM ends it."""
    # Being stopped is how this command ends, also before the server is there to say so.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    settings = load()
    listener = listen(settings.dashboard.port if port is None else port)
    if as_json:
        shell.write_json({"url": url(listener)})
    else:
        shell.console().print(url(listener), soft_wrap=True)
    log_into(settings.home / "logs" / f"{NAME}.log")
    # The web framework reads its storage folder when it is imported, and would look for it in the current folder.
    os.environ["NICEGUI_STORAGE_PATH"] = str(settings.home / "run" / NAME)
    from comporta.dashboard import poller, server  # noqa: PLC0415 - the address is told before the framework is loaded
    from comporta.dashboard.explain import explainer  # noqa: PLC0415
    from comporta.judging import packs  # noqa: PLC0415

    sources = poller.Sources(settings.line.name, settings.kafka.topic, reader_dsn(settings), log_ends(settings))
    known = {(pack.name, pack.version): pack for pack in map(packs.builtin, packs.names())}
    _say(settings, url(listener))
    try:
        server.serve(listener, sources, explainer(known))
    finally:
        _forget(settings)


def page_url(settings: Settings) -> str | None:
    """Where the page of this home is, if one runs."""
    process = processes.running(settings.home, NAME)
    facts = processes.read_json(_facts(settings))
    return str(facts["url"]) if process is not None and facts.get("pid") == process.pid else None


def _say(settings: Settings, address: str) -> None:
    """Note this process as the page, with its address for others of this home."""
    processes.write_pid(settings.home, NAME)
    processes.write_privately(_facts(settings), json.dumps({"pid": os.getpid(), "url": address}))


def _forget(settings: Settings) -> None:
    note = processes.noted(settings.home, NAME)
    if note is not None and note.pid == os.getpid():
        processes.forget(settings.home, NAME)
        _facts(settings).unlink(missing_ok=True)


def _facts(settings: Settings) -> Path:
    return settings.home / "run" / f"{NAME}.json"


def reader_dsn(settings: Settings) -> Callable[[], str]:
    """The reader's DSN as it is now: an embedded server may come back on another port."""
    if settings.postgres.dsn is None:
        return lambda: postgres_dsns(settings)[2]
    external = postgres_dsns(settings)[2]
    return lambda: external


def log_ends(settings: Settings) -> Callable[[], Mapping[int, tuple[int, int]]]:
    """The readable range of each partition of the topic, as it is now."""
    from comporta.kafka.positions import watermarks  # noqa: PLC0415 - as above

    def ends() -> Mapping[int, tuple[int, int]]:
        ranges = watermarks(kafka_bootstrap(settings), settings.kafka.topic)
        return {partition: (found.earliest, found.latest) for partition, found in ranges.items()}

    return ends
