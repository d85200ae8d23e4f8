"""Two models in one bot, chosen by people on Discord and on Telegram: the unmodified SDKs, simulated platforms."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

import pytest
from pydantic import SecretStr

from clawdbot import words
from clawdbot.abilities import Phase
from clawdbot.clock import SystemClock
from clawdbot.engine.protocol import Request
from clawdbot.engine.settings import EngineSettings
from clawdbot.errors import EngineUnavailable
from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.engine import Script
from clawdbot.testing.engines import ScriptedEngines
from clawdbot.testing.rig import question
from clawdbot.testing.telegram import SimTelegram
from clawdbot_telegram import TelegramAdapter, TelegramSettings

from .discord_bot import DiscordBot

ADA = 1
"""On Telegram."""


def large(request: Request) -> Script:
    """What the other model says."""
    return Script([f"Large: {question(request.prompt)}"])


class Chat(Protocol):
    """Somebody's private chat with the bot."""

    async def choose(self, model: str) -> None:
        """Use /model, and wait until the bot says that it is so."""
        ...

    async def asks(self, text: str, answer: str) -> None:
        """Write ``text`` and wait for the ``answer``."""
        ...

    async def sees(self, part: str) -> None:
        """Wait until the last answer has that in it."""
        ...


class OnDiscord:
    """With the platform's own command."""

    def __init__(self, sim: SimDiscord) -> None:
        self._sim = sim
        self._place = sim.private()

    async def choose(self, model: str) -> None:
        called = self._sim.slash(self._place, "model", name=model)
        said = words.CHOSEN.format(kind="model", name=model)
        await self._sim.until(lambda: any(post.text.startswith(said) for post in called.answers))

    async def asks(self, text: str, answer: str) -> None:
        self._sim.say(self._place, text)
        await self._sim.until(lambda: [post.text for post in self._sim.answers(self._place)][-1:] == [answer])

    async def sees(self, part: str) -> None:
        await self._sim.until(lambda: part in self._sim.answers(self._place)[-1].text)


class OnTelegram:
    """With a message."""

    def __init__(self, sim: SimTelegram) -> None:
        self._sim = sim

    async def choose(self, model: str) -> None:
        self._sim.say(ADA, f"/model {model}")
        await self.sees(words.CHOSEN.format(kind="model", name=model))

    async def asks(self, text: str, answer: str) -> None:
        self._sim.say(ADA, text)
        await self._sim.until(lambda: [shown.text for shown in self._sim.answers(ADA)][-1:] == [answer])

    async def sees(self, part: str) -> None:
        await self._sim.until(lambda: any(part in shown.text for shown in self._sim.answers(ADA)[-1:]))


class Stage:
    """Both platforms, and the bot that serves them with two models."""

    def __init__(self, discord: SimDiscord, telegram: SimTelegram, folder: Path) -> None:
        settings = TelegramSettings(token=SecretStr(telegram.token), base_url=telegram.url)
        self.bot = DiscordBot(discord, folder, beside={"telegram": TelegramAdapter(settings)})
        self.bot.settings = self.bot.settings.model_copy(update={"models": {"large": EngineSettings()}})
        self.large = ScriptedEngines(large, SystemClock())
        self.bot.others = {"large": self.large}
        self.discord, self.telegram = discord, telegram
        self.chats: dict[str, Chat] = {"discord": OnDiscord(discord), "telegram": OnTelegram(telegram)}

    async def online(self) -> None:
        """Wait until both platforms are heard, and Discord has the commands."""
        await self.discord.until(lambda: self.discord.gateway.connected and bool(self.discord.interactions.commands))
        await self.telegram.online()


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with SimDiscord() as discord, SimTelegram() as telegram:
        yield Stage(discord, telegram, tmp_path)


both = pytest.mark.parametrize(("here", "elsewhere"), [("discord", "telegram"), ("telegram", "discord")])


@both
async def test_the_chosen_model_answers_after_a_restart_too(stage: Stage, here: str, elsewhere: str) -> None:
    """Where it was chosen; on the other platform the default does."""
    chat, other = stage.chats[here], stage.chats[elsewhere]
    async with stage.bot.running():
        await stage.online()
        await chat.asks("One", "You said: One")
        await chat.choose("large")
        await chat.asks("Two", "Large: Two")
        await other.asks("Hello", "You said: Hello")
    async with stage.bot.running():
        await stage.online()
        await chat.asks("Three", "Large: Three")
        await chat.choose("demo")
        await chat.asks("Four", "You said: Four")


@both
async def test_a_model_that_dies_leaves_the_other_one_alone(stage: Stage, here: str, elsewhere: str) -> None:
    """What it wrote stays, marked; whoever has the other one notices nothing; soon it is back."""
    chat, other = stage.chats[here], stage.chats[elsewhere]
    stage.large.script = lambda request: Script(["One two", " three"], gap=60.0)
    async with stage.bot.running():
        await stage.online()
        await chat.choose("large")
        await chat.asks("Count", "One two")
        stage.large.engine.die()
        stage.large.script = large
        await chat.sees("The answer was interrupted.")
        await other.asks("Hello", "You said: Hello")
        await chat.asks("Again", "Large: Again")

    assert (len(stage.bot.engines), len(stage.large.engines)) == (1, 2)


@both
async def test_a_model_that_cannot_be_started_says_so(stage: Stage, here: str, elsewhere: str) -> None:
    """At once; the other one answers."""
    stage.large.trouble = EngineUnavailable("There is no such model.", "Name another one.")
    chat, other = stage.chats[here], stage.chats[elsewhere]
    async with stage.bot.running() as app:
        await stage.online()
        await chat.choose("large")
        await chat.asks("Hello", words.MODEL_DOWN.format(name="large"))
        await other.asks("Hello", "You said: Hello")
        await chat.choose("demo")
        await chat.asks("Hello", "You said: Hello")
        assert [model.host.phase for model in app.models] == [Phase.READY, Phase.DOWN]
