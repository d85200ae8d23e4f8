"""Work that belongs together: when a part of it fails, the rest is of no use."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def together() -> AsyncIterator[asyncio.TaskGroup]:
    """A task group that raises the first fault itself instead of a group of faults."""
    task, waits = asyncio.current_task(), False
    try:
        async with asyncio.TaskGroup() as group:
            yield group
            waits = True
    except BaseExceptionGroup as failed:
        # Before 3.13 a group that fails while it waits for its end leaves one cancellation too many in its task's
        # count: a stop that comes behind it (`sessions.ticket.Scope`) would be taken for the end of the whole task.
        if task is not None and waits and sys.version_info < (3, 13):
            task.uncancel()
        raise failed.exceptions[0] from None
