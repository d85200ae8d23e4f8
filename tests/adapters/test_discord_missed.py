"""Messages that nobody heard are read from the channels, with nothing lost and nothing twice."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from clawdbot.chat import Conversation, Message, Rate
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.contract import Ears, running
from clawdbot.testing.discord import Channel, DiscordHarness, Rates, SimDiscord
from clawdbot.testing.faults import Fault, Trouble
from clawdbot_discord import DiscordAdapter
from clawdbot_discord.controls import CONTROLS
from clawdbot_discord.missed import MOST_MESSAGES, PAGE

from .discord_bot import DiscordBot, settings_for


def said(ears: Ears) -> list[str]:
    return [event.text for event, _ in ears.heard if isinstance(event, Message)]


def chat_of(channel: Channel) -> Conversation:
    return Conversation("discord", channel.id, private=True)


@asynccontextmanager
async def started(sim: SimDiscord, *known: Channel) -> AsyncIterator[Ears]:
    """A new process at work on ``sim``, told of the private chats ``known``."""

    def build(server: SimDiscord) -> DiscordAdapter:
        adapter = DiscordAdapter(settings_for(server), server.clock)
        adapter.catch_up([chat_of(channel) for channel in known])
        return adapter

    harness = DiscordHarness(build, CONTROLS, sim)
    async with harness, running(harness) as ears:
        yield ears


async def test_more_than_one_call_brings_is_read_in_its_order() -> None:
    sim = SimDiscord()
    texts = [f"question {number}" for number in range(2 * PAGE + 50)]
    for text in texts:
        sim.say(sim.channel, text)
    async with started(sim) as ears:
        await ears.count(len(texts))
        assert said(ears) == texts
        assert len(sim.calls_of("GET messages")) == 3


async def test_there_is_an_end_to_it_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """The oldest are read: they have waited longest."""
    caplog.set_level(logging.WARNING)
    sim = SimDiscord(rates=Rates(whole_bot=Rate(1000, 1.0)))
    for number in range(MOST_MESSAGES + 1):
        sim.say(sim.channel, "lunch?" if number else "are you there?", mention_bot=not number)
    async with started(sim) as ears:
        await sim.until(lambda: len(sim.calls_of("GET messages")) == MOST_MESSAGES // PAGE)
        sim.say(sim.private(), "hi")
        await ears.count(2)
        assert said(ears) == ["are you there?", "hi"]
        assert f"more than {MOST_MESSAGES} messages were missed in {sim.channel.id}" in caplog.text


async def test_a_refused_call_is_made_again_when_the_platform_says() -> None:
    sim = SimDiscord()
    sim.faults.add("GET messages", Fault(Trouble.LIMITED, 0.2))
    sim.say(sim.channel, "are you there?")
    async with started(sim) as ears:
        await ears.question()
        refused, taken = sim.calls_of("GET messages")
        assert (refused.status, taken.status) == (429, 200)
        assert taken.at - refused.at >= 0.2


@pytest.mark.parametrize("trouble", [Trouble.BAD_GATEWAY, Trouble.RESET_BEFORE])
async def test_a_call_that_went_wrong_is_made_again(clock: ManualClock, trouble: Trouble) -> None:
    """One bad moment of the network must not lose what people asked."""
    sim = SimDiscord(clock=clock)
    sim.faults.add("GET messages", Fault(trouble))
    sim.say(sim.channel, "are you there?")
    async with started(sim) as ears:
        await sim.until(lambda: len(sim.calls_of("GET messages")) == 1)
        while len(sim.calls_of("GET messages")) < 2:
            await clock.advance(1.0)
        message, _ = await ears.question()

    assert message.text == "are you there?"
    assert [call.status for call in sim.calls_of("GET messages")][-1] == 200


async def test_a_channel_that_cannot_be_read_does_not_keep_the_others_waiting() -> None:
    sim = SimDiscord()
    secret = sim.add_channel("secret")
    for channel in (sim.channel, secret):
        sim.say(channel, "are you there?")
    secret.closed = 50001
    async with started(sim) as ears:
        event, _ = await ears.question()
        assert event.conversation.chat == sim.channel.id


async def test_private_chats_of_earlier_runs_are_read_after_a_restart() -> None:
    """Discord lists none to a bot; the core has them in its store."""
    sim = SimDiscord()
    chats = [sim.private(), sim.private(sim.add_user("bob"))]
    for chat in chats:
        sim.say(chat, "are you there?")
    async with started(sim, *chats) as ears:
        await ears.count(2)
        assert {event.conversation for event, _ in ears.heard if isinstance(event, Message)} == set(map(chat_of, chats))


async def test_what_was_asked_in_private_while_the_bot_was_away_is_answered(tmp_path: Path) -> None:
    async with SimDiscord() as sim:
        chat = sim.private()
        bot = DiscordBot(sim, tmp_path)
        async with bot.running():
            await sim.online()
            sim.say(chat, "hi")
            await sim.until(lambda: [post.text for post in sim.answers(chat)] == ["You said: hi"])
        sim.gateway.forget()
        sim.say(chat, "are you there?")
        async with bot.running():
            await sim.until(lambda: len(sim.answers(chat)) == 2 and not sim.answers(chat)[1].now.growing)

    assert [post.text for post in sim.answers(chat)] == ["You said: hi", "You said: are you there?"]


async def test_what_was_answered_before_a_crash_is_not_answered_again(tmp_path: Path) -> None:
    """A new process reads all that is fresh; the store knows which of it is new."""
    async with SimDiscord() as sim:
        chats = [sim.private(), sim.channel]
        bot = DiscordBot(sim, tmp_path)
        async with bot.running():
            await sim.online()
            for chat in chats:
                sim.say(chat, "hi")
            await sim.until(
                lambda: all([post.text.endswith("hi") for post in sim.answers(chat)] == [True] for chat in chats)
            )
        sim.gateway.forget()
        async with bot.running():
            await sim.until(lambda: len(sim.calls_of("GET messages")) == 2)
            sim.say(sim.channel, "and again")
            await sim.until(lambda: sim.answers(sim.channel)[-1].text.endswith("and again"))
            assert len(bot.requests) == 3
            assert [len(sim.answers(chat)) for chat in chats] == [1, 2]
