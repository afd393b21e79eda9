"""A command line, run in this process: a second quicker than a process of its own, and its output caught all the same."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from comporta.commands import main


@dataclass(frozen=True)
class Said:
    """What came of it."""

    returncode: int
    stdout: str
    stderr: str


def typed(environ: Mapping[str, str], capfd: pytest.CaptureFixture[str], *words: str) -> Said:
    """`comporta WORDS…`, with no other COMPORTA_ variables than those given."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("COMPORTA_")]:
            patch.delenv(name)
        for name, value in environ.items():
            patch.setenv(name, value)
        capfd.readouterr()
        code = main.run(list(words))
        out, err = capfd.readouterr()
    return Said(code, out, err)
