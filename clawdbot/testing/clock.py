"""A clock that moves only when it is told to."""

import asyncio
import heapq
import itertools
from collections.abc import Callable
from functools import partial
from math import inf

# How often the loop turns at every stop of the clock: enough for a chain of tasks and futures to come to rest.
TURNS = 20


class ManualAlarm:
    """An `Alarm` of a `ManualClock`."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring: Callable[[], None] | None = ring

    @property
    def pending(self) -> bool:
        """Whether it will ring."""
        return self._ring is not None

    def cancel(self) -> None:
        """See `Alarm`."""
        self._ring = None

    def ring(self) -> bool:
        """Ring, once, unless it was cancelled; whether it did."""
        ring, self._ring = self._ring, None
        if ring is not None:
            ring()
        return ring is not None


class ManualClock:
    """A `Clock` whose time is turned by hand; sleepers wake in the order of their times."""

    def __init__(self, start: float = 1000.0, epoch: float = 1_800_000_000.0) -> None:
        self._now = start
        self._epoch = epoch - start
        self._alarms: list[tuple[float, int, ManualAlarm]] = []
        self._count = itertools.count()

    def now(self) -> float:
        return self._now

    def wall(self) -> float:
        return self._epoch + self._now

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
        else:
            await self._sleep_by(partial(self.alarm, seconds))

    def alarm(self, seconds: float, ring: Callable[[], None]) -> ManualAlarm:
        if seconds > 0:
            return self._alarm_at(self._time_after(seconds), ring)
        alarm = ManualAlarm(ring)
        asyncio.get_running_loop().call_soon(alarm.ring)
        return alarm

    @property
    def wakes_at(self) -> float:
        """When the next sleeper wakes, seconds of `now`; infinite when nobody sleeps."""
        while self._alarms and not self._alarms[0][2].pending:
            heapq.heappop(self._alarms)
        return self._alarms[0][0] if self._alarms else inf

    async def settle(self) -> None:
        """Let everything run that needs no time to pass."""
        for _ in range(TURNS):
            await asyncio.sleep(0)

    async def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass; whoever sleeps until then wakes at its own time."""
        await self.settle()
        target = self._now + seconds
        while self._alarms and self._alarms[0][0] <= target:
            when, _, alarm = heapq.heappop(self._alarms)
            self._now = max(self._now, when)
            if alarm.ring():
                await self.settle()
        self._now = target
        await self.settle()

    def _time_after(self, seconds: float) -> float:
        return self._now + seconds

    def _alarm_at(self, when: float, ring: Callable[[], None]) -> ManualAlarm:
        alarm = ManualAlarm(ring)
        heapq.heappush(self._alarms, (when, next(self._count), alarm))
        return alarm

    async def _sleep_by(self, set_alarm: Callable[[Callable[[], None]], ManualAlarm]) -> None:
        woken = asyncio.get_running_loop().create_future()
        alarm = set_alarm(lambda: woken.set_result(None))
        try:
            await woken
        finally:
            alarm.cancel()
