"""The Discord adapter's life and what it hears, on a simulated Discord with the unmodified discord.py."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pydantic import SecretStr, ValidationError

from clawdbot.chat import Deleted, Edited, Event, Frame, Message, Pressed, State, Typing
from clawdbot.errors import AdapterError, Unauthorized, Unreachable
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.contract import Ears, running
from clawdbot.testing.discord import DiscordHarness, SimDiscord
from clawdbot_discord import DiscordAdapter, DiscordSettings, plugin
from clawdbot_discord.controls import CONTROLS, STOP


def settings(sim: SimDiscord, **others: object) -> DiscordSettings:
    given = {"api_url": sim.rest_url, "gateway_url": sim.gateway_url, "identify_delay": 0.0, "keep_warm": 0.0}
    return DiscordSettings.model_validate({"token": sim.token, **given, **others})


@asynccontextmanager
async def serving(sim: SimDiscord | None = None, **others: object) -> AsyncIterator[tuple[SimDiscord, Ears]]:
    """An adapter at work on ``sim``, and what it hears."""
    harness = DiscordHarness(lambda server: DiscordAdapter(settings(server, **others)), CONTROLS, sim)
    async with harness, running(harness) as ears:
        yield harness.sim, ears


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


async def test_typing_is_not_asked_for_otherwise() -> None:
    async with serving() as (sim, ears):
        sim.type(sim.channel)
        sim.say(sim.channel, "hi")
        assert isinstance(await heard(ears), Message)


async def test_a_reconnect_order_is_followed_by_a_resume_and_nothing_is_missed() -> None:
    async with serving() as (sim, ears):
        sim.gateway.order_reconnect()
        sim.say(sim.channel, "hi")
        event, _ = await ears.question()
        assert event.text == "hi"
        await sim.until(lambda: sim.gateway.resumed == 1)
        assert len(ears.heard) == 1


async def test_what_is_said_while_the_connection_is_broken_is_heard_after_the_resume() -> None:
    async with serving() as (sim, ears):
        sim.gateway.drop()
        await sim.until(lambda: not sim.gateway.connected)
        sim.say(sim.channel, "hi")
        event, _ = await ears.question()
        assert event.text == "hi"
        assert (sim.gateway.identified, sim.gateway.resumed) == (1, 1)


async def test_a_session_that_cannot_be_resumed_is_begun_anew() -> None:
    async with serving() as (sim, ears):
        sim.gateway.invalidate()
        await sim.until(lambda: sim.gateway.identified == 2)
        sim.say(sim.channel, "hi")
        event, _ = await ears.question()
        assert event.text == "hi"


async def test_what_no_resume_brings_is_fetched() -> None:
    """After a gap that cannot be resumed the channels are read over REST."""
    async with serving() as (sim, ears):
        sim.say(sim.channel, "hi")
        await ears.question()
        sim.gateway.forget()
        sim.gateway.drop()
        await sim.until(lambda: not sim.gateway.connected)
        sim.say(sim.channel, "lunch?", mention_bot=False)
        sim.say(sim.channel, "are you there?")
        event, reply = await ears.question(1)
        assert event.text == "are you there?"
        assert event.conversation.guild == sim.world.guild
        await reply.send(Frame("Yes.", State.FINAL), "part-0")
        assert len(ears.heard) == 2


async def test_what_is_said_in_private_during_a_gap_is_fetched() -> None:
    async with serving() as (sim, ears):
        sim.say(sim.private(), "hi")
        await ears.question()
        sim.gateway.forget()
        sim.gateway.drop()
        await sim.until(lambda: not sim.gateway.connected)
        sim.say(sim.private(), "are you there?")
        event, _ = await ears.question(1)
        assert (event.text, event.conversation.private) == ("are you there?", True)


async def test_what_was_said_before_the_start_is_fetched() -> None:
    """The process was restarted: a channel names its newest message, and that is fresh enough."""
    async with SimDiscord() as sim:
        thread = sim.add_thread(sim.channel, "birds")
        for channel in (sim.channel, thread):
            sim.say(channel, "lunch?", mention_bot=False)
            sim.say(channel, "are you there?")
        run, ears = DiscordAdapter(settings(sim)), Ears()
        task = asyncio.create_task(run.run(ears.receive))
        await ears.count(2)
        task.cancel()
        await asyncio.wait((task,))
        heard_in = {event.conversation.chat for event, _ in ears.heard if isinstance(event, Message)}
        assert heard_in == {sim.channel.id, thread.id}


async def test_what_was_said_too_long_ago_is_not_fetched(clock: ManualClock) -> None:
    sim = SimDiscord(clock=clock)
    old = sim.say(sim.channel, "are you there?")
    await clock.advance(901)
    adapter_settings: dict[str, object] = {"lookback": 900.0}
    harness = DiscordHarness(lambda server: DiscordAdapter(settings(server, **adapter_settings), clock), CONTROLS, sim)
    async with harness, running(harness) as ears:
        sim.say(sim.channel, "hi")
        event, _ = await ears.question()
        assert event.text == "hi"
        assert not event.id.endswith(str(old.id))
        assert sim.calls_of("GET messages") == []


async def test_a_message_that_comes_twice_is_heard_once() -> None:
    """From the history and from the gateway, or by a replay."""
    harness = DiscordHarness(lambda server: DiscordAdapter(settings(server)), CONTROLS)
    async with harness:
        async with running(harness) as ears:
            harness.say("hi")
            await ears.question()
        async with running(harness) as ears:
            harness.say("and again")
            event, _ = await ears.question()
            assert (event.text, len(ears.heard)) == ("and again", 1)


async def test_a_refused_first_handshake_ends_the_run_and_the_next_one_works() -> None:
    """discord.py 2.7 dies of it; the adapter says so in one kind of error and can be run again."""
    harness = DiscordHarness(lambda server: DiscordAdapter(settings(server)), CONTROLS)
    async with harness:
        harness.sim.gateway.refusals = 1
        with pytest.raises(AdapterError):
            await harness.adapter.run(Ears().receive)
        async with running(harness) as ears:
            harness.say("hi")
            await ears.question()


async def test_a_gateway_that_stays_away_ends_the_run() -> None:
    """discord.py's own waits grow to 17 minutes; a new client is there sooner."""
    harness = DiscordHarness(lambda server: DiscordAdapter(settings(server, patience=0.05)), CONTROLS)
    async with harness:
        run = asyncio.create_task(harness.adapter.run(Ears().receive))
        await harness.online()
        harness.sim.gateway.refusals = 1000
        harness.sim.gateway.drop()
        with pytest.raises(AdapterError, match=r"out of reach for 0\.05 s"):
            await run


