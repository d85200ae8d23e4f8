"""The systemd unit: what systemd itself says of it, and what the bot asks of one."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from clawdbot.engine.vllm import SHUTDOWN
from clawdbot.sessions.sessions import LAST_WORDS
from clawdbot.settings.config import SessionSettings

UNIT = Path(__file__).parents[2] / "deploy" / "clawdbot.service"
PROGRAM = "/srv/clawdbot/.venv/bin/clawdbot"
MOST_EXPOSED = 2.0
"""Of 10, by systemd's own account."""

needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not there")


@pytest.fixture
def service() -> Mapping[str, str]:
    """The settings that are there once."""
    lines = UNIT.read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The unit with a program that is there."""
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text(encoding="utf-8").replace(PROGRAM, sys.executable), encoding="utf-8")
    return unit


@needs_systemd
def test_systemd_finds_nothing_wrong(installed: Path) -> None:
    said = subprocess.run(["systemd-analyze", "verify", installed], capture_output=True, text=True, check=False)

    assert (said.returncode, said.stderr) == (0, "")


@needs_systemd
def test_little_is_open_to_whoever_would_take_the_bot_over(installed: Path) -> None:
    """In systemd's own measure of what a service can reach."""
    threshold = str(int(MOST_EXPOSED * 10))
    command = ["systemd-analyze", "security", "--offline=true", f"--threshold={threshold}", str(installed)]

    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout


def test_it_is_nobody_with_rights(service: Mapping[str, str]) -> None:
    assert service["User"] not in ("", "root", "0")
    assert service["CapabilityBoundingSet"] == ""
    assert service["NoNewPrivileges"] == "yes"
    assert service["ProtectSystem"] == "strict"


def test_the_bot_has_time_to_end(service: Mapping[str, str]) -> None:
    """SIGTERM goes to the bot alone, whose answers need the engine; then there is time for all of it."""
    assert service["KillMode"] == "mixed"
    assert float(service["TimeoutStopSec"]) > SessionSettings().drain + LAST_WORDS + SHUTDOWN


def test_a_faulty_configuration_is_not_tried_again(service: Mapping[str, str]) -> None:
    """The exit code that the command line has for it."""
    assert (service["Restart"], service["RestartPreventExitStatus"]) == ("on-failure", "2")


def test_a_reload_is_the_signal_that_the_bot_knows(service: Mapping[str, str]) -> None:
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"
