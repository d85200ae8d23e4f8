"""The line below an answer that says how fast it came, seen from a whole bot."""

from collections.abc import Callable

import pytest

from clawdbot.chat import Limits, State
from clawdbot.settings.config import AnswerSettings
from clawdbot.testing.engine import CHARACTERS, Script
from clawdbot.testing.rig import Rig, slow, turns

from .test_length import PLATFORMS, long_answer

NewRig = Callable[..., Rig]

FOOTED = AnswerSettings(system_prompt="", footer=True)


async def test_it_stands_below_the_text_and_is_no_part_of_it(rig: NewRig) -> None:
    """Neither of what is stored nor of what the next question's prompt says."""
    bot = rig(slow, answers=FOOTED)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()
        history = await bot.app.store.history("memory:1:0", CHARACTERS)
        bot.platform.say("Again")
        await bot.idle()

    (frame,) = answer.screen.frames
    assert (frame.text, frame.footnote) == ("One two three four.", "first word 1.00 s · 1.0 tok/s · 0% cached")
    assert [turn.text for turn in history] == ["Count", frame.text]
    assert turns(bot.requests[1].prompt)[1] == ("assistant", frame.text)
    assert {call.frame.footnote for call in answer.calls if call.frame and not call.frame.state.lasting} == {""}


async def test_it_is_there_only_when_it_is_wanted(rig: NewRig) -> None:
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()

    assert [frame.footnote for frame in answer.screen.frames] == [""]


async def test_an_answer_that_was_cut_short_has_none(rig: NewRig) -> None:
    """Its mark is what counts."""
    bot = rig(slow, answers=FOOTED)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(2.5)
        bot.platform.press("stop", answer)
        await bot.idle()

    assert [(frame.state, frame.footnote) for frame in answer.screen.frames] == [(State.STOPPED, "")]


async def test_an_answer_that_is_written_anew_has_none(rig: NewRig) -> None:
    """Its question came long ago: the first word would seem to have taken that long."""
    bot = rig(slow, answers=FOOTED)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()
        await bot.advance(600.0)
        bot.platform.press("regenerate", answer)
        await bot.idle()

    assert len(bot.requests) == 2
    assert [(frame.state, frame.footnote) for frame in answer.screen.frames] == [(State.FINAL, "")]


@pytest.mark.parametrize("allowed", PLATFORMS.values(), ids=PLATFORMS)
@pytest.mark.parametrize("characters", [1900, 1960, 1990, 2000, 4040, 4090, 6000, 60_000])
async def test_it_fits_below_a_text_of_any_length(rig: NewRig, allowed: Limits, characters: int) -> None:
    """No message becomes too long by it, and none that is read already changes."""
    text = long_answer(characters)
    bot = rig(lambda request: Script([text[at : at + 300] for at in range(0, len(text), 300)], gap=0.2), answers=FOOTED)
    async with bot.running():
        answer = bot.platform.say("Write a page", allowed=allowed)
        await bot.idle()

    frames = answer.screen.frames
    assert [bool(frame.footnote) for frame in frames] == [*[False] * (len(frames) - 1), True]
    assert all(allowed.fits(f"{frame.text}\n\n*{frame.footnote}*") for frame in frames)
