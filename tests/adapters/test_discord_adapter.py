"""The Discord adapter's life: sessions, gaps, tokens; on a simulated Discord with the unmodified discord.py."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pydantic import SecretStr, ValidationError

from clawdbot.chat import Frame, Message, State
from clawdbot.errors import AdapterError, Unauthorized, Unreachable
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.contract import Ears, running
from clawdbot.testing.discord import DiscordHarness, SimDiscord
from clawdbot.testing.faults import Fault, Trouble
from clawdbot_discord import DiscordAdapter, DiscordSettings, plugin
from clawdbot_discord.controls import CONTROLS


def settings(sim: SimDiscord, **others: object) -> DiscordSettings:
    given = {"api_url": sim.rest_url, "gateway_url": sim.gateway_url, "identify_delay": 0.0, "keep_warm": 0.0}
    return DiscordSettings.model_validate({"token": sim.token, **given, **others})


@asynccontextmanager
async def serving(sim: SimDiscord | None = None, **others: object) -> AsyncIterator[tuple[SimDiscord, Ears]]:
    """An adapter at work on ``sim``, and what it hears."""
    harness = DiscordHarness(lambda server: DiscordAdapter(settings(server, **others)), CONTROLS, sim)
    async with harness, running(harness) as ears:
        yield harness.sim, ears


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
        talk = sim.add_channel("Lounge", voice=True)
        for channel in (sim.channel, thread, talk):
            sim.say(channel, "lunch?", mention_bot=False)
            sim.say(channel, "are you there?")
        run, ears = DiscordAdapter(settings(sim)), Ears()
        task = asyncio.create_task(run.run(ears.receive))
        await ears.count(3)
        task.cancel()
        await asyncio.wait((task,))
        heard_in = {event.conversation.chat for event, _ in ears.heard if isinstance(event, Message)}
        assert heard_in == {sim.channel.id, thread.id, talk.id}


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
    async with serving() as (sim, ears):
        chat = sim.private()
        post = sim.say(chat, "hi")
        sim.world.emit("MESSAGE_CREATE", sim.world.message_json(chat, post), chat)
        sim.say(chat, "and again")
        await ears.count(2)
        assert [event.text for event, _ in ears.heard if isinstance(event, Message)] == ["hi", "and again"]


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


async def test_a_refused_token_is_told_with_what_to_do() -> None:
    async with SimDiscord() as sim:
        with pytest.raises(Unauthorized, match=r"refuses the token\. Reset it"):
            await DiscordAdapter(settings(sim, token="wrong")).run(Ears().receive)


@pytest.mark.parametrize("token", ["", "two\nlines", "a\x01b", "a b"])
async def test_what_cannot_be_a_token_is_told_before_it_is_tried(token: str) -> None:
    """Such as a file with a second line: discord.py could not even send it, and would be started again for ever."""
    async with SimDiscord() as sim:
        with pytest.raises(Unauthorized, match="no Discord token"):
            await DiscordAdapter(settings(sim, token=token)).run(Ears().receive)


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
    reply = DiscordAdapter(DiscordSettings(token=SecretStr("t"))).reply("1:2")
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

    assert {call.status for call in sim.calls_of("GET gateway")} == {200}


async def test_an_outage_of_warm_connections_is_told_twice(caplog: pytest.LogCaptureFixture) -> None:
    """When it begins and when it is over; in between it would fill the log and say nothing new."""
    caplog.set_level(logging.INFO)
    async with serving(keep_warm=0.01) as (sim, _):
        await sim.until(lambda: len(sim.calls_of("GET gateway")) >= 2)
        sim.faults.add("GET gateway", *[Fault(Trouble.ERROR)] * 12)
        before = len(sim.calls_of("GET gateway"))
        await sim.until(lambda: len(sim.calls_of("GET gateway")) >= before + 20)

    told = [(record.levelname, record.message) for record in caplog.records if "warm" in record.message]
    assert [level for level, _ in told] == ["WARNING", "INFO"]


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ValidationError, match="tokens"):
        plugin.settings.model_validate({"token": "x", "tokens": "x"})


def test_a_pace_has_one_corner_at_least() -> None:
    with pytest.raises(ValidationError, match="by_age"):
        plugin.settings.model_validate({"token": "x", "by_age": []})


def test_addresses_need_their_scheme() -> None:
    with pytest.raises(ValidationError, match="api_url"):
        DiscordSettings(token=SecretStr("x"), api_url="localhost:8080")
