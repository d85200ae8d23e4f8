"""Time as a value that can be passed in, so that logic never asks the machine and no test has to sleep."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol


class Alarm(Protocol):
    """Something that will be called at its time."""

    def cancel(self) -> None:
        """Call it no more; after it was called, do nothing."""
        ...


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

    def alarm(self, seconds: float, ring: Callable[[], None]) -> Alarm:
        """Call ``ring`` after ``seconds``, never before this returns."""
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
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        over = asyncio.Event()
        alarm = self.alarm(seconds, over.set)
        try:
            await over.wait()
        finally:
            alarm.cancel()

    def alarm(self, seconds: float, ring: Callable[[], None]) -> Alarm:
        return _Alarm(self, self.now() + seconds, ring)


class _Alarm:
    """Never rings too early, as a loop may that counts in whole milliseconds (uvloop does)."""

    __slots__ = ("_at", "_clock", "_handle", "_loop", "_ring")

    def __init__(self, clock: Clock, at: float, ring: Callable[[], None]) -> None:
        self._clock, self._at, self._ring = clock, at, ring
        self._loop = asyncio.get_running_loop()
        self._handle = self._loop.call_later(max(0.0, at - clock.now()), self._due)

    def cancel(self) -> None:
        self._handle.cancel()

    def _due(self) -> None:
        if (left := self._at - self._clock.now()) > 0:
            self._handle = self._loop.call_later(left, self._due)
        else:
            self._ring()


async def until(event: asyncio.Event, seconds: float, clock: Clock) -> bool:
    """Wait for ``event``, ``seconds`` at most; whether it is set."""
    if not event.is_set() and seconds > 0:
        await within(seconds, event.wait(), clock)
    return event.is_set()


async def within(seconds: float, work: Awaitable[object], clock: Clock) -> None:
    """Wait for ``work``, ``seconds`` at most; then it is cancelled.

    Without a task of its own: an answer waits dozens of times, and a thousand answers at once.
    """
    limit = asyncio.timeout(None)
    try:
        async with limit:
            alarm = clock.alarm(seconds, lambda: limit.reschedule(0.0))
            try:
                await work
            finally:
                alarm.cancel()
    except TimeoutError:
        if not limit.expired():  # it is what the work itself raised
            raise


async def first_of(*works: Awaitable[object]) -> None:
    """Return when one of ``works`` is done; the others are cancelled."""
    waiters = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiters:
            waiter.cancel()
