import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event

import pytest

from clawdbot.testing.virtual_time import STEP, Player, Stuck, VirtualClock, VirtualLoop

LONG = 10.0
"""Seconds that a thread waits at most for what has to come at once."""
TURNS = 100
"""Of the loop: more than a look takes whether time may pass."""


class Watched(VirtualLoop):
    """Tells threads when it was idle."""

    def __init__(self) -> None:
        super().__init__()
        self.noticed = Event()

    async def idle(self) -> None:
        await super().idle()
        self.noticed.set()


def of_threads() -> Awaitable[object]:
    """Asks a thread for nothing."""
    return asyncio.to_thread(int)


def play(perform: Callable[[Player], Awaitable[object]], flush: Callable[[], Awaitable[object]] = of_threads) -> object:
    """Let ``perform`` run in virtual time."""

    async def run() -> object:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        player = Player(VirtualClock(), loop, flush)
        return await player.play(perform(player))

    with asyncio.Runner(loop_factory=Watched) as runner:
        return runner.run(run())


def test_an_hour_takes_no_time() -> None:
    async def perform(player: Player) -> float:
        began = player.clock.now()
        await player.clock.sleep(3600)
        return player.clock.now() - began

    began = time.monotonic()
    passed = play(perform)

    assert passed == pytest.approx(3600, abs=STEP)
    assert time.monotonic() - began < 60


def test_sleepers_wake_in_the_order_of_their_times() -> None:
    async def perform(player: Player) -> list[float]:
        woken: list[float] = []

        async def sleep(seconds: float) -> None:
            await player.clock.sleep(seconds)
            woken.append(seconds)

        await asyncio.gather(*(sleep(seconds) for seconds in (7.0, 0.3, 60.0, 1.0)))
        return woken

    assert play(perform) == [0.3, 1.0, 7.0, 60.0]


def test_nobody_wakes_too_early() -> None:
    """Whoever then sleeps for the rest, a rounding, would do so for ever."""

    async def perform(player: Player) -> bool:
        early = False
        for number in range(200):
            end = player.clock.now() + number / 700
            await player.clock.sleep(end - player.clock.now())
            early = early or player.clock.now() < end
        return early

    assert play(perform) is False


def test_no_time_passes_while_a_thread_works() -> None:
    """The flush comes behind the work in the same thread; the work ends only when time would pass."""
    looked = Event()

    def flush() -> Awaitable[object]:
        looked.set()
        return of_threads()

    async def perform(player: Player) -> float:
        asyncio.get_running_loop().set_default_executor(executor)
        other = asyncio.create_task(player.clock.sleep(10))
        began = player.clock.now()
        await asyncio.to_thread(looked.wait, LONG)
        passed = player.clock.now() - began
        await other
        return passed

    with ThreadPoolExecutor(max_workers=1) as executor:
        assert play(perform, flush) == 0


def test_no_time_passes_in_a_pause() -> None:
    """The loop is idle in it: outside time would pass at once, as the flush has nothing to wait for."""

    async def perform(player: Player) -> float:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Watched)
        other = asyncio.create_task(player.clock.sleep(10))
        async with player.paused():
            began = player.clock.now()
            loop.noticed.clear()
            await asyncio.to_thread(loop.noticed.wait, LONG)
            for _ in range(TURNS):
                await asyncio.sleep(0)
            passed = player.clock.now() - began
        await other
        return passed

    assert play(perform, partial(asyncio.sleep, 0)) == 0


def test_a_wait_that_can_never_end_is_told() -> None:
    async def perform(player: Player) -> None:
        await asyncio.Event().wait()

    with pytest.raises(Stuck):
        play(perform)
