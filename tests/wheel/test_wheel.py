"""The wheel holds all it needs: installed into an empty environment, it does what the README says, in an empty folder."""

import json
import os
import re
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
UV = TOP / ".tools" / "uv" / "bin" / "uv"
RUNTIME = TOP / "requirements" / "runtime.txt"
BUILDERS = TOP / "requirements" / "build.txt"

Comporta = Callable[[str], str]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder)
    return next(folder.glob("comporta-*.whl"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the packages of the runtime lock and the wheel: from uv's cache if they are all there, else fetched by pip."""
    place = tmp_path_factory.mktemp("empty") / "environment"
    try:
        run(UV, "venv", "--quiet", "--no-project", "--python", sys.executable, place)
        install: tuple[str | Path, ...] = (UV, "pip", "install", "--offline", "--quiet", "--no-deps", "--python", place)
        run(*install, "--require-hashes", "--build-constraints", BUILDERS, "-r", RUNTIME)
    except (OSError, AssertionError):
        run(sys.executable, "-m", "venv", "--clear", place)
        install = (place / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps")
        run(*install, "--require-hashes", "-r", BUILDERS)
        run(*install, "--require-hashes", "--no-build-isolation", "-r", RUNTIME)
    run(*install, wheel)
    return place


@pytest.fixture
def comporta(environment: Path, tmp_path: Path) -> Iterator[Comporta]:
    """Runs a line of shell in an empty folder, with the environment's programs on PATH; what it leaves running is stopped."""
    folder = tmp_path / "uma pasta só dela"
    folder.mkdir()
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("COMPORTA_", "PYTHON", "VIRTUAL_ENV"))} | {
        "PATH": f"{environment / 'bin'}{os.pathsep}{os.defpath}",
        "COMPORTA_KAFKA_PORT": "0",
        "COMPORTA_POSTGRES_PORT": "0",
        "COMPORTA_DASHBOARD_PORT": "0",
    }
    if "COMPORTA_CACHE" in os.environ:
        environ["COMPORTA_CACHE"] = os.environ["COMPORTA_CACHE"]

    def typed(line: str) -> str:
        return run(*shlex.split(line), cwd=folder, env=environ)

    yield typed
    typed("comporta down --delete-data")


def run(*command: str | Path, cwd: Path = TOP, env: Mapping[str, str] | None = None) -> str:
    ran = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=280, check=False)
    assert ran.returncode == 0, f"{command} ended with {ran.returncode}\n{ran.stdout[-2000:]}\n{ran.stderr[-4000:]}"
    return ran.stdout


def first_steps() -> list[str]:
    """What the README says to type after the set-up."""
    block = re.search(r"<!-- run by tests/wheel -->\n```sh\n(.*?)```", (TOP / "README.md").read_text(), flags=re.DOTALL)
    assert block
    return [line.partition(" #")[0].strip() for line in block[1].splitlines()]


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    package = TOP / "src"
    files = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name} == files


def test_an_installed_wheel_drains_in_an_empty_folder_as_the_readme_says(comporta: Comporta, environment: Path) -> None:
    *steps, last = first_steps()
    assert last == "comporta down"
    said = {step: comporta(step) for step in steps}
    sent = sum(int(step.split("--count ")[1].split()[0]) for step in steps if step.startswith("comporta simulate"))
    assert json.loads(comporta('comporta sql --json "SELECT count(*) AS decisions FROM decisions"')) == [{"decisions": sent}]
    assert all(answer.strip() for answer in said.values())
    assert comporta('python -c "import comporta; print(comporta.__file__)"').startswith(str(environment))
    comporta(last)
    assert {service["state"] for service in json.loads(comporta("comporta status --json"))["services"].values()} <= {
        "down",
        "external",
        None,
    }
