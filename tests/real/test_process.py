"""The bot as a process: the demo from a pipe, Ctrl-C, a kill in the middle of an answer."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from clawdbot.chat import State
from clawdbot.clock import SystemClock
from clawdbot.store import open_store

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

CHAT = (sys.executable, "-m", "clawdbot", "chat", "--demo")
PATIENT = """
[answers]
temperature = 0.0
[sessions]
drain = 120.0
[store]
path = "bot.sqlite3"
[adapters.console]
"""
"""A configuration that gives running answers two minutes when the bot is told to end."""
LONG = "Write a long story about a ship and its crew.\n"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A database of the test's own; the model comes from the usual cache."""
    return {**os.environ, "XDG_DATA_HOME": str(tmp_path)}


@contextmanager
def in_mid_answer(command: Sequence[str], environment: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    """A bot in the middle of a long answer, in a process group of its own as in a terminal."""
    bot = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, process_group=0
    )
    assert bot.stdin is not None
    assert bot.stdout is not None
    with bot:
        bot.stdin.write(LONG)
        bot.stdin.flush()
        assert bot.stdout.readline().startswith("> ")
        assert bot.stdout.read(1)  # the first word is there
        yield bot
        bot.kill()


@pytest.fixture
def writing(environment: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    """The demo, which gives running answers no time when it is told to end."""
    with in_mid_answer(CHAT, environment) as bot:
        yield bot


def test_the_demo_answers_what_is_piped_into_it(environment: dict[str, str]) -> None:
    """Each line is a message, answered in order, each answer with its latency; the end of input ends it."""
    asked = "What is the capital of France?\n/latency\n"

    demo = subprocess.run(CHAT, input=asked, capture_output=True, text=True, env=environment, check=False)

    assert demo.returncode == 0, demo.stderr
    assert "Paris" in demo.stdout
    assert "first word" in demo.stdout
    assert "p50    p95    p99" in demo.stdout
    assert "Traceback" not in demo.stderr


def test_ctrl_c_in_mid_answer_keeps_and_marks_what_is_there(writing: "subprocess.Popen[str]") -> None:
    """It reaches the whole process group, as a terminal does it, but not the engine core."""
    os.killpg(writing.pid, signal.SIGINT)

    rest, _ = writing.communicate(timeout=60)
    assert "interrupted" in rest
    assert writing.returncode == 0


def test_a_killed_bot_leaves_no_engine_behind(writing: "subprocess.Popen[str]") -> None:
    """Core and worker hold gigabytes; they end with the bot, however it ends."""
    children = psutil.Process(writing.pid).children(recursive=True)
    assert len(children) >= 2

    os.kill(writing.pid, signal.SIGKILL)

    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive


async def test_a_second_signal_leaves_at_once(environment: dict[str, str], tmp_path: Path) -> None:
    """The first one gives the answer its time to finish. The next start finds what was written of it, and no engine."""
    config = tmp_path / "config.toml"
    config.write_text(PATIENT, encoding="utf-8")
    run = (sys.executable, "-m", "clawdbot", "run", "--config", str(config))
    with in_mid_answer(run, environment) as bot:
        assert bot.stdout is not None
        children = psutil.Process(bot.pid).children(recursive=True)
        bot.send_signal(signal.SIGTERM)
        assert bot.stdout.read(100)  # it goes on writing
        told_at = time.monotonic()
        bot.send_signal(signal.SIGTERM)
        code = bot.wait(timeout=10)
        took = time.monotonic() - told_at
        _, alive = psutil.wait_procs(children, timeout=10)
    async with open_store(tmp_path / "bot.sqlite3", SystemClock()) as store:
        (left,) = await store.unfinished()

    assert code == 128 + signal.SIGTERM
    assert took < 2.0
    assert not alive
    assert left.answer is not None
    assert (left.answer.state, left.answer.text != "") == (State.STREAMING, True)
