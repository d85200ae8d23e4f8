"""The container: what its linter says, and what a read-only root asks for."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from clawdbot.config import SessionSettings
from clawdbot.engine.vllm import SHUTDOWN
from clawdbot.sessions import LAST_WORDS

ROOT = Path(__file__).parents[2]
COMPOSE = (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8")
IMAGE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_the_linter_finds_nothing() -> None:
    """hadolint comes with the test tools; its warnings count as much as its errors."""
    linter = Path(sys.executable).with_name("hadolint")

    said = subprocess.run([linter, "--no-color", ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (0, "")


def test_it_runs_as_nobody_with_rights() -> None:
    """A number, so that a cluster can tell without looking into the image."""
    (user,) = re.findall(r"^USER (.*)$", IMAGE, re.M)

    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user)
    assert f"useradd --uid {user.split(':')[0]} " in IMAGE


@pytest.mark.parametrize(
    "line", ["read_only: true", "cap_drop: [ALL]", 'security_opt: ["no-new-privileges:true"]', "init: true"]
)
def test_every_service_of_the_bots_is_shut_in(line: str) -> None:
    bot = COMPOSE[COMPOSE.index("x-bot:") : COMPOSE.index("services:")]

    assert f"  {line}\n" in bot
    assert len(re.findall(r"^    image: clawdbot:", COMPOSE, re.M)) == COMPOSE.count("<<: *bot")


def test_all_that_is_written_has_a_place() -> None:
    """The root is read-only: homes and caches of all libraries lie in the volumes, the rest in memory."""
    volumes = re.findall(r"^ +- (?:data|cache):(\S+)$", COMPOSE, re.M)
    named = dict(re.findall(r"\b([A-Z_]+)=(/\S+)", IMAGE[IMAGE.index("AS base") :]))

    assert set(volumes) == {"/data", "/cache"}
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "TRITON_CACHE_DIR", "MPLCONFIGDIR"):
        assert any(named[name].startswith(volume) for volume in volumes), name
    assert re.search(r'^  tmpfs: \["/tmp', COMPOSE, re.M)


def test_the_bot_has_time_to_end() -> None:
    (grace,) = re.findall(r"^  stop_grace_period: (\d+)s$", COMPOSE, re.M)

    assert float(grace) > SessionSettings().drain + LAST_WORDS + SHUTDOWN


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
