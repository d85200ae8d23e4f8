"""One contract for all adapters: each check runs on each platform that can do what it needs."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest
from pydantic import SecretStr

from clawdbot.chat import Adapter
from clawdbot.testing.contract import CHECKS, Check, Harness
from clawdbot.testing.discord import DiscordHarness, SimDiscord
from clawdbot.testing.telegram import SimTelegram, TelegramHarness
from clawdbot_discord import DiscordAdapter, DiscordSettings
from clawdbot_discord.controls import CONTROLS
from clawdbot_telegram import TelegramAdapter, TelegramSettings

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


PLATFORMS: tuple[Platform, ...] = (discord, telegram)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda platform: platform.__name__)
async def test_contract(platform: Platform, check: Check) -> None:
    async with platform() as harness:
        if not CHECKS[check] <= harness.can:
            pytest.skip("the platform cannot do that")
        await check(harness)
