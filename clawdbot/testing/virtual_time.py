"""Virtual time: it stands still while anything has something to do, and then jumps to whoever wakes next.

Answers that take an hour are played in seconds, and the same seed plays the same, however busy the machine is.
"""

import asyncio
import heapq
import selectors
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import Context
from functools import partial
from math import ceil, inf
from typing import TypeVar, TypeVarTuple

from clawdbot.errors import ClawdBotError
from clawdbot.testing.clock import ManualClock

STEP = 0.05
"""Sleepers wake at multiples of so many seconds: fewer stops of the clock."""
SAMPLES = 5
"""So many times is looked how many results a flush brings when nothing else comes."""

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class Stuck(ClawdBotError):
    """Everybody waits and nobody sleeps: nothing would ever happen any more."""


class VirtualClock(ManualClock):
    """A `ManualClock` that moves from one sleeper to the next when `wake` is called."""

    async def sleep_alone(self, seconds: float) -> None:
        """Wake between two steps, when nobody else does."""
        when = ceil((self._now + seconds) / STEP) * STEP + STEP / 2
        await self._sleep_by(partial(self._alarm_at, when))

    def wake(self) -> bool:
        """Move on to the next time at which anybody wakes; False when nobody sleeps."""
        if (wakes_at := self.wakes_at) == inf:
            return False
        self._now = max(self._now, wakes_at)
        while self._alarms and self._alarms[0][0] <= self._now:
            heapq.heappop(self._alarms)[2].ring()
        return True

    def _time_after(self, seconds: float) -> float:
        """Not sooner, and later by less than a `STEP`."""
        end = self._now + seconds
        when = ceil(end / STEP) * STEP
        # Never too early by a rounding: whoever then sleeps for the rest would do so for ever.
        return when if when >= end else when + STEP


class _Selector(selectors.DefaultSelector):
    """Tells when the loop would wait: nothing is left to do for it."""

    def __init__(self) -> None:
        super().__init__()
        self.waiter: asyncio.Future[None] | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if (timeout is None or timeout > 0) and self.waiter is not None:
            events = super().select(0)
            if not events:
                self.waiter.set_result(None)
                self.waiter = None
            return events
        return super().select(timeout)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that knows when it is idle. Threads may still work for it."""

    def __init__(self) -> None:
        self._idle_selector = _Selector()
        self.arrivals = 0
        """How many results threads have brought so far."""
        super().__init__(self._idle_selector)

    async def idle(self) -> None:
        """Return when the loop has nothing to do but wait for threads and time; one caller at a time."""
        self._idle_selector.waiter = waiter = self.create_future()
        await waiter

    def call_soon_threadsafe(
        self, callback: Callable[[*Arguments], object], *args: *Arguments, context: Context | None = None
    ) -> asyncio.Handle:
        """See asyncio; counted in `arrivals`."""
        self.arrivals += 1
        return super().call_soon_threadsafe(callback, *args, context=context)


class Player:
    """Lets virtual time pass in a `VirtualLoop`, never while a thread is at work.

    ``flush`` returns when whatever was asked of any thread before is done, and brings the same number of results every
    time when nothing was.
    """

    def __init__(self, clock: VirtualClock, loop: VirtualLoop, flush: Callable[[], Awaitable[object]]) -> None:
        self.clock = clock
        self._loop = loop
        self._flush = flush
        self._own: int | None = None
        """How many results ``flush`` brings by itself; None when that is to be found out."""
        self._running = asyncio.Event()
        self._running.set()

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """No time passes inside; what ``flush`` does may be another thing afterwards."""
        self._running.clear()
        try:
            yield
        finally:
            self._own = None
            self._running.set()

    async def play(self, work: Awaitable[T]) -> T:
        """Let as much time pass as ``work`` takes. Raises `Stuck`."""
        task = asyncio.ensure_future(work)
        while not task.done():
            await self._loop.idle()
            if not self._running.is_set():
                await self._running.wait()
            elif await self._quiet() and not task.done() and self._running.is_set() and not self.clock.wake():
                raise Stuck("The bot neither works nor waits for a time to come.")
        return await task

    async def _quiet(self) -> bool:
        """Whether no thread had anything to do."""
        if self._own is None:
            self._own = min([await self._brought() for _ in range(SAMPLES)])
        return await self._brought() <= self._own

    async def _brought(self) -> int:
        before = self._loop.arrivals
        await self._flush()
        return self._loop.arrivals - before
