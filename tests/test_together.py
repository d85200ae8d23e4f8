"""Work of which the rest is of no use when a part fails."""

import asyncio

import pytest

from clawdbot.errors import Unreadable
from clawdbot.ticket import Scope
from clawdbot.together import together


async def fail() -> None:
    await asyncio.sleep(0)
    raise Unreadable("no text")


async def forever() -> None:
    await asyncio.Event().wait()


async def test_the_first_fault_ends_the_others() -> None:
    with pytest.raises(Unreadable, match="no text"):
        async with together() as group:
            other = group.create_task(forever())
            group.create_task(fail())

    assert other.cancelled()


async def test_a_fault_ends_the_block() -> None:
    with pytest.raises(Unreadable, match="no text"):
        async with together() as group:
            group.create_task(fail())
            await forever()


@pytest.mark.parametrize("late", [False, True])
async def test_a_stop_behind_a_fault_ends_its_block_alone(late: bool) -> None:
    """Whether the group still had work of its own when it failed, or only waited: the task goes on."""
    scope = Scope()
    async with scope:
        with pytest.raises(Unreadable):
            async with together() as group:
                group.create_task(fail())
                if not late:
                    await forever()
        scope.end()
        await forever()
