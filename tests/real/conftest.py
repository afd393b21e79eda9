"""Lines over the running services."""

from pathlib import Path

import pytest

from comporta.settings import Settings
from support.lines import Lines


@pytest.fixture
def lines(services: Settings, tmp_path: Path) -> Lines:
    """Runs lines whose homes lie in this test's folder."""
    return Lines(services.cache, tmp_path)
