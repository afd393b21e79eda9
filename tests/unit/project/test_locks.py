"""The locks pin everything, hash everything, name no address, and say what pyproject.toml says."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import grimp
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TOP = Path(__file__).parents[3]
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())
LOCKS = ["runtime", "dev", "build", "uv"]


def pins(name: str) -> dict[str, str]:
    """What a lock installs here: package → version."""
    found: dict[str, str] = {}
    for line in (TOP / "requirements" / f"{name}.txt").read_text().splitlines():
        if "==" in line and not line.startswith("#"):
            requirement = Requirement(line.removesuffix("\\").strip())
            if requirement.marker is None or requirement.marker.evaluate():
                found[canonicalize_name(requirement.name)] = str(requirement.specifier).removeprefix("==")
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_every_line_of_a_lock_is_a_pin_with_hashes(lock: str) -> None:
    text = (TOP / "requirements" / f"{lock}.txt").read_text()
    body = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    entries = re.findall(r"^\S.*?(?=^\S|\Z)", body, flags=re.MULTILINE | re.DOTALL)
    assert entries
    for entry in entries:
        assert re.fullmatch(r"[a-z0-9-]+==\S+( ; [^\\]+)? \\\n(    --hash=sha256:[0-9a-f]{64}( \\)?\n?)+", entry), entry.splitlines()[0]


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("runtime", PROJECT["project"]["dependencies"]),
        ("dev", PROJECT["project"]["dependencies"] + PROJECT["dependency-groups"]["dev"] + PROJECT["dependency-groups"]["build"]),
        ("build", PROJECT["dependency-groups"]["build"] + PROJECT["build-system"]["requires"]),
    ],
)
def test_a_lock_holds_what_the_project_asks_for(lock: str, wanted: list[str]) -> None:
    pinned = pins(lock)
    for requirement in map(Requirement, wanted):
        version = pinned.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not locked: make lock"
        assert requirement.specifier.contains(version), f"{requirement} is locked at {version}: make lock"


@pytest.mark.parametrize("lock", ["runtime", "build"])
def test_what_runs_is_what_is_tested(lock: str) -> None:
    assert pins(lock).items() <= pins("dev").items()


def test_what_the_code_imports_is_asked_for_by_name() -> None:
    asked = {canonicalize_name(Requirement(text).name) for text in PROJECT["project"]["dependencies"]}
    graph = grimp.build_graph("comporta", include_external_packages=True, cache_dir=None)
    distributions = importlib.metadata.packages_distributions()
    imported = {canonicalize_name(name) for module in graph.modules for name in distributions.get(module, ())} - {"comporta"}
    assert imported <= asked
