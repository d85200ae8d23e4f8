"""A chat that the platform has asked to leave alone, seen from the platform's own log of calls."""

from collections.abc import Callable

from pydantic import SecretStr

from clawdbot.chat import State
from clawdbot.clock import SystemClock
from clawdbot.delivery.live import LiveReply
from clawdbot.delivery.pace import Budgets
from clawdbot.testing.contract import Harness, running
from clawdbot.testing.discord import DiscordHarness, SimDiscord
from clawdbot.testing.telegram import SimTelegram, TelegramHarness
from clawdbot_discord import DiscordAdapter, DiscordSettings
from clawdbot_discord.controls import CONTROLS
from clawdbot_telegram import TelegramAdapter, TelegramSettings

WAIT = 2.0
BEGUN, WHOLE = "One **two**", "One **two** and `three`"


def on_discord(sim: SimDiscord) -> DiscordAdapter:
    return DiscordAdapter(
        DiscordSettings(token=SecretStr(sim.token), api_url=sim.rest_url, gateway_url=sim.gateway_url)
    )


def on_telegram(sim: SimTelegram) -> TelegramAdapter:
    return TelegramAdapter(TelegramSettings(token=SecretStr(sim.token), base_url=sim.url))


async def grow_through_a_refusal(harness: Harness, refused: Callable[[], bool]) -> None:
    """An answer whose second frame is refused, beside a question that waits, with typing and a notice that come due."""
    clock, budgets = SystemClock(), Budgets()
    async with running(harness) as ears:
        harness.say("Count")
        _, reply = await ears.question()
        async with (
            LiveReply(reply, key="a", budgets=budgets, clock=clock) as answer,
            LiveReply(reply, key="b", budgets=budgets, clock=clock) as other,
        ):
            other.wait("You are number 2 in line.")
            answer.show("One")
            await harness.until(lambda: bool(harness.screen()))
            harness.refuse(WAIT)
            answer.show(BEGUN)
            await harness.until(refused)
            await answer.finish(WHOLE, State.FINAL)


async def test_a_limited_chat_on_telegram_gets_no_call_at_all() -> None:
    """No edit, no typing, no notice, no plain text in place of a styled one: all of them share the chat's limit."""
    async with TelegramHarness(on_telegram) as harness:
        sim = harness.sim
        await grow_through_a_refusal(harness, lambda: any(call.code == 429 for call in sim.calls))

    (refusal,) = [call for call in sim.calls if call.code == 429]
    after = [call.at - refusal.at for call in sim.calls if call.chat == refusal.chat and call.at > refusal.at]
    assert min(after) >= WAIT
    assert sim.answers(refusal.chat)[0].text == "One two and three"


async def test_a_limited_channel_on_discord_gets_no_edit() -> None:
    """New messages and typing have limits of their own there, and another question need not wait for the edits'."""
    async with DiscordHarness(on_discord, CONTROLS) as harness:
        sim = harness.sim
        await grow_through_a_refusal(harness, lambda: any(call.status == 429 for call in sim.calls))

    (refusal,) = [call for call in sim.calls if call.status == 429]
    after = [call for call in sim.calls if call.place == refusal.place and call.at > refusal.at]
    assert min(call.at for call in after if call.name == "PATCH message") - refusal.at >= WAIT
    assert {call.name for call in after if call.at - refusal.at < WAIT} == {"POST typing", "POST message"}
    assert sim.answers(sim.channel)[0].text == WHOLE
