"""The cache of JVM artifacts: what is broken is made good, what is wrong is refused, what cannot be fetched is said."""

import os
import shutil
from pathlib import Path

import pytest

from comporta.services import artifacts
from comporta.settings import Settings
from comporta.words.errors import DamagedState, Unreachable

GROUP = "spark-connectors"


def copy_or_link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@pytest.fixture
def cache(services: Settings, tmp_path: Path) -> Path:
    """A cache of its own for one group, with what Ivy keeps of it, so that nothing needs the network."""
    artifacts.ensure(services.cache, GROUP)
    folder = tmp_path / "cache"
    (folder / "jars").mkdir(parents=True)
    for entry in artifacts.locked():
        if GROUP in entry.groups:
            copy_or_link(str(services.cache / "jars" / entry.file), str(folder / "jars" / entry.file))
    if (services.cache / "ivy").exists():
        shutil.copytree(services.cache / "ivy", folder / "ivy", copy_function=copy_or_link)
    return folder


def replace(path: Path, content: bytes) -> None:
    """Not written into: the file may be linked from the real cache."""
    path.unlink()
    path.write_bytes(content)


def test_a_broken_and_a_missing_jar_are_made_good(cache: Path) -> None:
    entries = [entry for entry in artifacts.locked() if GROUP in entry.groups]
    replace(cache / "jars" / entries[0].file, b"\x00" * entries[0].size)
    replace(cache / "jars" / entries[1].file, b"cut short")
    (cache / "jars" / entries[2].file).unlink()
    (cache / "jars" / ".arriving-left").mkdir()
    found = artifacts.ensure(cache, GROUP)
    assert [path.name for path in found] == [entry.file for entry in entries]
    assert artifacts.missing(cache, GROUP) == []
    assert [path.name for path in (cache / "jars").iterdir() if path.name.startswith(".arriving")] == []
    whole = (cache / "jars" / entries[0].file).read_bytes()
    assert whole != b"\x00" * entries[0].size


def test_a_file_that_is_not_the_one_of_the_lock_is_refused_and_not_kept(cache: Path) -> None:
    entry = next(entry for entry in artifacts.locked() if GROUP in entry.groups)
    (cache / "jars" / entry.file).unlink()
    kept = next((cache / "ivy").glob(f"*/*/*/{entry.file}"))
    replace(kept, b"somebody else's")
    with pytest.raises(DamagedState, match="is not the file that the lock names"):
        artifacts.ensure(cache, GROUP)
    assert not (cache / "jars" / entry.file).exists()
    assert not kept.exists()


def test_a_network_that_is_away_is_told_and_may_heal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setattr(artifacts, "ATTEMPTS", 1)
    with pytest.raises(Unreachable, match="could not be fetched"):
        artifacts.ensure(tmp_path / "cache", GROUP)
