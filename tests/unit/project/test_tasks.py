"""The Makefile is the one list of tasks: it explains itself, and hooks and CI call it."""

import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]
MAKEFILE = (TOP / "Makefile").read_text()
TASKS = set(re.findall(r"^([a-z-]+):", MAKEFILE, flags=re.MULTILINE))


def test_make_alone_explains_the_tasks() -> None:
    said = subprocess.run(["make"], cwd=TOP, capture_output=True, text=True, check=True).stdout  # noqa: S607
    for task in ("setup", "demo", "test", "test-unit", "test-bare", "bench", "check", "clean"):
        assert re.search(rf"^  {task} +\S", said, flags=re.MULTILINE), f"make does not explain {task}"


@pytest.mark.parametrize("file", [".pre-commit-config.yaml", ".ci/run", "CONTRIBUTING.md", "README.md", "tests/bare/run.sh"])
def test_a_task_that_is_called_exists(file: str) -> None:
    called = set(re.findall(r"(?:^|`|entry: |[\"}] )make ([a-z-]+)", (TOP / file).read_text(), flags=re.MULTILINE))
    assert called
    assert called <= TASKS


def test_a_task_that_needs_the_environment_makes_it() -> None:
    for task, needs, recipe in re.findall(r"^([a-z-]+):([^\n]*)\n((?:\t[^\n]+\n)*)", MAKEFILE, flags=re.MULTILINE):
        if "$(BIN)" in recipe:
            assert {"setup", "lint"} & set(needs.split("##")[0].split()), f"{task} uses .venv without making it"
