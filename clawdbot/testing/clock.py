"""A clock that moves only when it is told to."""

import asyncio
import heapq
import itertools
from math import inf

# How often the loop turns at every stop of the clock: enough for a chain of tasks and futures to come to rest.
TURNS = 20


class ManualClock:
    """A `Clock` whose time is turned by hand; sleepers wake in the order of their times."""

    def __init__(self, start: float = 1000.0, epoch: float = 1_800_000_000.0) -> None:
        self._now = start
        self._epoch = epoch - start
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = itertools.count()

    def now(self) -> float:
        return self._now

    def wall(self) -> float:
        return self._epoch + self._now

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
        else:
            await self._sleep_until(self._now + seconds)

    @property
    def wakes_at(self) -> float:
        """When the next sleeper wakes, seconds of `now`; infinite when nobody sleeps."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else inf

    async def settle(self) -> None:
        """Let everything run that needs no time to pass."""
        for _ in range(TURNS):
            await asyncio.sleep(0)

    async def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass; whoever sleeps until then wakes at its own time."""
        await self.settle()
        target = self._now + seconds
        while self._sleepers and self._sleepers[0][0] <= target:
            when, _, sleeper = heapq.heappop(self._sleepers)
            self._now = max(self._now, when)
            if not sleeper.done():
                sleeper.set_result(None)
                await self.settle()
        self._now = target
        await self.settle()

    async def _sleep_until(self, when: float) -> None:
        sleeper = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (when, next(self._count), sleeper))
        await sleeper
