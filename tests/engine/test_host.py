"""An engine is kept running: opened in the background, opened again when it dies, waited for meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from clawdbot.engine.host import FIRST_PAUSE, LONGEST_PAUSE, EngineHost
from clawdbot.errors import ConfigError, EngineUnavailable
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.engine import ScriptedEngine
from clawdbot.testing.rig import echo


class Garage:
    """Opens engines one after the other; what an opening raises instead is said beforehand."""

    def __init__(self, clock: ManualClock, *troubles: Exception | None, closing: float = 0.0) -> None:
        """``troubles``: for each opening in turn, None where it works; ``closing``: seconds that an engine takes."""
        self.engines: list[ScriptedEngine] = []
        self.tries: list[float] = []
        """When each opening began."""
        self.closed = 0
        self._clock = clock
        self._troubles = list(troubles)
        self._closing = closing

    @asynccontextmanager
    async def open(self) -> AsyncIterator[ScriptedEngine]:
        """What an `EngineHost` opens."""
        self.tries.append(self._clock.now())
        trouble = self._troubles.pop(0) if self._troubles else None
        if trouble is not None:
            raise trouble
        engine = ScriptedEngine(echo, self._clock)
        self.engines.append(engine)
        try:
            yield engine
        finally:
            await self._clock.sleep(self._closing)
            self.closed += 1


NO_MEMORY = EngineUnavailable("There is not enough memory.", "Free some.")


async def test_whoever_waits_gets_the_engine_when_it_is_there(clock: ManualClock) -> None:
    garage = Garage(clock)
    host = EngineHost(garage.open, clock)
    waiting = [asyncio.create_task(host.engine()) for _ in range(3)]
    await clock.settle()
    before = (host.ready, host.info)
    running = asyncio.create_task(host.run())
    await clock.settle()

    assert before == (False, None)
    assert [task.result() for task in waiting] == garage.engines * 3
    assert (host.ready, host.info) == (True, garage.engines[0].info)
    running.cancel()


async def test_a_dead_engine_is_opened_again(clock: ManualClock) -> None:
    """Who found it dead gets the next one, not the same; what it was stays known."""
    garage = Garage(clock, closing=5.0)
    host = EngineHost(garage.open, clock)
    running = asyncio.create_task(host.run())
    dead = await host.engine()
    waiting = asyncio.create_task(host.engine(instead_of=dead))
    garage.engines[0].die()
    await clock.settle()
    assert not host.ready
    assert host.info == garage.engines[0].info
    await clock.advance(5.0 + FIRST_PAUSE)

    assert await waiting is garage.engines[1]
    running.cancel()


async def test_a_found_death_is_believed_before_the_host_knows(clock: ManualClock) -> None:
    """An answer can meet the dead engine first; it must not be handed out to it again."""
    garage = Garage(clock)
    host = EngineHost(garage.open, clock)
    running = asyncio.create_task(host.run())
    engine = await host.engine()
    waiting = asyncio.create_task(host.engine(instead_of=engine))
    await clock.settle()

    assert not waiting.done()
    assert await host.engine() is engine
    waiting.cancel()
    running.cancel()


@pytest.mark.parametrize("trouble", [NO_MEMORY, ConfigError("[engine.args]", "no such argument"), KeyError("a bug")])
async def test_what_the_first_opening_fails_with_comes_out(clock: ManualClock, trouble: Exception) -> None:
    """The admin has to mend it."""
    host = EngineHost(Garage(clock, trouble).open, clock)

    with pytest.raises(type(trouble)):
        await host.run()
    assert not host.ready


@pytest.mark.parametrize("trouble", [NO_MEMORY, KeyError("a bug")])
async def test_later_openings_are_tried_again_for_good(clock: ManualClock, trouble: Exception) -> None:
    """With growing pauses; the bot stays online meanwhile."""
    garage = Garage(clock, None, *[trouble] * 10)
    host = EngineHost(garage.open, clock)
    running = asyncio.create_task(host.run())
    await host.engine()
    garage.engines[0].die()
    await clock.advance(1000.0)

    pauses = [after - before for before, after in zip(garage.tries[1:], garage.tries[2:], strict=False)]
    assert pauses == [2.0, 4.0, 8.0, 16.0, 32.0, *[LONGEST_PAUSE] * 5]
    assert host.ready
    running.cancel()


async def test_an_engine_that_worked_is_restarted_soon(clock: ManualClock) -> None:
    """Pauses grow from one failure to the next, not from one death to the next."""
    garage = Garage(clock)
    host = EngineHost(garage.open, clock)
    running = asyncio.create_task(host.run())
    for _ in range(3):
        await clock.advance(100.0)
        garage.engines[-1].die()
        await clock.advance(FIRST_PAUSE)
        assert host.ready

    running.cancel()


async def test_the_engine_is_closed_with_the_host(clock: ManualClock) -> None:
    garage = Garage(clock)
    host = EngineHost(garage.open, clock)
    running = asyncio.create_task(host.run())
    await host.engine()
    running.cancel()
    await asyncio.wait({running})

    assert garage.closed == 1
    assert not host.ready
