"""A bot in a process of its own, to be killed: with an engine that is a child process, and started in no time.

A server process has imported everything and forks the bots, so a life costs no more than the bot's own start.
"""

import asyncio
import multiprocessing
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from multiprocessing.process import BaseProcess

import psutil
import uvloop

from clawdbot.bench.chaos.bot import Orders, serving
from clawdbot.bench.chaos.engine import READY
from clawdbot.bench.chaos.log import listen
from clawdbot.engine.process import PARENT, follow_parent, prepare_environment
from clawdbot.errors import AdapterError, EngineUnavailable
from clawdbot.testing.engine import ScriptedEngine

ENGINE_GONE = 10.0
"""Seconds that an engine process has to notice that its bot is dead."""
PRELOADED = ["clawdbot.bench.chaos.victim", "clawdbot_discord", "clawdbot_telegram"]


class Victim:
    """One life of the bot."""

    def __init__(self, process: BaseProcess) -> None:
        self._process = process

    @classmethod
    async def start(cls, orders: Orders) -> "Victim":
        """Start the process; the bot in it connects when it is ready."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        process = context.Process(target=_live, args=(orders, os.getpid()), daemon=True)
        await asyncio.to_thread(process.start)
        return cls(process)

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process.pid is not None, "it was started"
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether nobody has killed it, nor has it ended by itself."""
        return self._process.is_alive()

    async def kill(self) -> int:
        """Kill it at this very moment; how many of its child processes are still there after `ENGINE_GONE`.

        Raises `AdapterError` when it is dead already.
        """
        pid = self.pid
        if not self.alive:
            raise AdapterError(f"The bot in process {pid} has ended by itself; what it said is above.")
        # Looking for its children takes time, in which nothing may happen any more.
        os.kill(pid, signal.SIGSTOP)
        children = psutil.Process(pid).children(recursive=True)
        os.kill(pid, signal.SIGKILL)
        await asyncio.to_thread(self._process.join)
        self._process.close()
        return await _left(children, ENGINE_GONE)


async def _left(processes: Sequence[psutil.Process], seconds: float) -> int:
    """How many of ``processes`` still run after so many seconds; returns early when none does."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while (running := sum(map(_runs, processes))) and loop.time() < end:  # noqa: ASYNC110 - no event tells of it
        await asyncio.sleep(0.01)
    return running


def _runs(process: psutil.Process) -> bool:
    """Whether it is there; one that has ended and that nobody has looked after yet is not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _live(orders: Orders, bench: int) -> None:
    """The process's own main function."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the bench ends this one
    listen()
    os.environ[PARENT] = str(bench)
    follow_parent()
    prepare_environment()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(orders))


async def _serve(orders: Orders) -> None:
    async with serving(orders, lambda: _engine(orders)):
        await asyncio.Event().wait()


@asynccontextmanager
async def _engine(orders: Orders) -> AsyncIterator[ScriptedEngine]:
    """An engine whose process is a child of this one, and dead when that is."""
    command = (sys.executable, "-m", "clawdbot.bench.chaos.engine")
    child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert child.stdout is not None, "it was asked for"
    if (await child.stdout.readline()).decode().strip() != READY:
        raise EngineUnavailable("The engine's process does not start.", "Look at what it says above.")
    engine = orders.engine()
    watching = asyncio.create_task(child.wait())
    watching.add_done_callback(lambda _: engine.die())
    try:
        yield engine
    finally:
        if child.returncode is None:
            child.kill()
        await watching
