"""What a whole bot does while a platform asks it to wait."""

from collections.abc import Callable, Iterable

import pytest

from clawdbot.chat import Pace, Rate
from clawdbot.errors import Limited
from clawdbot.testing.engine import Script
from clawdbot.testing.memory import Call, MemoryReply, Mishap, limits
from clawdbot.testing.rig import BOB, EVE, Rig, slow

NewRig = Callable[..., Rig]

CHAT = limits(name="chat 1", place=(Rate(3, 1.1), Rate(20, 61.0)), shared=True)
"""As on Telegram: sends, edits and typing of a chat share one limit."""


def made(replies: Iterable[MemoryReply]) -> list[Call]:
    return sorted((call for reply in replies for call in reply.calls), key=lambda call: call.at)


@pytest.mark.parametrize("wait", [30.0, 280.0, 14_000.0])
async def test_a_chat_that_is_limited_gets_no_call_of_any_kind(rig: NewRig, wait: float) -> None:
    """Neither edits nor typing, notices, refusals or help, whoever asks for them; then all of it arrives.

    The wait is the platform's: not capped, not halved, not doubled.
    """
    bot = rig(slow)
    async with bot.running():
        here = [bot.platform.say("Count", allowed=CHAT)]
        await bot.advance(1.5)
        here[0].inject("edit", Mishap(Limited(wait)))
        await bot.advance(1.5)
        refused_at = here[0].made("edit")[-1].at
        here += [bot.platform.say(text, by, allowed=CHAT) for text, by in (("/help", BOB), ("Hi", EVE), ("More", BOB))]
        await bot.idle()

    during = [call for call in made(here) if refused_at < call.at < refused_at + wait]
    first_after = next(call for call in made(here) if call.at > refused_at)
    assert during == []
    assert first_after.at == pytest.approx(refused_at + wait)
    assert here[0].screen.texts == here[3].screen.texts == ["One two three four."]
    assert len(here[1].screen.texts) == len(here[2].screen.texts) == 1


@pytest.mark.parametrize("wait", [30.0, 280.0, 14_000.0])
async def test_other_chats_go_on_while_one_is_limited(rig: NewRig, wait: float) -> None:
    bot = rig(slow)
    async with bot.running():
        limited = bot.platform.say("Count", allowed=CHAT)
        await bot.advance(1.5)
        limited.inject("edit", Mishap(Limited(wait)))
        await bot.advance(1.5)
        asked_at = bot.clock.now()
        others = [bot.platform.say("Count", BOB, chat=chat) for chat in range(2, 8)]
        await bot.advance(5.0)
        assert [other.screen.texts for other in others] == [["One two three four."]] * 6
        assert max(other.calls[-1].at for other in others) - asked_at < 5.0
        await bot.idle()


@pytest.mark.parametrize("wait", [30.0, 280.0, 14_000.0])
async def test_the_final_text_survives_a_restart_during_the_wait(rig: NewRig, wait: float) -> None:
    """The frames in between are dropped; the stored text is sent, once, and the model is not asked again.

    Nor does the next process call before the wait is over: it would be refused, and a platform may take that ill.
    """
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count", allowed=CHAT)
        await bot.advance(1.5)
        answer.inject("edit", Mishap(Limited(wait)))
        await bot.advance(wait / 2)
    async with bot.running():
        await bot.idle()

    assert answer.early == []
    assert answer.screen.texts == ["One two three four."]
    assert (len(answer.made("send")), len(bot.requests)) == (1, 1)


async def test_edits_end_with_the_answer_however_fast_the_model_is(rig: NewRig) -> None:
    """200 tokens in a second: frames are dropped, not queued; the whole text is there a moment after the last."""
    words = [f"word{number} " for number in range(200)]
    allowed = limits(name="chat 1", place=(Rate(5, 5.0),), pace=Pace(first=(0.4,), by_age=((0.0, 1.25),)))
    bot = rig(lambda request: Script(words, first=0.1, gap=0.005))
    async with bot.running():
        began = bot.clock.now()
        answer = bot.platform.say("Go", allowed=allowed)
        await bot.idle()

    assert " ".join(answer.screen.texts).split() == "".join(words).split()
    assert answer.most_in_flight == 1
    assert answer.calls[-1].at - (began + 1.1) < 5.0
    assert len(answer.calls) <= 8


async def test_two_answers_in_one_channel_share_its_limit(rig: NewRig) -> None:
    """Two people ask at once in one group: together they stay within 20 calls a minute, and both answers are whole."""
    tokens = [f"word{number} " for number in range(60)]
    group = limits(name="group", place=(Rate(20, 61.0),), shared=True)
    bot = rig(lambda request: Script(tokens, first=0.5, gap=1.0))
    async with bot.running():
        answers = [bot.platform.say("Go", by, chat=chat, allowed=group) for chat, by in ((1, BOB), (2, BOB))]
        await bot.idle()

    times = [call.at for call in made(answers)]
    assert [len([at for at in times if start <= at < start + 60.0]) for start in times if start] < [21] * len(times)
    assert [answer.screen.texts[0].split() for answer in answers] == ["".join(tokens).split()] * 2
