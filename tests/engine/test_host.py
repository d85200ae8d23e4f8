"""An engine is kept running: opened in the background, opened again when it dies, waited for meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from clawdbot.abilities import Phase
from clawdbot.engine.host import FIRST_PAUSE, LONGEST_PAUSE, EngineHost
from clawdbot.errors import ConfigError, EngineDown, EngineUnavailable
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.engine import ScriptedEngine
from clawdbot.testing.rig import echo


class Garage:
    """Opens engines one after the other; what an opening raises instead is said beforehand."""

    def __init__(self, clock: ManualClock, *troubles: BaseException | None, closing: float = 0.0) -> None:
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


async def test_nobody_waits_for_one_that_could_not_be_opened_where_others_can_be_asked(clock: ManualClock) -> None:
    """Who waits already is told as well; as soon as it is there it answers."""
    garage = Garage(clock, NO_MEMORY)
    host = EngineHost(garage.open, clock, patient=False)
    waiting = asyncio.create_task(host.engine())
    await clock.settle()
    with pytest.raises(EngineUnavailable):
        await host.run()
    with pytest.raises(EngineDown):
        await waiting
    with pytest.raises(EngineDown):
        await host.engine()

    running = asyncio.create_task(host.run())
    await clock.settle()
    assert await host.engine() is garage.engines[0]
    running.cancel()


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


async def test_a_cancellation_inside_of_it_does_not_end_the_host(clock: ManualClock) -> None:
    """It was not told to end, and without it nobody would ever be answered again."""
    garage = Garage(clock, None, asyncio.CancelledError())
    host = EngineHost(garage.open, clock)
    running = asyncio.create_task(host.run())
    await clock.settle()
    garage.engines[0].die()
    await clock.advance(10.0)

    assert not running.done()
    assert len(garage.tries) == 3
    assert host.ready
    running.cancel()


async def test_a_first_opening_that_is_cut_off_comes_out(clock: ManualClock) -> None:
    """A cancelled task is no fault to a group of tasks: the bot would run on without an engine."""
    with pytest.raises(EngineUnavailable):
        await asyncio.create_task(EngineHost(Garage(clock, asyncio.CancelledError()).open, clock).run())


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


# Sleep


async def test_an_engine_that_nobody_needs_is_closed_until_somebody_does(clock: ManualClock) -> None:
    """After so many seconds, and not while one that was closed is still being waited for."""
    garage = Garage(clock, closing=5.0)
    host = EngineHost(garage.open, clock, sleep_after=60.0)
    running = asyncio.create_task(host.run())
    await host.engine()
    await clock.advance(59.0)
    before = host.phase
    await clock.advance(1.0 + 5.0)
    asleep = (host.phase, host.ready, garage.closed)
    await clock.advance(3600.0)
    with host.needed():
        assert await host.engine() is garage.engines[1]

    assert (before, asleep) == (Phase.READY, (Phase.ASLEEP, False, 1))
    assert len(garage.tries) == 2
    running.cancel()


async def test_an_engine_that_is_needed_stays_awake(clock: ManualClock) -> None:
    """However long that takes; the time begins when the last one has gone."""
    garage = Garage(clock)
    host = EngineHost(garage.open, clock, sleep_after=60.0)
    running = asyncio.create_task(host.run())
    with host.needed():
        await clock.advance(30.0)
        with host.needed():
            await clock.advance(3600.0)
        await clock.advance(3600.0)
        assert host.ready
    await clock.advance(59.0)
    assert host.ready
    await clock.advance(1.0)

    assert host.phase is Phase.ASLEEP
    running.cancel()


async def test_whoever_comes_while_it_falls_asleep_has_the_next_one(clock: ManualClock) -> None:
    """Closing takes a while; it is opened again right behind it, without a pause."""
    garage = Garage(clock, closing=5.0)
    host = EngineHost(garage.open, clock, sleep_after=60.0)
    running = asyncio.create_task(host.run())
    await clock.advance(61.0)
    waiting = asyncio.create_task(host.engine())
    await clock.advance(3.9)
    assert not waiting.done()
    await clock.advance(0.1)

    assert await waiting is garage.engines[1]
    assert garage.tries == [1000.0, 1065.0]
    running.cancel()


async def test_whoever_comes_at_the_last_moment_keeps_it_awake(clock: ManualClock) -> None:
    """In the very turn of the loop in which its time is over: an engine that was handed out is not closed."""
    garage = Garage(clock)
    host = EngineHost(garage.open, clock, sleep_after=60.0)
    running = asyncio.create_task(host.run())

    async def come(turns: int) -> None:
        await clock.sleep(60.0)
        for _ in range(turns):
            await asyncio.sleep(0)
        with host.needed():
            engine = await host.engine()
            await clock.sleep(10.0)
            assert engine is garage.engines[-1]
            assert host.ready

    await clock.settle()
    for turns in range(12):
        coming = asyncio.create_task(come(turns))
        await clock.advance(120.0)
        assert coming.done()
        await coming

    running.cancel()


async def test_one_that_cannot_be_woken_is_tried_again(clock: ManualClock) -> None:
    """Others may have taken the memory; whoever waits is told the truth."""
    garage = Garage(clock, None, NO_MEMORY, NO_MEMORY)
    host = EngineHost(garage.open, clock, sleep_after=60.0)
    running = asyncio.create_task(host.run())
    await clock.advance(60.0)
    waiting = asyncio.create_task(host.engine())
    await clock.settle()
    assert host.phase is Phase.DOWN
    await clock.advance(3.0)

    assert await waiting is garage.engines[1]
    running.cancel()


async def test_who_watches_is_told_of_every_phase(clock: ManualClock) -> None:
    garage = Garage(clock)
    host = EngineHost(garage.open, clock, sleep_after=60.0)
    seen = [host.phase]
    host.on_change = lambda: seen.append(host.phase) if seen[-1] is not host.phase else None
    running = asyncio.create_task(host.run())
    await clock.advance(60.0)
    await host.engine()
    garage.engines[1].die()
    await clock.advance(FIRST_PAUSE)

    phases = [Phase.LOADING, Phase.READY, Phase.ASLEEP, Phase.WAKING, Phase.READY, Phase.RESTARTING, Phase.READY]
    assert seen == phases
    running.cancel()


@asynccontextmanager
async def hanging() -> AsyncIterator[ScriptedEngine]:
    """An engine whose servers cannot be reached."""
    await asyncio.Event().wait()
    yield ScriptedEngine(echo, ManualClock())


async def test_one_that_is_overdue_is_down_and_comes_up_all_the_same(clock: ManualClock) -> None:
    """Nobody has to wait through a long opening to be told that the servers cannot be reached."""
    there = asyncio.Event()

    @asynccontextmanager
    async def late() -> AsyncIterator[ScriptedEngine]:
        await there.wait()
        yield ScriptedEngine(echo, clock)

    host = EngineHost(late, clock, overdue_after=20.0, patient=False)
    running = asyncio.create_task(host.run())
    waiting = asyncio.create_task(host.engine())
    await clock.advance(19.0)
    before = (host.phase, waiting.done())
    await clock.advance(2.0)
    with pytest.raises(EngineDown):
        await waiting
    overdue = (host.phase, host.failed)
    there.set()
    await clock.settle()

    assert before == (Phase.LOADING, False)
    assert overdue == (Phase.DOWN, False)
    assert (host.phase, host.ready, running.done()) == (Phase.READY, True, False)
    await clock.advance(60.0)
    assert host.phase is Phase.READY
    running.cancel()


async def test_one_on_this_machine_may_load_for_long(clock: ManualClock) -> None:
    host = EngineHost(hanging, clock)
    running = asyncio.create_task(host.run())
    await clock.advance(600.0)

    assert host.phase is Phase.LOADING
    running.cancel()
