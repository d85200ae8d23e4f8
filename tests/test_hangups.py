"""SIGHUP in the first second: before anybody can read a configuration again, while Python imports the libraries."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clawdbot.settings.reload import hangups

EARLY = """
import os, signal, sys

class HangUp:
    def find_spec(self, name, *rest):
        if name == "clawdbot.cli":
            os.kill(os.getpid(), signal.SIGHUP)

sys.meta_path.insert(0, HangUp())
from clawdbot.__main__ import main
main()
"""


def hung_up_early(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command that gets the signal while it imports its libraries."""
    command = [sys.executable, "-c", EARLY, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


def test_it_does_not_end_a_bot_that_starts(tmp_path: Path) -> None:
    """``systemctl reload`` right after the start. Here the bot goes on, to the fault of its configuration."""
    (tmp_path / "config.toml").write_text("[adapters]\n")
    ended = hung_up_early(tmp_path, "run", "--config", "config.toml")

    assert ended.returncode == 2
    assert "no platform is enabled" in ended.stderr


@pytest.mark.parametrize("command", ["--version", "doctor"])
def test_other_commands_end_with_their_terminal(tmp_path: Path, command: str) -> None:
    assert hung_up_early(tmp_path, command).returncode == -signal.SIGHUP


async def test_what_was_asked_for_before_is_done_when_it_can_be() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    signal.raise_signal(signal.SIGHUP)

    with hangups() as asked:
        async with asyncio.timeout(10):
            await asked.wait()
