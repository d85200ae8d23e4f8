"""A simulated platform in a process of its own, so that its work is not done on the loop of the bot that is measured.

Both processes read the same monotonic clock, so their times compare.
"""

import asyncio
import multiprocessing
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import uvloop

from clawdbot.bench.measures import Seen, letters
from clawdbot.bench.scenes import Address, Platform, Scene, Tally, open_scene
from clawdbot.bench.trace import Question, Trace
from clawdbot.clock import SystemClock
from clawdbot.errors import AdapterError

PATIENCE = 30.0
"""Seconds that the last answer may be late."""


@dataclass(frozen=True, slots=True)
class Play:
    """What a platform's process is told to play."""

    platform: Platform
    trace: Trace
    rtt: float
    """The round trip of every call, in seconds."""
    settling: float
    """For how many seconds after the last complete answer the screens are watched: it could still be spoilt."""


@dataclass(frozen=True, slots=True)
class Record:
    """What happened on the platform: what was seen of each question's answer, by number, and the bot's calls."""

    seen: Mapping[int, Seen]
    tally: Tally


class Stage:
    """The process with the platform, from the side of the bot's process."""

    def __init__(self, address: Address, connection: Connection) -> None:
        self.address = address
        self._connection = connection

    async def play(self) -> Record:
        """Wait until the bot is connected, let the people ask, return when every answer is complete or given up.

        Raises `AdapterError` when the bot does not connect.
        """
        self._connection.send("play")
        record: Record = await _received(self._connection)
        return record


@asynccontextmanager
async def open_stage(play: Play) -> AsyncIterator[Stage]:
    """Start the process; it serves until the end of the block. Raises `AdapterError` when it fails."""
    processes = multiprocessing.get_context("spawn")
    here, there = processes.Pipe()
    process = processes.Process(target=_perform, args=(there, play), daemon=True)
    process.start()
    there.close()
    try:
        yield Stage(await _received(here), here)
    finally:
        # By now the record is here or nobody wants it any more, and the bot has taken its leave.
        process.kill()
        await asyncio.to_thread(process.join)
        process.close()
        here.close()


async def _received(connection: Connection) -> Any:
    try:
        return await asyncio.to_thread(connection.recv)
    except EOFError as error:
        raise AdapterError("The process with the simulated platform ended; what it said is above.") from error


def _perform(connection: Connection, play: Play) -> None:
    """The process's own main function."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the bench's process ends this one
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(connection, play))


async def _serve(connection: Connection, play: Play) -> None:
    async with open_scene(play.platform, places=len(play.trace.questions), rtt=play.rtt) as scene:
        connection.send(scene.address)
        with suppress(EOFError):  # the bench is gone
            await asyncio.to_thread(connection.recv)
            await scene.sim.online()
            connection.send(await observe(scene, play))
            await asyncio.to_thread(connection.recv)


async def observe(scene: Scene, play: Play) -> Record:
    """Let the people ask what the trace says, and look on until every answer is complete and has settled."""
    clock, trace = SystemClock(), play.trace
    began = clock.now()
    async with asyncio.TaskGroup() as group:
        for question in trace.questions:
            group.create_task(_ask(scene, question, began + question.at - clock.now()))
    await _complete(scene, trace)
    await clock.sleep(play.settling)
    return Record({question.number: scene.seen(question.number) for question in trace.questions}, scene.tally())


async def _ask(scene: Scene, question: Question, wait: float) -> None:
    await asyncio.sleep(wait)
    scene.ask(question.number, question.text)


async def _complete(scene: Scene, trace: Trace) -> None:
    """Return when the screens show every answer, or when none can be expected any more."""
    missing = {question.number: letters(question.answer) for question in trace.questions}

    def complete() -> bool:
        for number, answer in tuple(missing.items()):
            if letters("".join(part[-1].text for part in scene.seen(number).parts)) == answer:
                del missing[number]
        return not missing

    with suppress(TimeoutError):
        await scene.sim.until(complete, trace.seconds + PATIENCE)
