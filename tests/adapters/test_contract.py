"""One contract for all adapters: each check runs on each platform that can do what it needs."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from io import StringIO

import pytest
from pydantic import SecretStr
from rich.console import Console

from clawdbot.attached import Attachment
from clawdbot.chat import Adapter, Conversation, Message, Person, Receive
from clawdbot.clock import SystemClock
from clawdbot.errors import Limited
from clawdbot.testing.contract import CHECKS, Ability, Check, Harness
from clawdbot.testing.discord import DiscordHarness, SimDiscord
from clawdbot.testing.memory import MemoryReply, Mishap
from clawdbot.testing.telegram import SimTelegram, TelegramHarness
from clawdbot_console import ConsoleAdapter, ConsoleSettings
from clawdbot_discord import DiscordAdapter, DiscordSettings
from clawdbot_discord.controls import CONTROLS
from clawdbot_telegram import TelegramAdapter, TelegramSettings

from .web_harness import on_a_page

Platform = Callable[[], AbstractAsyncContextManager[Harness]]


def on_discord(sim: SimDiscord) -> Adapter:
    return DiscordAdapter(
        DiscordSettings(token=SecretStr(sim.token), api_url=sim.rest_url, gateway_url=sim.gateway_url)
    )


def discord() -> AbstractAsyncContextManager[Harness]:
    return DiscordHarness(on_discord, CONTROLS)


def on_telegram(sim: SimTelegram) -> Adapter:
    return TelegramAdapter(TelegramSettings(token=SecretStr(sim.token), base_url=sim.url))


def telegram() -> AbstractAsyncContextManager[Harness]:
    return TelegramHarness(on_telegram)


class Memory:
    """The platform in memory, adapter and harness in one; whatever happens there has happened at once."""

    can = frozenset(Ability) - {Ability.CONTROLS}

    def __init__(self) -> None:
        self.adapter: Adapter = self
        self._clock = SystemClock()
        self._places = [MemoryReply(self._clock, ref=str(number)) for number in range(2)]
        self._said: asyncio.Queue[tuple[Message, MemoryReply]] = asyncio.Queue()
        self._count = 0

    async def run(self, receive: Receive) -> None:
        while True:
            await receive(*await self._said.get())

    def reply(self, ref: str) -> MemoryReply:
        return self._places[int(ref)]

    async def online(self) -> None:
        """It always is."""

    def say(self, text: str, place: int = 0) -> None:
        self._say(text, (), place)

    def send_file(self, text: str, name: str, data: bytes, place: int = 0) -> None:
        self._places[place].contents[name] = data
        self._say(text, (Attachment(name, "text/plain", len(data), name),), place)

    def _say(self, text: str, files: tuple[Attachment, ...], place: int) -> None:
        self._count += 1
        where, who = Conversation("memory", place), Person(1, "ada")
        message = Message(str(self._count), where, who, text, received_at=self._clock.now(), files=files)
        self._said.put_nowait((message, self._places[place]))

    def screen(self, place: int = 0) -> list[str]:
        return self._places[place].screen.texts

    def controls(self, place: int = 0) -> list[str]:
        return []

    def press(self, control: str, place: int = 0) -> None:
        raise NotImplementedError("There are no controls in memory.")

    def refuse(self, seconds: float) -> None:
        self._places[0].inject("edit", Mishap(Limited(seconds)))

    def delete(self, place: int = 0) -> None:
        self._places[place].delete(len(self._places[place].screen.frames) - 1)

    async def until(self, condition: Callable[[], bool]) -> None:
        assert condition()


@asynccontextmanager
async def memory() -> AsyncIterator[Harness]:
    yield Memory()


class Paper:
    """A console's screen on which everything stays, each answer below the one before."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._growing = False

    def draw(self, text: str, *, lasting: bool, waiting: bool) -> None:
        if self._growing:
            self.texts.pop()
        self.texts.append(text)
        self._growing = not lasting

    def note(self, text: str) -> None:
        self.texts.append(text)


class ConsoleHarness:
    """A console whose lines come from a queue. It has one place, and nobody but the bot changes what is on it."""

    can: frozenset[Ability] = frozenset()

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        self._paper = Paper()
        self.adapter: Adapter = ConsoleAdapter(
            ConsoleSettings(), read=self._lines.get, screen=lambda: self._paper, console=Console(file=StringIO())
        )

    async def online(self) -> None:
        """It always is."""

    def say(self, text: str, place: int = 0) -> None:
        self._lines.put_nowait(f"{text}\n")

    def screen(self, place: int = 0) -> list[str]:
        return self._paper.texts

    def controls(self, place: int = 0) -> list[str]:
        return []

    def press(self, control: str, place: int = 0) -> None:
        raise NotImplementedError("There are no controls on a console.")

    def refuse(self, seconds: float) -> None:
        raise NotImplementedError("A console refuses nothing.")

    def delete(self, place: int = 0) -> None:
        raise NotImplementedError("Nothing can be removed from a console.")

    async def until(self, condition: Callable[[], bool]) -> None:
        assert condition()


@asynccontextmanager
async def console() -> AsyncIterator[Harness]:
    yield ConsoleHarness()


def page() -> AbstractAsyncContextManager[Harness]:
    return on_a_page()


PLATFORMS: tuple[Platform, ...] = (memory, console, discord, telegram, page)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda platform: platform.__name__)
async def test_contract(platform: Platform, check: Check) -> None:
    async with platform() as harness:
        if not CHECKS[check] <= harness.can:
            pytest.skip("the platform cannot do that")
        await check(harness)
