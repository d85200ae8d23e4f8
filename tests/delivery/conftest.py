"""What the tests of delivery share: answers that are spoken word by word while the clock is turned for them."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import pytest

from clawdbot.chat import Reply, State
from clawdbot.delivery.live import LiveReply
from clawdbot.delivery.pace import Budgets
from clawdbot.testing.clock import ManualClock


@pytest.fixture
def budgets() -> Budgets:
    """The room that all replies of a test share."""
    return Budgets()


@pytest.fixture
def live(clock: ManualClock, budgets: Budgets) -> Callable[..., LiveReply]:
    """Makes a live reply for a `Reply`; options as `LiveReply` takes them."""

    def live(reply: Reply, **options: Any) -> LiveReply:
        return LiveReply(reply, **{"key": "k", "budgets": budgets, "clock": clock, **options})

    return live


@pytest.fixture
def play(clock: ManualClock) -> Callable[..., Awaitable[None]]:
    """Runs coroutines together to their ends and turns the clock as far as they need, a day at most."""

    async def play(*work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(asyncio.gather(*work))
        step = 0.5
        for _ in range(500):
            if task.done():
                break
            await clock.advance(step)
            step *= 1.02
        assert task.done(), "it takes more than a day"
        await task

    return play


@pytest.fixture
def speak(clock: ManualClock, live: Callable[..., LiveReply]) -> Callable[..., Coroutine[Any, Any, None]]:
    """Lets a model say words into a reply, ``rate`` a second, and finishes the answer."""

    async def speak(reply: Reply, words: Sequence[str], rate: float = 40.0, **options: Any) -> None:
        async with live(reply, **options) as answer:
            for count in range(1, len(words) + 1):
                answer.show("".join(words[:count]))
                await clock.sleep(1 / rate)
            await answer.finish("".join(words), State.FINAL)

    return speak
