"""The machine's time: nobody is woken before it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from clawdbot.clock import SystemClock


async def slept(seconds: float) -> float:
    clock = SystemClock()
    began = clock.now()
    await clock.sleep(seconds)
    return clock.now() - began


async def rung(seconds: float) -> float:
    clock, rang = SystemClock(), asyncio.Event()
    began = clock.now()
    clock.alarm(seconds, rang.set)
    await rang.wait()
    return clock.now() - began


@pytest.mark.parametrize("wait", [slept, rung])
def test_wait_is_never_too_short(wait: Callable[[float], Awaitable[float]]) -> None:
    """uvloop counts in whole milliseconds: it may take a wait of 1.4 for one of 1."""

    async def shortest() -> float:
        return min([await wait(0.0014) for _ in range(20)])

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(shortest()) >= 0.0014
