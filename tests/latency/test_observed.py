"""What whoever watches the core is told."""

from collections.abc import Callable

import pytest

from clawdbot.chat import Rate
from clawdbot.errors import Limited
from clawdbot.latency.observed import Call, Failed, Received, Shown
from clawdbot.settings.config import Quota, SessionSettings
from clawdbot.testing.engine import Script
from clawdbot.testing.memory import Mishap, limits
from clawdbot.testing.rig import ADMIN, EVE, Rig, silent, slow

NewRig = Callable[..., Rig]


def received(rig: Rig) -> list[str]:
    return [fact.verdict for fact in rig.facts if isinstance(fact, Received)]


def calls(rig: Rig) -> list[Call]:
    return [fact for fact in rig.facts if isinstance(fact, Call)]


async def test_every_message_is_told_with_its_verdict(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        bot.platform.say("Hello")
        bot.platform.say("/help", ADMIN)
        bot.platform.say("Hello", EVE)
        bot.platform.say("Hello", age=100_000.0)
        bot.platform.say("x" * 200_000)
        await bot.idle()

    assert sorted(received(bot)) == ["command", "question", "stranger", "too long", "too old"]


async def test_a_question_that_finds_no_room_says_which_limit_it_met(rig: NewRig) -> None:
    bot = rig(silent, sessions=SessionSettings(busy="refuse"))
    async with bot.running():
        bot.platform.say("One")
        await bot.rest()
        bot.platform.say("Two")
        await bot.rest()

        assert received(bot) == ["question", "busy"]


async def test_a_quota_is_told_every_time(rig: NewRig) -> None:
    """Its owner gets one notice; whoever watches has to see how often it is met."""
    bot = rig(quota=Quota(messages_per_hour=1))
    async with bot.running():
        for _ in range(3):
            bot.platform.say("Hello")
            await bot.idle()

    assert received(bot) == ["question", "quota", "quota"]


async def test_a_question_that_comes_twice_counts_once(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        bot.platform.say("Hello", id="same")
        await bot.idle()
        bot.platform.say("Hello", id="same")
        await bot.idle()

    assert received(bot) == ["question"]


async def test_calls_are_told_with_what_they_are_and_how_they_end(rig: NewRig) -> None:
    bot = rig(slow)
    async with bot.running():
        reply = bot.platform.say("Hello")
        reply.inject("edit", Mishap(Limited(7.0)))
        await bot.idle()

    kinds = [(call.kind, type(call.error)) for call in calls(bot)]
    assert kinds[:3] == [("typing", type(None)), ("send", type(None)), ("edit", Limited)]
    assert {call.platform for call in calls(bot)} == {"memory"}


async def test_a_call_is_told_with_its_duration(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        bot.platform.say("Hello").inject("send", Mishap(delay=0.25))
        await bot.idle()

    assert [call.seconds for call in calls(bot) if call.kind == "send"] == [0.25]


async def test_a_frame_is_told_with_the_time_that_its_oldest_text_had_been_missing(rig: NewRig) -> None:
    """The model writes a word a second; one edit in 5 s is allowed, so text waits to be seen."""
    bot = rig(slow)
    async with bot.running():
        bot.platform.say("Hello", allowed=limits(place=(Rate(1, 5.0),), shared=True))
        await bot.idle()

    lags = [fact.lag for fact in bot.facts if isinstance(fact, Shown)]
    assert lags[0] == pytest.approx(0.0)
    assert lags[-1] > 1.0


async def test_an_answer_that_failed_is_told(rig: NewRig) -> None:
    bot = rig(lambda request: Script([], fails=True))
    async with bot.running():
        bot.platform.say("Hello")
        await bot.idle()

    assert [fact for fact in bot.facts if isinstance(fact, Failed)] == [Failed("memory", "demo")]
