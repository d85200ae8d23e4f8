"""The image: what its linter says of it, and whether it is installed as everything else is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMAGE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_the_linter_finds_nothing() -> None:
    """hadolint comes with the test tools; its warnings count as much as its errors."""
    linter = Path(sys.executable).with_name("hadolint")

    said = subprocess.run([linter, "--no-color", ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (0, "")


def test_it_runs_as_nobody_with_rights() -> None:
    """A number, so that a cluster can tell without looking into the image; root comes for a while at most."""
    user, root, again = re.findall(r"^USER (.*)$", IMAGE, re.M)

    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user)
    assert (root, again) == ("0:0", user)
    assert f"useradd --uid {user.split(':')[0]} " in IMAGE


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_it_is_installed_as_make_installs_it(device: str) -> None:
    """The same packages: those steps run in every `make test`, these wherever an image is built."""
    start = IMAGE.index(f"AS built-{device}")
    steps = " ".join(IMAGE[start : IMAGE.index("FROM", start)].split())
    overrides = ROOT / "constraints" / f"{device}-overrides.txt"

    assert f"--extra {device} " in steps
    assert f"--constraints constraints/{device}.txt" in steps
    assert ("--overrides" in steps) is overrides.is_file()
    # The CPU's torch comes first and alone, from its own index.
    assert ("'^torch=='" in steps) is (device == "cpu")
