"""The JVM artifacts: resolved by the Apache Ivy that lies in the PySpark wheel, verified against artifacts.lock, kept in the cache.

`python -m comporta.services.artifacts lock` resolves all groups anew and writes the lock;
`python -m comporta.services.artifacts fetch [GROUP…]` fills the cache.
"""

import fcntl
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

import structlog

from comporta.services import java
from comporta.words.errors import Bug, DamagedState, Setup, Unreachable

_log = structlog.get_logger()

# Ivy asks for one file after another; a server that says nothing must not hold it up for ever.
_TIMEOUTS = ("-Dsun.net.client.defaultConnectTimeout=15000", "-Dsun.net.client.defaultReadTimeout=60000")
ATTEMPTS = 3
PROGRESS_SECONDS = 5

LOCK = Path(__file__).with_name("artifacts.lock")
MACHINE_TRUST_STORE = Path("/etc/ssl/certs/java/cacerts")

# What is asked for; the lock holds what that resolved to.
_BINDING = "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"  # without an slf4j binding the broker logs nothing
ROOTS: Mapping[str, tuple[str, ...]] = {
    "kafka": ("org.apache.kafka:kafka_2.13:4.3.1", _BINDING),
    "kafka-tools": ("org.apache.kafka:kafka-tools:4.3.1", _BINDING),
    "spark-connectors": ("org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0", "org.apache.spark:spark-avro_2.13:4.0.0"),
}


@dataclass(frozen=True)
class Artifact:
    name: str  # organisation:module:version
    size: int
    sha256: str
    groups: tuple[str, ...]

    @property
    def file(self) -> str:
        _, module, version = self.name.split(":")
        return f"{module}-{version}.jar"


def ensure(cache: Path, group: str) -> list[Path]:
    """The group's jars in the cache, every one verified now; what is missing or broken is fetched first."""
    wanted = _of(group)
    jars = cache / "jars"
    with _alone(jars):
        missing = [artifact for artifact in wanted if not _is_whole(jars / artifact.file, artifact)]
        if missing:
            megabytes = round(sum(artifact.size for artifact in missing) / 1e6, 1)
            _log.info("fetching", what=group, files=len(missing), megabytes=megabytes, into=str(jars))
            _fetch(cache, missing)
            _log.info("fetched", what=group, files=len(missing))
    return [jars / artifact.file for artifact in wanted]


def locked() -> list[Artifact]:
    """What the lock names, in its order."""
    document = tomllib.loads(LOCK.read_text(encoding="utf-8"))
    return [
        Artifact(name=entry["name"], size=entry["size"], sha256=entry["sha256"], groups=tuple(entry["groups"]))
        for entry in document["artifact"]
    ]


def _of(group: str) -> list[Artifact]:
    if group not in ROOTS:
        raise Bug(f"no group of artifacts is called {group}")
    return [artifact for artifact in locked() if group in artifact.groups]


def missing(cache: Path, group: str) -> list[Artifact]:
    """What of the group the cache lacks, by name and size alone."""
    jars = cache / "jars"
    return [entry for entry in _of(group) if not _has_size(jars / entry.file, entry.size)]


