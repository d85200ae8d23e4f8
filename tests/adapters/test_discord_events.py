"""What the Discord adapter hears, on a simulated Discord with the unmodified discord.py."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from clawdbot.chat import Deleted, Edited, Event, Frame, Message, Pressed, State, Typing
from clawdbot.testing.contract import Ears, running
from clawdbot.testing.discord import DiscordHarness, SimDiscord
from clawdbot_discord import DiscordAdapter, DiscordSettings
from clawdbot_discord.client import OUT_OF_USE
from clawdbot_discord.controls import CONTINUE, CONTROLS, REGENERATE, STOP


def settings(sim: SimDiscord, **others: object) -> DiscordSettings:
    given = {"api_url": sim.rest_url, "gateway_url": sim.gateway_url, "identify_delay": 0.0, "keep_warm": 0.0}
    return DiscordSettings.model_validate({"token": sim.token, **given, **others})


@asynccontextmanager
async def serving(sim: SimDiscord | None = None, **others: object) -> AsyncIterator[tuple[SimDiscord, Ears]]:
    """An adapter at work on ``sim``, and what it hears."""
    harness = DiscordHarness(lambda server: DiscordAdapter(settings(server, **others)), CONTROLS, sim)
    async with harness, running(harness) as ears:
        yield harness.sim, ears


def row(custom_id: str) -> list[dict[str, object]]:
    """One button, as the bot sends it."""
    return [{"type": 1, "components": [{"type": 2, "label": "Press", "custom_id": custom_id}]}]


async def heard(ears: Ears, number: int = 0) -> Event:
    await ears.count(number + 1)
    return ears.heard[number][0]


async def test_a_mention_arrives_without_the_mention() -> None:
    async with serving() as (sim, ears):
        asked = sim.say(sim.channel, "what is a heron?")
        event, reply = await ears.question()
        assert event.text == "what is a heron?"
        assert event.id == f"{sim.channel.id}:{asked.id}"
        assert event.author.id == sim.user.id
        assert event.author.name == "ada"
        assert (event.conversation.key, event.conversation.guild) == (f"discord:{sim.channel.id}:0", sim.world.guild)
        assert not event.conversation.private
        assert reply.ref == f"{sim.channel.id}:{asked.id}"


async def test_the_time_of_posting_comes_from_the_platform() -> None:
    async with serving() as (sim, ears):
        sim.say(sim.channel, "hi")
        event, _ = await ears.question()
        assert event.sent_at is not None
        assert abs(event.sent_at - sim.clock.wall()) < 5
        assert abs(event.received_at - sim.clock.now()) < 5


async def test_a_mention_in_the_middle_is_taken_out() -> None:
    async with serving() as (sim, ears):
        sim.say(sim.channel, f"tell me, <@{sim.bot.id}> what is a heron?", mention_bot=False)
        event, _ = await ears.question()
        assert event.text == "tell me, what is a heron?"


async def test_the_bots_own_role_is_a_mention_too() -> None:
    """People pick the role in the menu: it has the bot's name."""
    async with serving() as (sim, ears):
        sim.say(sim.channel, f"<@&{sim.world.bot_role}> hi", mention_bot=False)
        event, _ = await ears.question()
        assert event.text == "hi"


async def test_a_reply_to_the_bot_needs_no_mention() -> None:
    async with serving() as (sim, ears):
        sim.say(sim.channel, "hi")
        _, reply = await ears.question()
        await reply.send(Frame("Hello.", State.FINAL), "part-0")
        sim.say(sim.channel, "and again", mention_bot=False, reply_to=sim.answers(sim.channel)[0])
        event, _ = await ears.question(1)
        assert event.text == "and again"


async def test_private_messages_need_no_mention() -> None:
    async with serving() as (sim, ears):
        sim.say(sim.private(), "hi")
        event, _ = await ears.question()
        assert event.conversation.private
        assert event.conversation.guild == 0


async def test_a_thread_is_a_conversation_of_its_own() -> None:
    async with serving() as (sim, ears):
        thread = sim.add_thread(sim.channel, "birds")
        sim.say(thread, "hi")
        _, reply = await ears.question()
        await reply.send(Frame("Hello.", State.FINAL), "part-0")
        assert [post.text for post in sim.answers(thread)] == ["Hello."]
        assert sim.answers(sim.channel) == []


async def test_talk_between_others_is_not_for_the_bot() -> None:
    async with serving() as (sim, ears):
        first = sim.say(sim.channel, "lunch?", mention_bot=False)
        sim.say(sim.channel, "yes", user=sim.add_user("bob"), mention_bot=False, reply_to=first)
        sim.say(sim.channel, "and you?")
        event, _ = await ears.question()
        assert event.text == "and you?"


async def test_bots_are_not_answered() -> None:
    """Two bots that answer each other never stop."""
    async with serving() as (sim, ears):
        sim.say(sim.channel, "hi", user=sim.add_user("other bot", bot=True))
        sim.say(sim.channel, "hi from a person")
        event, _ = await ears.question()
        assert event.text == "hi from a person"


async def test_an_edited_question_is_told() -> None:
    async with serving() as (sim, ears):
        asked = sim.say(sim.channel, "what is a hern?")
        await ears.question()
        sim.edit_question(asked, f"<@{sim.bot.id}> what is a heron?")
        event = await heard(ears, 1)
        assert isinstance(event, Edited)
        assert event.message.text == "what is a heron?"
        assert event.message.id == f"{sim.channel.id}:{asked.id}"


