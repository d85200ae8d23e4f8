"""An engine sleeps instead of being closed, where it can, and is another one for all who remember what it has read."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from clawdbot.engine.host import OpenEngine
from clawdbot.engine.protocol import Request, Sampling, exhaust
from clawdbot.engine.sleeping import sleeping
from clawdbot.errors import EngineUnavailable
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.engine import ScriptedEngine
from clawdbot.testing.rig import echo

QUESTION = Request("q", [-1, -3, ord("?"), -5, -1, -4], Sampling(8))


class Stall:
    """Opens engines, and counts those that were closed."""

    def __init__(self, clock: ManualClock, *, can_sleep: bool = True) -> None:
        self.engines: list[ScriptedEngine] = []
        self.closed = 0
        self._clock = clock
        self._can_sleep = can_sleep

    @asynccontextmanager
    async def open(self) -> AsyncIterator[ScriptedEngine]:
        self.engines.append(ScriptedEngine(echo, self._clock, can_sleep=self._can_sleep))
        try:
            yield self.engines[-1]
        finally:
            self.closed += 1


async def test_it_sleeps_between_two_blocks(clock: ManualClock) -> None:
    """The same process, woken; to those who use it another engine, since it has forgotten all that it had read."""
    stall = Stall(clock)
    async with sleeping(stall.open) as open_engine:
        async with open_engine() as first:
            await exhaust(first, QUESTION)
        (engine,) = stall.engines
        asleep = (engine.asleep, stall.closed)
        async with open_engine() as second:
            await exhaust(second, QUESTION)
            awake = engine.asleep

    assert (asleep, awake) == ((True, 0), False)
    assert first is not second
    assert len(engine.requests) == 2
    assert stall.closed == 1


async def test_one_that_cannot_sleep_is_closed(clock: ManualClock) -> None:
    """Which gives its memory back, too."""
    stall = Stall(clock, can_sleep=False)
    async with sleeping(stall.open) as open_engine:
        async with open_engine():
            pass
        closed = stall.closed
        async with open_engine():
            pass

    assert (closed, len(stall.engines)) == (1, 2)


async def test_a_dead_one_is_not_put_to_sleep(clock: ManualClock) -> None:
    stall = Stall(clock)
    async with sleeping(stall.open) as open_engine:
        async with open_engine() as engine:
            stall.engines[0].die()
            await engine.died()
        assert stall.closed == 1
        async with open_engine():
            assert len(stall.engines) == 2


async def test_one_that_died_in_its_sleep_is_opened_anew(clock: ManualClock) -> None:
    stall = Stall(clock)
    async with sleeping(stall.open) as open_engine:
        async with open_engine():
            pass
        stall.engines[0].die()
        async with open_engine() as engine:
            await exhaust(engine, QUESTION)

    assert [len(each.requests) for each in stall.engines] == [0, 1]
    assert stall.closed == 2


@pytest.mark.parametrize("doing", ["sleep", "wake"])
async def test_one_that_dies_on_the_way_to_sleep_or_back_is_opened_anew(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch, doing: str
) -> None:
    """vLLM answers nothing then, and questions would wait for ever."""
    stall, begun = Stall(clock), asyncio.Event()

    async def no_answer(self: ScriptedEngine) -> None:
        begun.set()
        await asyncio.Event().wait()

    async def twice(open_engine: OpenEngine) -> None:
        for _ in range(2):
            async with open_engine() as engine:
                await exhaust(engine, QUESTION)

    monkeypatch.setattr(ScriptedEngine, doing, no_answer)
    async with sleeping(stall.open) as open_engine, asyncio.timeout(10):
        asking = asyncio.create_task(twice(open_engine))
        await begun.wait()
        stall.engines[0].die()
        begun.clear()
        if doing == "sleep":
            await begun.wait()  # the next one's turn to sleep
            stall.engines[1].die()
        await asking

    assert [len(engine.requests) for engine in stall.engines] == [1, 1]
    assert stall.closed == 2


async def test_one_that_cannot_be_woken_is_closed(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """What keeps it from waking comes out, as what keeps one from being opened does; the next try begins anew."""

    async def fail() -> None:
        raise EngineUnavailable("There is not enough memory.", "Free some.")

    stall = Stall(clock)
    async with sleeping(stall.open) as open_engine:
        async with open_engine():
            pass
        monkeypatch.setattr(stall.engines[0], "wake", fail)
        with pytest.raises(EngineUnavailable):
            await open_engine().__aenter__()
        assert stall.closed == 1
        async with open_engine():
            assert len(stall.engines) == 2


async def test_the_end_of_the_bot_closes_it_awake_or_asleep(clock: ManualClock) -> None:
    """Also when whoever has it open is cancelled: then it does not go to sleep first."""
    stall = Stall(clock)

    async def use() -> None:
        async with sleeping(stall.open) as open_engine, open_engine():
            await asyncio.Event().wait()

    using = asyncio.create_task(use())
    await clock.settle()
    using.cancel()
    await asyncio.wait((using,))

    assert (stall.closed, stall.engines[0].naps) == (1, 0)
