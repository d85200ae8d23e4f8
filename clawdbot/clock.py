"""Time as a value that can be passed in, so that logic never asks the machine and no test has to sleep."""

import asyncio
import time
from collections.abc import Awaitable
from typing import Protocol


class Clock(Protocol):
    """Where the core gets its time from."""

    def now(self) -> float:
        """Seconds on a monotonic clock, the one that vLLM's engine core stamps its events with."""
        ...

    def wall(self) -> float:
        """Seconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after ``seconds``; at once, but after one turn of the loop, when that is not positive."""
        ...


class SystemClock:
    """The machine's own time.

    ``time.monotonic`` is CLOCK_MONOTONIC on Linux, which all processes since boot share: the engine core's stamps and
    the core's stamps can be subtracted from each other.
    """

    def now(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))


async def until(event: asyncio.Event, seconds: float, clock: Clock) -> bool:
    """Wait for ``event``, ``seconds`` at most; whether it is set."""
    if not event.is_set() and seconds > 0:
        await within(seconds, event.wait(), clock)
    return event.is_set()


async def within(seconds: float, work: Awaitable[object], clock: Clock) -> None:
    """Wait for ``work``, ``seconds`` at most; then it is cancelled."""
    await first_of(work, clock.sleep(seconds))


async def first_of(*works: Awaitable[object]) -> None:
    """Return when one of ``works`` is done; the others are cancelled."""
    waiters = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiters:
            waiter.cancel()
