"""What the tests of several benches share."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clawdbot.testing.clock import ManualClock

Through = Callable[[Awaitable[Any]], Awaitable[Any]]


@pytest.fixture
def through(clock: ManualClock) -> Through:
    """Lets as much time pass as some work takes, and returns what it does."""

    async def wait(work: Awaitable[Any]) -> Any:
        task = asyncio.ensure_future(work)
        await clock.settle()
        while not task.done():
            await clock.advance(clock.wakes_at - clock.now())
        return await task

    return wait
