"""The engine's processes: out of Ctrl-C's reach, and never alive without the bot. Real processes and signals."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from clawdbot.engine.process import ENVIRONMENT, PARENT, follow_parent, prepare_environment, sheltered

pytestmark = pytest.mark.timeout(30)

# A process of the engine: does what vLLM's plugin does, then answers one line.
CHILD = """
import sys
from clawdbot.engine.process import follow_parent
follow_parent()
print("child up", flush=True)
sys.stdin.readline()
print("child alive", flush=True)
sys.stdin.readline()
"""

# The bot: starts the child in a thread that ends, and takes Ctrl-C as a request to stop.
BOT = """
import contextlib, signal, subprocess, sys, threading
from clawdbot.engine.process import prepare_environment, sheltered

signal.signal(signal.SIGINT, lambda *_: print("bot interrupted", flush=True))
prepare_environment()
children = []

def start():
    with sheltered() if "sheltered" in sys.argv else contextlib.nullcontext():
        children.append(subprocess.Popen([sys.executable, "-c", sys.argv[1]]))

thread = threading.Thread(target=start)
thread.start()
thread.join()
children[0].wait()
print("child ended", flush=True)
"""


@contextmanager
def bot(*options: str) -> Iterator["subprocess.Popen[str]"]:
    """A bot with a child that is up, in a process group of its own; both write into its output."""
    running = subprocess.Popen(
        [sys.executable, "-c", BOT, CHILD, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        process_group=0,
    )
    with running:
        assert line(running) == "child up"
        try:
            yield running
        finally:
            running.kill()


def line(running: "subprocess.Popen[str]") -> str:
    """The next line that bot or child writes."""
    assert running.stdout is not None
    return running.stdout.readline().strip()


def answer(running: "subprocess.Popen[str]") -> str:
    """What the child says when it is asked whether it lives."""
    assert running.stdin is not None
    running.stdin.write("\n")
    running.stdin.flush()
    return line(running)


def test_a_killed_bot_takes_its_engine_with_it() -> None:
    """kill -9 gives no chance to clean up; otherwise core and worker stay, with gigabytes of memory."""
    with bot() as running:
        running.kill()

        # The output ends when the last process that can write to it has ended.
        assert line(running) == ""


def test_the_engine_outlives_the_thread_that_started_it() -> None:
    """The kernel's own signal for a dead parent fires when that thread ends, and it has ended here."""
    with bot() as running:
        assert answer(running) == "child alive"


def test_ctrl_c_does_not_reach_the_engine() -> None:
    """It goes to the whole process group; the bot needs the engine for what it still has to say."""
    with bot("sheltered") as running:
        os.killpg(running.pid, signal.SIGINT)
        assert line(running) == "bot interrupted"

        assert answer(running) == "child alive"


def test_without_shelter_ctrl_c_ends_it() -> None:
    """What the shelter is for."""
    with bot() as running:
        os.killpg(running.pid, signal.SIGINT)

        assert {line(running), line(running)} == {"bot interrupted", "child ended"}


def test_shelter_lasts_as_long_as_its_block() -> None:
    """The bot itself hears Ctrl-C and the terminal's end afterwards, also when starting the engine failed."""

    def blocked() -> set[signal.Signals]:
        return {signal.SIGINT, signal.SIGHUP} & signal.pthread_sigmask(signal.SIG_BLOCK, set())

    def fail() -> None:
        with sheltered():
            assert blocked() == {signal.SIGINT, signal.SIGHUP}
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not blocked()


@pytest.mark.parametrize("parent", [None, str(os.getpid())], ids=["nobody", "itself"])
def test_who_has_no_other_to_follow_goes_on(monkeypatch: pytest.MonkeyPatch, parent: str | None) -> None:
    """vLLM loads its plugins in the bot's own process too."""
    monkeypatch.delenv(PARENT, raising=False)
    if parent is not None:
        monkeypatch.setenv(PARENT, parent)
    before = threading.active_count()
    follow_parent()

    assert threading.active_count() == before


def test_whose_bot_is_gone_already_ends_at_once() -> None:
    """It was killed while the engine started."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()

    child = subprocess.run([sys.executable, "-c", CHILD], env={**os.environ, PARENT: str(gone.pid)}, check=False)

    assert child.returncode == 1


def test_children_inherit_what_keeps_them_quiet_and_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    """The admin's own word counts."""
    monkeypatch.setattr("os.environ", {"VLLM_LOGGING_LEVEL": "DEBUG"})
    prepare_environment()

    assert os.environ == {**ENVIRONMENT, "VLLM_LOGGING_LEVEL": "DEBUG", PARENT: str(os.getpid())}
    assert os.environ["VLLM_WORKER_MULTIPROC_METHOD"] == "spawn"
