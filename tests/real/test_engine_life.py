"""The engine's core is killed under a bot on two platforms: readers are told, nothing that was read is lost."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psutil
import pytest
from pydantic import SecretStr

from clawdbot import words
from clawdbot.abilities import Phase
from clawdbot.app import open_app, serve
from clawdbot.chat import Adapter
from clawdbot.clock import SystemClock
from clawdbot.engine import models
from clawdbot.engine.vllm import VllmEngine, open_vllm
from clawdbot.latency.observed import unobserved
from clawdbot.settings.config import Allowed, AnswerSettings, Settings, StoreSettings
from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.telegram import SimTelegram
from clawdbot_discord import DiscordAdapter, DiscordSettings
from clawdbot_discord.controls import CONTINUE, control_of
from clawdbot_telegram import TelegramAdapter, TelegramSettings

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="session")]

ASKER = 7
LONG = "Write a long story about a ship and its crew."
RESTART = 240.0
"""Seconds that a restart of the engine may take on a busy machine."""


class Cores:
    """Opens engines, and knows which processes are the core of the one that runs."""

    def __init__(self) -> None:
        self._before = _children()
        self.opened = 0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[VllmEngine]:
        """What an `EngineHost` opens."""
        async with open_vllm(models.resolve("demo"), "auto", {}) as engine:
            self.opened += 1
            yield engine

    @property
    def processes(self) -> set[psutil.Process]:
        """Those of the engine that runs; vLLM names them so."""
        return {child for child in _children() - self._before if "VLLM::" in _named(child)}

    def kill(self) -> None:
        """Kill the core as the kernel does when memory is short."""
        (core,) = (child for child in self.processes if "EngineCore" in _named(child))
        os.kill(core.pid, signal.SIGKILL)


def _named(process: psutil.Process) -> str:
    with suppress(psutil.NoSuchProcess):  # or a zombie
        return " ".join(process.cmdline())
    return ""


def _children() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))


async def test_a_killed_core_costs_nobody_what_they_have_read(tmp_path: Path) -> None:
    """The partial stays and is marked; who asks meanwhile is told and answered; Continue goes on; no platform drops."""
    cores, clock, stop = Cores(), SystemClock(), asyncio.Event()
    async with SimDiscord() as discord, SimTelegram() as telegram:
        adapters: dict[str, Adapter] = {
            "discord": DiscordAdapter(
                DiscordSettings(
                    token=SecretStr(discord.token), api_url=discord.rest_url, gateway_url=discord.gateway_url
                )
            ),
            "telegram": TelegramAdapter(TelegramSettings(token=SecretStr(telegram.token), base_url=telegram.url)),
        }
        settings = Settings(
            answers=AnswerSettings(temperature=0.0, max_tokens=300),
            store=StoreSettings(path=tmp_path / "bot.sqlite3"),
            access={
                "discord": Allowed(users=frozenset({discord.user.id})),
                "telegram": Allowed(users=frozenset({ASKER})),
            },
        )
        async with open_app(settings, cores.open, clock, unobserved) as app:
            served = asyncio.create_task(serve(app, adapters, clock, stop, 0.0))
            await discord.online()
            await telegram.online()
            await app.host.engine()
            discord.say(discord.channel, LONG)
            await discord.until(lambda: len(discord.answers(discord.channel)) == 1, 60)
            (answer,) = discord.answers(discord.channel)
            await discord.until(lambda: len(answer.history) >= 3, 60)
            read = answer.text
            cores.kill()
            await discord.until(lambda: words.INTERRUPTED_MARK in answer.text, 60)
            partial = answer.text.removesuffix(words.INTERRUPTED_MARK).rstrip()
            phase = app.host.phase

            telegram.say(ASKER, "What is the capital of France?", user=ASKER)
            await telegram.until(lambda: len(telegram.answers(ASKER)) == 1, 60)
            (told,) = telegram.answers(ASKER)
            await telegram.until(lambda: told.look.buttons == ("regenerate",), RESTART)

            discord.press(answer, CONTINUE)
            await discord.until(lambda: [control_of(one) for one in answer.now.buttons] == ["regenerate"], 120)
            stop.set()
            await served

        assert partial.startswith(read.rstrip("…* "))
        assert phase is Phase.RESTARTING
        assert told.looks[0].text == words.RESTARTING
        assert "Paris" in told.text
        assert answer.text.startswith(partial)
        assert len(answer.text) > len(partial) + 20
        assert len(discord.answers(discord.channel)) == 1
        assert cores.opened == 2
        assert (discord.gateway.identified, discord.gateway.resumed) == (1, 0)
