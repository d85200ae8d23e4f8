"""Waiting in real time for what other parties do, with an end, and with words for what was there instead."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from inspect import isawaitable
from typing import Any, TypeVar, overload

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds: more than a start of a process takes on a busy machine."""
GLANCE = 0.02
"""Seconds between two looks at something that tells nobody when it changes."""


@asynccontextmanager
async def patience(seconds: float, there: Callable[[], object]) -> AsyncIterator[None]:
    """A block that may take so many seconds. Raises TimeoutError, which says what was ``there`` when they were over."""
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise TimeoutError(f"It did not come within {seconds:g} s. What was there: {there()}") from error


@overload
async def polled(look: Callable[[], Awaitable[T | None]], seconds: float = ...) -> T: ...
@overload
async def polled(look: Callable[[], T | None], seconds: float = ...) -> T: ...
async def polled(look: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """What ``look`` gives as soon as that is something true, for what no event tells of: processes, other servers.

    Raises TimeoutError, which says what was seen last.
    """
    seen: object = None
    async with patience(seconds, lambda: seen):
        while True:
            looked = look()
            if seen := await looked if isawaitable(looked) else looked:
                return seen
            await asyncio.sleep(GLANCE)
