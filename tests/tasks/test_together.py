"""Work of which the rest is of no use when a part fails."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import pytest

from clawdbot.errors import Unreadable
from clawdbot.sessions.ticket import Scope
from clawdbot.tasks.together import together


async def fail() -> None:
    await asyncio.sleep(0)
    raise Unreadable("no text")


async def forever() -> None:
    await asyncio.Event().wait()


async def broken(*beside: Coroutine[Any, Any, None], busy: bool) -> list[asyncio.Task[None]]:
    """A group that fails, while it is ``busy`` itself or only waits; the tasks ``beside`` the one that fails."""
    others: list[asyncio.Task[None]] = []
    with suppress(Unreadable):
        async with together() as group:
            others += [group.create_task(work) for work in beside]
            group.create_task(fail())
            if busy:
                await forever()
    return others


@pytest.mark.parametrize("busy", [False, True])
async def test_a_fault_ends_the_others_and_the_block(busy: bool) -> None:
    (other,) = await broken(forever(), busy=busy)

    assert other.cancelled()


@pytest.mark.parametrize("busy", [False, True])
async def test_a_stop_behind_a_fault_ends_its_block_alone(busy: bool) -> None:
    """The task goes on behind it."""
    scope = Scope()
    async with scope:
        await broken(busy=busy)
        scope.end()
        await forever()
