"""Whether adapters know that their platform's people are heard."""

from pydantic import SecretStr

from clawdbot.abilities import Connects
from clawdbot.testing.contract import running
from clawdbot.testing.discord import DiscordHarness, SimDiscord
from clawdbot.testing.faults import Fault, Trouble
from clawdbot.testing.telegram import SimTelegram, TelegramHarness
from clawdbot.testing.waiting import polled
from clawdbot_discord import DiscordAdapter, DiscordSettings
from clawdbot_discord.controls import CONTROLS
from clawdbot_telegram import TelegramAdapter, TelegramSettings


def on_discord(sim: SimDiscord) -> DiscordAdapter:
    return DiscordAdapter(
        DiscordSettings(token=SecretStr(sim.token), api_url=sim.rest_url, gateway_url=sim.gateway_url)
    )


def on_telegram(sim: SimTelegram) -> TelegramAdapter:
    return TelegramAdapter(TelegramSettings(token=SecretStr(sim.token), base_url=sim.url))


async def test_discord_is_connected_while_its_gateway_is() -> None:
    async with DiscordHarness(on_discord, CONTROLS) as harness:
        sim, adapter = harness.sim, harness.adapter
        assert isinstance(adapter, Connects)
        before = adapter.connected
        async with running(harness):
            await polled(lambda: adapter.connected)
            sim.gateway.refusals = 1000
            sim.gateway.drop()
            await polled(lambda: not adapter.connected)
            sim.gateway.refusals = 0
            await polled(lambda: adapter.connected)

        assert (before, adapter.connected) == (False, False)


async def test_telegram_is_connected_while_polls_succeed() -> None:
    async with TelegramHarness(on_telegram) as harness:
        sim, adapter = harness.sim, harness.adapter
        assert isinstance(adapter, Connects)
        before = adapter.connected
        async with running(harness):
            await polled(lambda: adapter.connected)
            sim.faults.add("getUpdates", Fault(Trouble.BAD_GATEWAY))
            harness.say("Hello")  # ends the poll that is under way; the next one fails
            await polled(lambda: not adapter.connected)
            harness.say("Hello again")
            await polled(lambda: adapter.connected)

        assert (before, adapter.connected) == (False, False)