async def test_each_edit_is_an_event_of_its_own() -> None:
    """Or the third would pass for the first, which was applied already."""
    async with serving() as (sim, ears):
        asked = sim.say(sim.channel, "what is a hern?")
        await ears.question()
        for number, bird in enumerate(("heron", "egret", "heron"), 1):
            sim.edit_question(asked, f"<@{sim.bot.id}> what is a {bird}?")
            await heard(ears, number)
        versions = [event.message.version for event, _ in ears.heard[1:] if isinstance(event, Edited)]
        assert len(set(versions)) == 3
        assert "" not in versions


async def test_a_link_preview_is_no_edit() -> None:
    """Discord sends an update of the message for every preview that it found."""
    async with serving() as (sim, ears):
        asked = sim.say(sim.channel, "see https://herons.example")
        await ears.question()
        sim.world.show(sim.channel, asked, asked.now)
        sim.delete_question(asked)
        assert isinstance(await heard(ears, 1), Deleted)


async def test_a_deleted_question_is_told() -> None:
    async with serving() as (sim, ears):
        asked = sim.say(sim.channel, "what is a heron?")
        question, _ = await ears.question()
        sim.delete_question(asked)
        event = await heard(ears, 1)
        assert event == Deleted(question.conversation, question.id)


async def test_a_pressed_button_is_told_and_acknowledged() -> None:
    async with serving() as (sim, ears):
        sim.say(sim.channel, "hi")
        question, reply = await ears.question()
        post = await reply.send(Frame("Hel", State.STREAMING), "part-0")
        bob = sim.add_user("bob")
        press = sim.press(sim.answers(sim.channel)[0], STOP, bob)
        event = await heard(ears, 1)
        assert isinstance(event, Pressed)
        assert (event.control, event.post, event.by.id) == ("stop", post.ref, bob.id)
        assert event.conversation == question.conversation
        await sim.until(lambda: press.acknowledged_at is not None)


async def test_a_button_of_earlier_days_is_answered_in_private() -> None:
    """Without an answer within 3 s Discord tells the person that something failed."""
    async with serving() as (sim, ears):
        sim.say(sim.channel, "hi")
        await ears.question()
        post, _ = sim.world.create(sim.channel, {"content": "Hello.", "components": row("other:button")}, ())
        press = sim.press(post, "other:button")
        await sim.until(lambda: press.acknowledged_at is not None)
        assert [(answer.text, answer.only_for) for answer in press.answers] == [(OUT_OF_USE, sim.user.id)]
        assert len(ears.heard) == 1


@pytest.mark.parametrize(("button", "control"), [(STOP, "stop"), (CONTINUE, "continue")])
async def test_a_button_that_an_earlier_process_drew_is_understood(button: str, control: str) -> None:
    """Whichever key it carries, or none."""
    async with serving() as (sim, ears):
        custom_ids = (button, f"{button}:5f2a-0")
        posts = [
            sim.world.create(sim.channel, {"content": "Hello.", "components": row(each)}, ())[0] for each in custom_ids
        ]
        presses = [sim.press(post, button) for post in posts]
        await sim.until(lambda: all(press.acknowledged_at is not None for press in presses))
        assert [event.control for event, _ in ears.heard if isinstance(event, Pressed)] == [control, control]


async def test_whoever_pressed_can_be_told_something_in_private() -> None:
    async with serving() as (sim, ears):
        sim.say(sim.channel, "hi")
        _, reply = await ears.question()
        await reply.send(Frame("Hel", State.STREAMING), "part-0")
        bob = sim.add_user("bob")
        press = sim.press(sim.answers(sim.channel)[0], STOP, bob)
        await ears.count(2)
        await sim.until(lambda: press.acknowledged_at is not None)
        await ears.heard[1][1].send(Frame("Only Ada may stop it.", State.FINAL, private=True), "no")
        assert [post.only_for for post in press.answers] == [bob.id]
        assert len(sim.answers(sim.channel)) == 1


async def test_typing_is_told_where_it_is_wanted() -> None:
    async with serving(typing_events=True) as (sim, ears):
        sim.type(sim.channel)
        event = await heard(ears)
        assert isinstance(event, Typing)
        assert event.by.id == sim.user.id


async def test_typing_in_private_is_told_too() -> None:
    """There Discord sends no more than the person's number, which discord.py may not know after a restart."""
    async with serving(typing_events=True) as (sim, ears):
        sim.type(sim.private())
        event = await heard(ears)
        assert isinstance(event, Typing)
        assert (event.by.id, event.conversation.private) == (sim.user.id, True)


async def test_typing_is_not_asked_for_otherwise() -> None:
    async with serving() as (sim, ears):
        sim.type(sim.channel)
        sim.say(sim.channel, "hi")
        assert isinstance(await heard(ears), Message)


async def test_a_press_of_a_button_that_is_not_there_is_forged() -> None:
    """An answer that is long over would be withdrawn, from a place that knows nothing of it."""
    async with serving() as (sim, ears):
        post, _ = sim.world.create(sim.channel, {"content": "Hello.", "components": row(REGENERATE)}, ())
        press = sim.interactions.forge(sim.add_channel("elsewhere"), post, STOP, sim.user)
        await sim.until(lambda: press.acknowledged_at is not None)
        assert [answer.text for answer in press.answers] == [OUT_OF_USE]
        assert ears.heard == []