async def test_no_token_is_refused_with_what_to_do() -> None:
    with pytest.raises(Unauthorized, match="CLAWDBOT_DISCORD_TOKEN"):
        await DiscordAdapter(DiscordSettings()).run(Ears().receive)


async def test_a_refused_token_is_told_with_what_to_do() -> None:
    async with SimDiscord() as sim:
        with pytest.raises(Unauthorized, match=r"refuses the token\. Reset it"):
            await DiscordAdapter(settings(sim, token="wrong")).run(Ears().receive)


async def test_a_token_that_only_the_gateway_refuses_is_told_too() -> None:
    async with SimDiscord() as sim:
        sim.gateway.token = "another"
        with pytest.raises(Unauthorized, match="refuses the token"):
            await DiscordAdapter(settings(sim)).run(Ears().receive)


async def test_a_missing_intent_is_told_with_where_to_switch_it_on() -> None:
    async with SimDiscord(message_content=False) as sim:
        with pytest.raises(Unauthorized, match="Message Content Intent"):
            await DiscordAdapter(settings(sim)).run(Ears().receive)


async def test_a_platform_out_of_reach_is_an_adapter_error() -> None:
    async with SimDiscord() as sim:
        nowhere = settings(sim)
    with pytest.raises(AdapterError):
        await DiscordAdapter(nowhere).run(Ears().receive)


async def test_answers_between_two_runs_cannot_be_sent_and_say_so() -> None:
    """They may be tried again: nothing left this process."""
    reply = DiscordAdapter(DiscordSettings()).reply("1:2")
    with pytest.raises(Unreachable):
        await reply.send(Frame("Hello.", State.FINAL), "part-0")


async def test_the_token_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever level somebody sets."""
    caplog.set_level(logging.DEBUG)
    async with serving() as (sim, ears):
        sim.say(sim.channel, "hi")
        _, reply = await ears.question()
        await reply.send(Frame("Hello.", State.FINAL), "part-0")
        sim.gateway.drop()
        await sim.until(lambda: sim.gateway.resumed == 1)
    async with SimDiscord() as sim:
        adapter = DiscordAdapter(settings(sim, token="wrong-but-secret"))
        with pytest.raises(Unauthorized) as refusal:
            await adapter.run(Ears().receive)
    written = caplog.text + repr(adapter) + str(refusal.value) + repr(settings(sim))
    assert "hi" in caplog.text
    assert sim.token not in written
    assert "wrong-but-secret" not in written


async def test_connections_are_kept_warm() -> None:
    """A first word must not wait for DNS, TCP and TLS, not even while a typing sign is on its way."""
    async with serving(keep_warm=0.01) as (sim, _):
        await sim.until(lambda: len(sim.calls_of("GET gateway")) >= 4)


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ValidationError, match="tokens"):
        plugin.settings.model_validate({"tokens": "x"})


def test_addresses_need_their_scheme() -> None:
    with pytest.raises(ValidationError, match="api_url"):
        DiscordSettings(token=SecretStr("x"), api_url="localhost:8080")
