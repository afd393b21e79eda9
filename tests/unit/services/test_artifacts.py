"""The lock of the JVM artifacts."""

import re
from pathlib import Path

import pytest

from comporta.services import artifacts
from comporta.words.errors import Bug, Setup


def test_the_lock_holds_what_each_group_asks_for() -> None:
    locked = {entry.name: entry for entry in artifacts.locked()}
    for group, roots in artifacts.ROOTS.items():
        assert all(group in locked[root].groups for root in roots)


def test_the_lock_names_each_artifact_once_with_size_and_hash() -> None:
    entries = artifacts.locked()
    assert len({entry.name for entry in entries}) == len(entries)
    assert all(entry.size > 0 and re.fullmatch(r"[0-9a-f]{64}", entry.sha256) for entry in entries)
    assert all(len(entry.name.split(":")) == 3 for entry in entries)


def test_no_module_meets_itself_in_another_version_within_a_group() -> None:
    for group in artifacts.ROOTS:
        modules = [entry.name.rsplit(":", 1)[0] for entry in artifacts.locked() if group in entry.groups]
        assert len(set(modules)) == len(modules)


def test_the_lock_holds_no_address() -> None:
    assert not re.search(r"://|repo\d", artifacts.LOCK.read_text(encoding="utf-8"))


def test_an_empty_cache_lacks_everything_and_says_how_large_it_is(tmp_path: Path) -> None:
    missing = artifacts.missing(tmp_path, "kafka")
    assert missing == [entry for entry in artifacts.locked() if "kafka" in entry.groups]
    assert sum(entry.size for entry in missing) > 40_000_000


def test_a_group_that_nobody_knows_is_a_mistake_of_ours(tmp_path: Path) -> None:
    with pytest.raises(Bug):
        artifacts.ensure(tmp_path, "sparks")


def test_a_cache_that_cannot_be_written_is_told_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("", encoding="utf-8")
    with pytest.raises(Setup, match="COMPORTA_CACHE"):
        artifacts.ensure(tmp_path / "cache", "kafka")
