"""Small calls keep away from Telegram as long as it asks for that."""

from collections.abc import Iterator

import pytest
from telegram.error import NetworkError, RetryAfter, TelegramError

from clawdbot.testing.clock import ManualClock
from clawdbot_telegram.errands import Errands


class Calls:
    """A call that meets ``troubles``, one each time, and notes when it was made."""

    def __init__(self, clock: ManualClock, *troubles: TelegramError) -> None:
        self._clock = clock
        self._troubles: Iterator[TelegramError] = iter(troubles)
        self.made: list[float] = []

    async def __call__(self) -> None:
        self.made.append(self._clock.now())
        if trouble := next(self._troubles, None):
            raise trouble


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(start=0.0)


@pytest.fixture(autouse=True)
def _times_are_timedeltas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTB_TIMEDELTA", "true")


async def test_after_a_refusal_none_is_made_until_its_wait_is_over(clock: ManualClock) -> None:
    errands = Errands(clock)
    refused, other = Calls(clock, RetryAfter(30)), Calls(clock)
    errands.run(refused)
    await clock.advance(29.0)
    errands.run(other)
    await clock.advance(2.0)
    assert other.made == []
    errands.run(other)
    await clock.settle()
    assert (refused.made, other.made) == ([0.0], [31.0])


async def test_one_that_still_matters_then_is_made_after_the_wait(clock: ManualClock) -> None:
    """A menu, say; a press that was not acknowledged for so long is forgotten by Telegram itself."""
    errands = Errands(clock)
    menu = Calls(clock, RetryAfter(30), RetryAfter(280))
    errands.run(menu, late=True)
    await clock.advance(1000.0)
    assert menu.made == [0.0, 30.0, 310.0]


async def test_any_other_failure_does_no_harm(clock: ManualClock) -> None:
    errands = Errands(clock)
    menu = Calls(clock, NetworkError("Bad Gateway"))
    errands.run(menu, late=True)
    await clock.advance(1000.0)
    assert menu.made == [0.0]


async def test_those_under_way_can_be_given_up(clock: ManualClock) -> None:
    errands = Errands(clock)
    menu = Calls(clock, RetryAfter(30))
    errands.run(menu, late=True)
    await clock.advance(1.0)
    errands.cancel()
    await clock.advance(1000.0)
    assert menu.made == [0.0]
