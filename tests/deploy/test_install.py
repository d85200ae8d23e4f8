"""The last step of the image: the project installed as a copy, not as the folder that one works in."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clawdbot import __version__

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where it is installed. The builder comes from uv's cache, which has had it since this environment was made."""
    if not UV.is_file():
        pytest.skip("uv is not there")
    target = tmp_path_factory.mktemp("site")
    install = [UV, "pip", "install", "--offline", "--no-deps", "--python", sys.executable, "--target", target, ROOT]
    done = subprocess.run([str(part) for part in install], capture_output=True, text=True, check=False)
    if "hatchling" in done.stderr:
        pytest.skip("uv's cache has been emptied")
    assert done.returncode == 0, done.stderr
    return target


def test_nothing_is_left_behind(copy: Path) -> None:
    """Schemas, pages and whatever else is no code."""
    listed = ["git", "ls-files", "clawdbot", "adapters"]
    tracked = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    installed = {
        str(path.relative_to(copy))
        for path in copy.rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".lock")
    }

    assert {name.removeprefix("adapters/") for name in tracked} - installed == set()


def test_it_runs_from_there(copy: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    code = "import clawdbot, runpy, sys; print(clawdbot.__file__); sys.argv[1:] = ['--version']; "
    code += "runpy.run_module('clawdbot', run_name='__main__')"

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [str(copy / "clawdbot" / "__init__.py"), __version__]