def _has_size(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size


def _is_whole(path: Path, artifact: Artifact) -> bool:
    return _has_size(path, artifact.size) and _sha256(path) == artifact.sha256


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two processes do not fill one cache at the same time."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise Setup(f"cannot be written: {error.strerror}", where=str(folder), do="set COMPORTA_CACHE to a folder of yours") from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(cache: Path, wanted: list[Artifact]) -> None:
    """Ivy keeps each file that has arrived, so an interrupted fetch goes on where it was; a file moves to its place only when its hash is right."""
    jars = cache / "jars"
    for left in jars.glob(".arriving-*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=jars, prefix=".arriving-") as folder:
        arriving = Path(folder)
        _ivy_patiently(cache, [artifact.name for artifact in wanted], arriving)
        for artifact in wanted:
            arrived = arriving / artifact.file
            if not arrived.is_file():
                raise Unreachable(f"{artifact.name} did not arrive", do="try again: what has arrived is kept")
            if not _is_whole(arrived, artifact):
                # Ivy would hand out the same wrong file again.
                shutil.rmtree(cache / "ivy" / artifact.name.split(":")[0] / artifact.name.split(":")[1], ignore_errors=True)
                raise DamagedState(
                    f"{artifact.name} is not the file that the lock names", where=str(LOCK.name), do="try again, or ask who changed it"
                )
            arrived.replace(jars / artifact.file)


def _ivy_patiently(cache: Path, names: list[str], into: Path) -> None:
    """A connection may break among a hundred; what had arrived is not fetched again."""
    for attempt in range(ATTEMPTS):
        try:
            _ivy(cache, names, into, transitive=False)
        except Unreachable as error:
            if attempt == ATTEMPTS - 1:
                raise
            _log.warning("fetching_again", because=error.what)
        else:
            return


def _ivy(cache: Path, names: Iterable[str], into: Path, *, transitive: bool) -> None:
    resolution = cache / "ivy"
    resolution.mkdir(parents=True, exist_ok=True)
    asked = into / "ivy.xml"
    asked.write_text(_ivy_file(names, transitive=transitive), encoding="utf-8")
    home = java.java_home(cache)
    command = [
        str(home / "bin" / "java"),
        *_trust(cache),
        *_proxies(),
        *_TIMEOUTS,
        "-jar",
        str(_ivy_jar()),
        "-cache",
        str(resolution),
        "-ivy",
        str(asked),
    ]
    # Not by type: some modules are a `bundle`, and without them the broker does not start.
    command += ["-confs", "default", "-retrieve", f"{into}/[artifact]-[revision](-[classifier]).[ext]", "-types", "jar", "bundle"]
    said, arrived, told = "", 0, time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as ivy:
        for line in ivy.stdout or ():
            if not line.lstrip().startswith("."):  # its progress
                _log.debug("ivy", said=line.strip())
            arrived += "[SUCCESSFUL" in line
            if time.monotonic() - told > PROGRESS_SECONDS:
                told = time.monotonic()
                _log.info("still_fetching", arrived=arrived)
            if not said and any(word in line for word in ("not found", "Exception", "ERROR", "Server access error")):
                said = line.strip()
    if ivy.returncode:
        reason = said[:200] or "Ivy gave up"
        raise Unreachable(
            f"the JVM artifacts could not be fetched: {reason}", do="check the network or proxy and try again: what has arrived is kept"
        )


def _ivy_file(names: Iterable[str], *, transitive: bool) -> str:
    lines = [
        '<ivy-module version="2.0">',
        '<info organisation="comporta" module="artifacts"/>',
        '<configurations><conf name="default"/></configurations>',
    ]
    lines.append("<dependencies>")
    for name in names:
        organisation, module, version = name.split(":")
        marks = f"org={quoteattr(organisation)} name={quoteattr(module)} rev={quoteattr(version)}"
        conf = "default->default" if transitive else "default->master"
        lines.append(f'<dependency {marks} conf="{conf}" transitive="{str(transitive).lower()}"/>')
    return "\n".join([*lines, "</dependencies>", "</ivy-module>"])


def _pyspark_jars() -> Path:
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise Setup("pyspark is not installed", do="install comporta with all that it needs")
    return Path(found.origin).with_name("jars")


def _ivy_jar() -> Path:
    return next(_pyspark_jars().glob("ivy-*.jar"))


def _trust(cache: Path) -> list[str]:
    """The runtime in the wheel does not know which authorities this machine trusts: tell it."""
    if MACHINE_TRUST_STORE.is_file():
        return [f"-Djavax.net.ssl.trustStore={MACHINE_TRUST_STORE}"]
    paths = ssl.get_default_verify_paths()
    bundle = next(
        (Path(path) for path in (paths.cafile, "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt") if path), None
    )
    if bundle is None or not bundle.is_file():
        return []
    store = cache / "trust.p12"
    if not store.is_file() or store.stat().st_mtime < bundle.stat().st_mtime:
        _write_trust_store(bundle, store)
    return [f"-Djavax.net.ssl.trustStore={store}", "-Djavax.net.ssl.trustStoreType=PKCS12", "-Djavax.net.ssl.trustStorePassword=comporta"]


def _write_trust_store(bundle: Path, store: Path) -> None:
    from cryptography import x509  # noqa: PLC0415 - slow to import, rarely needed
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some authorities bend the rules of numbering; whom the machine trusts is not ours to judge
        certificates = x509.load_pem_x509_certificates(bundle.read_bytes())
    entries = [PKCS12Certificate(certificate, f"ca-{number}".encode()) for number, certificate in enumerate(certificates)]
    unfinished = store.with_name(f"{store.name}.{os.getpid()}")
    unfinished.write_bytes(serialize_java_truststore(entries, BestAvailableEncryption(b"comporta")))
    unfinished.replace(store)


def _proxies(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Java does not read the proxy variables that every other program reads."""
    options = []
    for scheme in ("http", "https"):
        address = environ.get(f"{scheme}_proxy") or environ.get(f"{scheme.upper()}_PROXY")
        if not address:
            continue
        parts = urlsplit(address if "://" in address else f"http://{address}")
        if parts.hostname:
            options += [f"-D{scheme}.proxyHost={parts.hostname}", f"-D{scheme}.proxyPort={parts.port or 8080}"]
    without = environ.get("no_proxy") or environ.get("NO_PROXY")
    if options and without:
        options.append("-Dhttp.nonProxyHosts=" + "|".join(f"*{host}" if host.startswith(".") else host for host in without.split(",")))
    return options


def write_lock(cache: Path) -> None:
    """Resolve every group anew and write down what came, without saying where from."""
    shipped = {path.name for path in _pyspark_jars().glob("*.jar")}
    found: dict[str, Artifact] = {}
    for group, roots in ROOTS.items():
        with tempfile.TemporaryDirectory() as folder:
            arriving = Path(folder)
            _ivy(cache, roots, arriving, transitive=True)
            for path in sorted(arriving.glob("*.jar")):
                name = _name_of(cache, path)
                if group == "spark-connectors" and _is_shipped(path.name, name, shipped):
                    continue
                groups = (*(found[name].groups if name in found else ()), group)
                found[name] = Artifact(name=name, size=path.stat().st_size, sha256=_sha256(path), groups=groups)
    lines = ["# Written by `python -m comporta.services.artifacts lock`; do not edit.", ""]
    for artifact in sorted(found.values(), key=lambda one: one.name):
        quoted = ", ".join(f'"{group}"' for group in artifact.groups)
        lines += [
            "[[artifact]]",
            f'name = "{artifact.name}"',
            f"size = {artifact.size}",
            f'sha256 = "{artifact.sha256}"',
            f"groups = [{quoted}]",
            "",
        ]
    LOCK.write_text("\n".join(lines), encoding="utf-8")


def _name_of(cache: Path, jar: Path) -> str:
    """Ivy keeps a file under ORGANISATION/MODULE/TYPEs/, which is how its full name is found again."""
    kept = next((cache / "ivy").glob(f"*/*/*/{jar.name}"))
    organisation, module = kept.parts[-4], kept.parts[-3]
    return f"{organisation}:{module}:{jar.stem.removeprefix(module + '-')}"


def _is_shipped(file: str, name: str, shipped: set[str]) -> bool:
    """PySpark brings the module already, in whatever version: two of one module must not meet on one class path."""
    module = name.split(":")[1]
    return file in shipped or any(other.startswith(f"{module}-") and other[len(module) + 1 :][:1].isdigit() for other in shipped)


def _main(arguments: list[str]) -> None:
    import platformdirs  # noqa: PLC0415 - only when run by hand

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(20), logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    cache = Path(os.environ.get("COMPORTA_CACHE") or platformdirs.user_cache_path("comporta"))
    if arguments[:1] == ["lock"]:
        write_lock(cache)
    elif arguments[:1] == ["fetch"]:
        for group in arguments[1:] or ROOTS:
            ensure(cache, group)
    else:
        sys.exit("usage: python -m comporta.services.artifacts lock | fetch [GROUP…]")


if __name__ == "__main__":
    _main(sys.argv[1:])
