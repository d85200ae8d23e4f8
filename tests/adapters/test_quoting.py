"""What a message replies to comes along on both platforms, as far as the platform sent it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from telegram import Update, User

from clawdbot.chat import Message, Quoted
from clawdbot.testing.contract import Ears, running
from clawdbot.testing.discord import DiscordHarness, SimDiscord
from clawdbot_discord import DiscordAdapter, DiscordSettings
from clawdbot_discord.controls import CONTROLS
from clawdbot_telegram.updates import understood

ME = User(99, "Claw", is_bot=True, username="claw_bot")
BOT: dict[str, Any] = {"id": 99, "is_bot": True, "first_name": "Claw"}
ADA: dict[str, Any] = {"id": 7, "is_bot": False, "first_name": "Ada", "last_name": "L."}
PRIVATE: dict[str, Any] = {"id": 7, "type": "private", "first_name": "Ada"}
NEWS: dict[str, Any] = {"id": -100, "type": "channel", "title": "News"}
EARLIER: dict[str, Any] = {"message_id": 3, "date": 1_700_000_000, "chat": PRIVATE}


def build(sim: SimDiscord) -> DiscordAdapter:
    given = {"token": sim.token, "api_url": sim.rest_url, "gateway_url": sim.gateway_url, "keep_warm": 0.0}
    return DiscordAdapter(DiscordSettings.model_validate(given))


@pytest.fixture
async def ears() -> AsyncIterator[tuple[SimDiscord, Ears]]:
    harness = DiscordHarness(build, CONTROLS)
    async with harness, running(harness) as ears:
        yield harness.sim, ears


async def test_on_discord_somebody_elses_words_come_along(ears: tuple[SimDiscord, Ears]) -> None:
    sim, heard = ears
    said = sim.say(sim.channel, "Herons swim.", user=sim.add_user("eve"), mention_bot=False)
    sim.say(sim.channel, "true?", reply_to=said)
    event, _ = await heard.question()

    assert event.quoted == Quoted("eve", "Herons swim.")


async def test_on_discord_the_bots_own_message_can_be_told(ears: tuple[SimDiscord, Ears]) -> None:
    sim, heard = ears
    said = sim.world.write(sim.bot, sim.channel, "Herons wade.")
    sim.say(sim.channel, "why?", reply_to=said, mention_bot=False)
    event, _ = await heard.question()

    assert event.quoted == Quoted("ClawdBot", "Herons wade.", own=True, post=str(said.id))


async def test_on_discord_a_removed_message_is_none(ears: tuple[SimDiscord, Ears]) -> None:
    sim, heard = ears
    said = sim.say(sim.channel, "Herons swim.", mention_bot=False)
    sim.delete_question(said)
    sim.say(sim.channel, "true?", reply_to=said)
    event, _ = await heard.question(1)

    assert event.quoted is None


def quoted(**more: Any) -> Quoted | None:
    """What comes along with a private message on Telegram."""
    message = {"message_id": 5, "date": 1_700_000_000, "chat": PRIVATE, "from": ADA, "text": "Why?"} | more
    found = understood(Update.de_json({"update_id": 1, "message": message}, None), ME, 3.0)
    assert found
    assert isinstance(found[0], Message)
    return found[0].quoted


def part(text: str, *, chosen: bool) -> dict[str, Any]:
    return {"text": text, "position": 0} | ({"is_manual": True} if chosen else {})


@pytest.mark.parametrize(
    ("answered", "expected"),
    [
        ({"from": ADA, "text": "Herons swim."}, Quoted("Ada L.", "Herons swim.")),
        ({"from": BOT, "text": "Herons wade."}, Quoted("Claw", "Herons wade.", own=True, post="3")),
        ({"from": ADA, "caption": "A heron."}, Quoted("Ada L.", "A heron.")),
        ({"from": ADA, "sender_chat": NEWS, "text": "Rain."}, Quoted("News", "Rain.")),
        ({"sender_chat": NEWS, "text": "Rain."}, Quoted("News", "Rain.")),
        ({"from": ADA}, None),
    ],
)
def test_on_telegram_the_answered_message_comes_along(answered: dict[str, Any], expected: Quoted | None) -> None:
    assert quoted(reply_to_message=EARLIER | answered) == expected


def test_on_telegram_the_chosen_part_counts() -> None:
    """It is no whole message any more, so nobody takes it for one that is known."""
    answered = EARLIER | {"from": BOT, "text": "Herons wade."}

    assert quoted(reply_to_message=answered, quote=part("wade", chosen=True)) == Quoted("Claw", "wade", own=True)
    assert quoted(reply_to_message=answered, quote=part("Herons", chosen=False)) == Quoted(
        "Claw", "Herons wade.", own=True, post="3"
    )


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ({"type": "user", "sender_user": ADA}, "Ada L."),
        ({"type": "hidden_user", "sender_user_name": "Eve"}, "Eve"),
        ({"type": "chat", "sender_chat": NEWS}, "News"),
        ({"type": "channel", "chat": NEWS, "message_id": 4}, "News"),
    ],
)
def test_on_telegram_a_message_of_another_chat_brings_its_origin(origin: dict[str, Any], name: str) -> None:
    external = {"origin": origin | {"date": 1_700_000_000}}

    assert quoted(external_reply=external, quote=part("Rain.", chosen=False)) == Quoted(name, "Rain.")


def test_on_telegram_a_message_of_another_chat_without_text_is_none() -> None:
    origin = {"type": "user", "sender_user": ADA, "date": 1_700_000_000}

    assert quoted(external_reply={"origin": origin}) is None
