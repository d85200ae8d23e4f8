"""A message on Discord or Telegram, answered by the real model through the real SDKs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from clawdbot.app import App, open_app, serve
from clawdbot.chat import Adapter
from clawdbot.clock import SystemClock
from clawdbot.latency.observed import Observe, answers
from clawdbot.latency.timing import Timing, stages
from clawdbot.settings.config import Allowed, AnswerSettings, Settings, StoreSettings
from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.telegram import SimTelegram, Verdict
from clawdbot_discord import DiscordAdapter, DiscordSettings
from clawdbot_telegram import TelegramAdapter, TelegramSettings

from .conftest import Overheard

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="session")]

QUESTION = "Write three sentences about the sea."
ASKER = 7
LONGEST_DELAY = 0.25
"""Seconds between the engine's first showable token and the reader's first word."""


def settings_for(tmp_path: Path, platform: str, person: int) -> Settings:
    """Greedy answers of some seconds, for one admin."""
    return Settings(
        answers=AnswerSettings(temperature=0.0, max_tokens=70),
        store=StoreSettings(path=tmp_path / "bot.sqlite3"),
        access={platform: Allowed(admins=frozenset({person}))},
    )


@asynccontextmanager
async def serving(settings: Settings, overheard: Overheard, adapter: Adapter, observe: Observe) -> AsyncIterator[App]:
    """The whole bot with one platform, from start to orderly end."""
    clock, stop = SystemClock(), asyncio.Event()
    async with open_app(settings, overheard.opened, clock, observe) as app:
        served = asyncio.create_task(serve(app, {"it": adapter}, clock, stop, 5.0))
        yield app
        stop.set()
        await served


def check_growth(history: list[tuple[float, str]], overheard: Overheard, timings: list[Timing]) -> None:
    """What a reader saw, held against what the engine said."""
    (heard,), (timing,) = overheard.heard, timings
    texts = [text for _, text in history]
    assert len(set(texts)) >= 4, texts
    assert [len(text) for text in texts] == sorted(len(text) for text in texts), texts
    assert texts[-1] == heard.text.strip()
    assert heard.showable_at is not None
    assert history[0][0] - heard.showable_at < LONGEST_DELAY
    assert timing.state == "final"
    assert sum(seconds for _, seconds in stages(timing)) == timing.complete
    assert timing.first_token is not None
    assert timing.first_visible is not None
    assert 0 < timing.first_token < timing.first_visible < timing.complete < 60
    assert timing.prompt_tokens == len(heard.request.prompt)
    assert timing.output_tokens >= 20


async def test_a_message_on_telegram_is_answered_by_the_real_model(tmp_path: Path, overheard: Overheard) -> None:
    """It grows by edits from its first token on, ends as the engine ended, and no call is refused."""
    timings: list[Timing] = []
    async with SimTelegram() as sim:
        adapter = TelegramAdapter(TelegramSettings(token=SecretStr(sim.token), base_url=sim.url))
        settings = settings_for(tmp_path, "telegram", ASKER)
        async with serving(settings, overheard, adapter, answers(timings.append)) as app:
            await sim.online()
            sim.say(ASKER, QUESTION, user=ASKER)
            await sim.until(lambda: len(sim.answers(ASKER)) == 1, 60)
            (answer,) = sim.answers(ASKER)
            await sim.until(lambda: not answer.look.growing, 60)
            await app.sessions.idle()
            stored = await app.store.timings(0)

    check_growth([(look.at, look.text) for look in answer.looks], overheard, timings)
    assert stored == timings
    assert sim.counted(verdict=Verdict.LIMITED) == 0


async def test_a_message_on_discord_is_answered_by_the_real_model(tmp_path: Path, overheard: Overheard) -> None:
    """It grows by edits from its first token on, ends as the engine ended, and no call is refused."""
    timings: list[Timing] = []
    async with SimDiscord() as sim:
        adapter = DiscordAdapter(
            DiscordSettings(token=SecretStr(sim.token), api_url=sim.rest_url, gateway_url=sim.gateway_url)
        )
        settings = settings_for(tmp_path, "discord", sim.user.id)
        async with serving(settings, overheard, adapter, answers(timings.append)) as app:
            await sim.online()
            sim.say(sim.channel, QUESTION)
            await sim.until(lambda: len(sim.answers(sim.channel)) == 1, 60)
            (answer,) = sim.answers(sim.channel)
            await sim.until(lambda: not answer.now.growing, 60)
            await app.sessions.idle()
            stored = await app.store.timings(0)

    check_growth([(look.at, look.text) for look in answer.history], overheard, timings)
    assert stored == timings
    assert not [call for call in sim.calls if call.status == 429]
