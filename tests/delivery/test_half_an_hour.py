"""Half an hour of answers, with each adapter's own limits, under the simulated platforms' own windows."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import ceil
from random import Random
from typing import Protocol

import pytest
from pydantic import SecretStr

from clawdbot.chat import Frame, Limits, State
from clawdbot.clock import Clock
from clawdbot.delivery.live import LiveReply
from clawdbot.delivery.pace import Budgets
from clawdbot.errors import Limited
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.discord.windows import Rates, Windows
from clawdbot.testing.telegram.rules import Allowance, Budget
from clawdbot_discord import DiscordSettings
from clawdbot_telegram import TelegramSettings
from clawdbot_telegram.render import Renderer

Play = Callable[..., Awaitable[None]]

MINUTES = 30
WORDS = "word " * 10
"""What an answer grows by every second."""


class Platform(Protocol):
    """What a simulated platform allows."""

    def limits(self, chat: int) -> Limits:
        """What the adapter knows of it."""
        ...

    def take(self, kind: str, chat: int, now: float) -> bool:
        """Count a call; whether it is let through."""
        ...


class Discord:
    """Windows that begin with a call: one for each channel and kind, and one for the bot."""

    def __init__(self) -> None:
        self._settings = DiscordSettings(token=SecretStr("t"))
        self._windows = Windows(Rates())

    def limits(self, chat: int) -> Limits:
        return self._settings.limits(chat)

    def take(self, kind: str, chat: int, now: float) -> bool:
        window = self._windows.of(kind, str(chat))
        assert window is not None
        return self._windows.whole_bot.take(now).granted and window.take(now).granted


class Telegram:
    """Any stretch of time counts, all kinds of calls together; a group's number is negative."""

    def __init__(self) -> None:
        self._settings = TelegramSettings(token=SecretStr("1:t"))
        self._renderer = Renderer(self._settings.text_limit, self._settings.entity_limit)
        self._allowance = Allowance()
        self._bot = Budget(self._allowance.bot)
        self._chats: dict[int, Budget] = {}

    def limits(self, chat: int) -> Limits:
        return self._settings.limits(chat, self._renderer)

    def take(self, kind: str, chat: int, now: float) -> bool:
        rates = self._allowance.private if chat > 0 else self._allowance.group
        place = self._chats.setdefault(chat, Budget(rates))
        if place.wait(now) > 0 or self._bot.wait(now) > 0:
            return False
        place.spend(now)
        self._bot.spend(now)
        return True


class Place:
    """A `Reply` in a chat of a platform whose calls take a while, each another."""

    def __init__(self, platform: Platform, chat: int, clock: Clock, random: Random) -> None:
        self.ref = str(chat)
        self.limits = platform.limits(chat)
        self.calls = self.refused = 0
        self._platform = platform
        self._chat = chat
        self._clock = clock
        self._random = random

    async def send(self, frame: Frame, key: str) -> "Message":
        await self.call("sends")
        return Message(self)

    def post(self, ref: str) -> "Message":
        return Message(self)

    async def typing(self) -> None:
        await self.call("typing")

    async def call(self, kind: str) -> None:
        """Travel there, be counted, travel back."""
        await self._travel()
        self.calls += 1
        if not self._platform.take(kind, self._chat, self._clock.now()):
            self.refused += 1
            raise Limited(60.0)
        await self._travel()

    async def _travel(self) -> None:
        await self._clock.sleep(self._random.choice((0.04, 0.04, 0.04, 0.2, self._random.expovariate(1.0))))


@dataclass(frozen=True, slots=True)
class Message:
    """A `Post` of a `Place`."""

    place: Place
    ref: str = "1"

    async def edit(self, frame: Frame) -> None:
        await self.place.call("edits")


async def chatter(place: Place, budgets: Budgets, clock: Clock, random: Random) -> None:
    """One answer after the other, from short ones to some of a minute and a half."""
    end = clock.now() + MINUTES * 60
    while clock.now() < end:
        async with LiveReply(place, key="k", budgets=budgets, clock=clock) as live:
            await clock.sleep(random.uniform(0.2, 3.0))
            text = ""
            for _ in range(ceil(random.choice((2.0, 10.0, 30.0, 90.0)) * random.random())):
                text += WORDS
                live.show(text)
                await clock.sleep(1.0)
            await live.finish(text, State.FINAL)
        await clock.sleep(random.uniform(0.0, 5.0))


@pytest.mark.parametrize(
    ("make", "chats"),
    [(Discord, (1, 1, 2)), (Telegram, (1, 2, 3)), (Telegram, (-1, -1, -2))],
    ids=["discord", "telegram", "groups"],
)
async def test_nothing_is_refused_in_half_an_hour(
    clock: ManualClock, play: Play, make: Callable[[], Platform], chats: tuple[int, ...]
) -> None:
    """Answers of all lengths, two at once in one channel or group, over a network that is slow at times."""
    random, platform, budgets = Random(4), make(), Budgets()
    places = [Place(platform, chat, clock, random) for chat in chats]

    await play(*(chatter(place, budgets, clock, random) for place in places))

    assert [place.refused for place in places] == [0] * len(chats)
    assert min(place.calls for place in places) > 5 * MINUTES
