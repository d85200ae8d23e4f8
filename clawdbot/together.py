"""Work that belongs together: when a part of it fails, the rest is of no use."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def together() -> AsyncIterator[asyncio.TaskGroup]:
    """A task group that raises the first fault itself instead of a group of faults."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
