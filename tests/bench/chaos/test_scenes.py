"""What a judge is shown of the simulated platforms."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
import telegram
from telegram import InlineKeyboardButton, InlineKeyboardMarkup
from telegram.error import NetworkError

from clawdbot.bench.chaos.judge import Shown
from clawdbot.bench.chaos.scenes import DiscordChaos, TelegramChaos
from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.faults import Fault, Trouble
from clawdbot.testing.telegram import SimTelegram

STOP = {"components": [{"type": 1, "components": [{"type": 2, "custom_id": "clawdbot:stop"}]}]}
PERSON = 1001


@asynccontextmanager
async def on_telegram() -> AsyncIterator[tuple[TelegramChaos, telegram.Bot]]:
    async with SimTelegram() as sim, telegram.Bot(sim.token, base_url=f"{sim.url}/bot") as bot:
        scene = TelegramChaos(sim, 2)
        scene.ask(0, "What is a heron?")
        yield scene, bot


@pytest.mark.parametrize("buttons", [{}, STOP])
def test_on_discord_a_message_grows_as_long_as_it_can_be_stopped(buttons: dict[str, object]) -> None:
    sim = SimDiscord()
    scene = DiscordChaos(sim)
    scene.ask(7, "What is a heron?")
    channel = next(channel for channel in sim.world.channels.values() if channel.name == "room-7")

    sim.world.create(channel, {"content": "A bird.", **buttons}, [("answer.md", b"And more.")])

    assert scene.screen(7) == [Shown("A bird.\nAnd more.", growing=bool(buttons))]


@pytest.mark.parametrize("growing", [True, False])
async def test_on_telegram_a_message_grows_as_long_as_it_can_be_stopped(growing: bool) -> None:
    async with on_telegram() as (scene, bot):
        markup = InlineKeyboardMarkup([[InlineKeyboardButton("Stop", callback_data="stop")]]) if growing else None

        await bot.send_message(PERSON, "A bird.", reply_markup=markup)

        assert scene.screen(0) == [Shown("A bird.", growing=growing)]


async def test_on_telegram_sends_that_had_their_effect_and_no_answer_are_counted() -> None:
    """The others had none, or an answer: whoever repeats one of those shows a part twice by his own fault."""
    async with on_telegram() as (scene, bot):
        for trouble in (Trouble.RESET_AFTER, Trouble.RESET_BEFORE, Trouble.ERROR):
            scene.faults.add("sendMessage", Fault(trouble))
            with suppress(NetworkError):
                await bot.send_message(PERSON, "A bird.")
        await bot.send_message(PERSON, "A bird.")

        assert (len(scene.screen(0)), scene.unanswered_sends(0)) == (2, 1)
