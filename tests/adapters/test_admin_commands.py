"""The commands for admins on both platforms at once: one bot, the unmodified SDKs, simulated platforms."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from clawdbot import words
from clawdbot.app import open_app, serve
from clawdbot.chat import Adapter
from clawdbot.clock import SystemClock
from clawdbot.latency.observed import answers
from clawdbot.menu import COMMANDS, Command
from clawdbot.settings.config import Allowed, AnswerSettings, Settings, StoreSettings
from clawdbot.testing.discord import Interaction, SimDiscord
from clawdbot.testing.engine import ScriptedEngine
from clawdbot.testing.rig import echo
from clawdbot.testing.telegram import SimTelegram
from clawdbot_discord import DiscordAdapter
from clawdbot_telegram import TelegramAdapter, TelegramSettings

from .discord_bot import settings_for

FOR_ADMINS = [command for command in COMMANDS if command.admins_only]
ADA, EVE, ADMIN = 1, 3, 9
"""On Telegram; Eve is a stranger."""


class Platforms:
    """A Discord and a Telegram on which the same bot serves."""

    def __init__(self, discord: SimDiscord, telegram: SimTelegram, folder: Path) -> None:
        self.discord = discord
        self.telegram = telegram
        self.answered = asyncio.Semaphore(0)
        """Released for every answer that is complete and stored."""
        self.admin, self.eve = discord.add_user("root"), discord.add_user("eve")
        self._settings = Settings(
            answers=AnswerSettings(system_prompt=""),
            access={
                "discord": Allowed(users=frozenset({discord.user.id}), admins=frozenset({self.admin.id})),
                "telegram": Allowed(users=frozenset({ADA}), admins=frozenset({ADMIN})),
            },
            store=StoreSettings(path=folder / "clawdbot.sqlite3"),
        )

    @asynccontextmanager
    async def open_engine(self) -> AsyncIterator[ScriptedEngine]:
        yield ScriptedEngine(echo, SystemClock())

    async def serve(self) -> None:
        clock = SystemClock()
        there = TelegramSettings(token=SecretStr(self.telegram.token), base_url=self.telegram.url)
        adapters: dict[str, Adapter] = {
            "discord": DiscordAdapter(settings_for(self.discord)),
            "telegram": TelegramAdapter(there),
        }
        async with open_app(
            self._settings, self.open_engine, clock, answers(lambda timing: self.answered.release())
        ) as app:
            await serve(app, adapters, clock, asyncio.Event(), 0.0)

    async def slash(
        self, command: Command, argument: str, *, by_eve: bool = False, private: bool = False
    ) -> Interaction:
        """What Ada or Eve gets for a command on Discord."""
        user = self.eve if by_eve else self.discord.user
        channel = self.discord.private(user) if private else self.discord.channel
        given = {command.argument: argument} if command.argument else {}
        called = self.discord.slash(channel, command.name, user, **given)
        await self.discord.until(lambda: bool(called.answers))
        return called

    async def write(self, chat: int, text: str) -> str:
        """What somebody on Telegram gets for a message in private."""
        before = len(self.telegram.answers(chat))
        self.telegram.say(chat, text)
        await self.telegram.until(lambda: len(self.telegram.answers(chat)) > before)
        return self.telegram.answers(chat)[-1].text


@pytest.fixture
async def platforms(tmp_path: Path) -> AsyncIterator[Platforms]:
    async with AsyncExitStack() as stack:
        discord = await stack.enter_async_context(SimDiscord())
        telegram = await stack.enter_async_context(SimTelegram())
        served = Platforms(discord, telegram, tmp_path)
        life = asyncio.create_task(served.serve())
        await discord.until(lambda: bool(discord.interactions.commands))
        await telegram.online()
        yield served
        life.cancel()
        await asyncio.wait((life,))


async def test_they_are_refused_for_everyone_else(platforms: Platforms) -> None:
    """In the same words for all of them, for the caller's eyes where the platform can do that."""
    on_telegram = [await platforms.write(ADA, f"/{command.name} {EVE}") for command in FOR_ADMINS]
    on_discord = [await platforms.slash(command, str(platforms.eve.id)) for command in FOR_ADMINS]

    assert on_telegram == [words.ADMINS_ONLY] * len(FOR_ADMINS)
    assert {post.text for called in on_discord for post in called.answers} == {words.ADMINS_ONLY}
    assert {post.only_for for called in on_discord for post in called.answers} == {platforms.discord.user.id}


async def test_everybody_sees_how_fast_their_own_answers_came(platforms: Platforms) -> None:
    """On Discord an argument of the slash command, offered as a choice."""
    latency = next(command for command in COMMANDS if command.name == "latency")
    platforms.telegram.say(ADA, "Hello")
    platforms.discord.say(platforms.discord.channel, "Hello")
    await platforms.answered.acquire()
    await platforms.answered.acquire()
    (offered,) = (entry for entry in platforms.discord.interactions.commands[0] if entry["name"] == "latency")

    on_telegram = await platforms.write(ADA, "/latency me")
    on_discord = await platforms.slash(latency, "me")

    assert [choice["value"] for choice in offered["options"][0]["choices"]] == ["me"]
    (post,) = on_discord.answers
    assert post.only_for == platforms.discord.user.id
    assert [text.count("0%") for text in (on_telegram, post.text)] == [1, 1]


async def test_a_code_lets_a_stranger_on_telegram_in(platforms: Platforms) -> None:
    refused = await platforms.write(EVE, "Hello")
    (code,) = re.findall(r"/pair ([A-Z0-9-]+)", await platforms.write(ADMIN, "/pair"))

    assert refused == words.REFUSED.format(id=EVE)
    assert await platforms.write(EVE, f"/pair {code}") == words.PAIRED
    assert (await platforms.write(EVE, "Hello")).startswith("You said:")


async def test_a_code_lets_a_stranger_on_discord_in(platforms: Platforms) -> None:
    """As an argument of the slash command, in private."""
    pair = next(command for command in COMMANDS if command.name == "pair")
    made = platforms.discord.slash(platforms.discord.private(platforms.admin), "pair", platforms.admin)
    await platforms.discord.until(lambda: bool(made.answers))
    (code,) = re.findall(r"/pair ([A-Z0-9-]+)", made.answers[0].text)

    used = await platforms.slash(pair, code, by_eve=True, private=True)
    assert [post.text for post in used.answers] == [words.PAIRED]
