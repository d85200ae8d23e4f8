"""Crashes and restarts at any moment, and that nothing holds up the loop meanwhile, seen from a whole bot."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from clawdbot import words
from clawdbot.testing.engine import CHARACTERS, Script
from clawdbot.testing.memory import limits
from clawdbot.testing.rig import ADA, BOB, Rig, slow
from clawdbot_telegram.render import Renderer

NewRig = Callable[..., Rig]

WHOLE = "One two three four."
BEGINNINGS = ("One", "One two", "One two three", WHOLE)
ENDINGS = {WHOLE} | {f"{text}\n\n{words.INTERRUPTED_MARK}" for text in BEGINNINGS}
LONGEST = 0.25
"""Seconds of CPU in which nothing else on the loop gets its turn: Discord wants a heartbeat every 41 s and closes the
connection after one that it misses; other people's first words want it sooner."""


def is_settled(texts: list[str]) -> bool:
    """Whether an answer is there once and says what it is: whole, or honestly marked."""
    return len(texts) == 1 and texts[0] in ENDINGS


@pytest.mark.parametrize("moment", [0.0, 0.4, 1.0, 1.2, 1.9, 2.0, 2.7, 3.3, 4.0, 4.1, 5.0, 6.0, 8.5, 12.0])
async def test_a_crash_leaves_one_answer_or_an_honest_mark_below_each_question(rig: NewRig, moment: float) -> None:
    """Two questions of one conversation, one of which waits, and one of another."""
    bot = rig(slow)
    async with bot.running():
        for text, by, chat in (("First", ADA, 1), ("Second", ADA, 1), ("Third", BOB, 2)):
            bot.platform.say(text, by, chat=chat)
        await bot.advance(moment)
    async with bot.running():
        await bot.idle()

    assert [texts for texts in bot.screens.values() if not is_settled(texts)] == []
    assert len(bot.screens) == 3


@pytest.mark.parametrize("steps", range(0, 60, 3))
async def test_a_crash_between_any_two_steps_of_the_loop_loses_nothing(rig: NewRig, steps: int) -> None:
    """Also while the question is being stored, before its answer is noted, and in the middle of a call."""
    bot = rig(lambda request: Script(["One ", "two ", "three ", "four."]))
    async with bot.running():
        reply = bot.platform.say("Count")
        for _ in range(steps):
            await asyncio.sleep(0)
    async with bot.running():
        bot.platform.say("Count", id=reply.ref)
        await bot.idle()

    assert is_settled(reply.screen.texts)


@pytest.mark.parametrize("steps", range(0, 60, 4))
async def test_a_crash_between_any_two_steps_of_another_answer_loses_nothing(rig: NewRig, steps: int) -> None:
    """Its reader has the former answer, the new one, or a beginning of it with a mark; the history has the same."""
    answers = iter(("Old.", "New one.", "Newer one."))
    bot = rig(lambda request: Script([f"{word} " for word in next(answers).split()]))
    async with bot.running():
        reply = bot.platform.say("Count")
        await bot.idle()
        bot.platform.press("regenerate", reply)
        for _ in range(steps):
            await asyncio.sleep(0)
    async with bot.running():
        await bot.idle()
        history = await bot.app.store.history("memory:1:0", CHARACTERS)
        left = await bot.app.store.unfinished()

    (shown,) = reply.screen.texts
    assert shown.removesuffix(f"\n\n{words.INTERRUPTED_MARK}") in ("Old.", "New", "New one.", "Newer one.")
    assert shown.startswith(history[1].text.strip())
    assert left == []


async def test_crash_after_crash_ends_with_one_answer(rig: NewRig) -> None:
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.rest()
    for _ in range(5):
        async with bot.running():
            await bot.advance(0.7)
    async with bot.running():
        await bot.idle()

    assert is_settled(answer.screen.texts)


async def test_nothing_holds_up_the_loop(rig: NewRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Heartbeats are in time while a very long answer in dense Markdown is drawn, split, stored and ended."""
    longest = 0.0
    run = asyncio.Handle._run

    def measured(handle: asyncio.Handle) -> None:
        nonlocal longest
        started = time.thread_time()
        run(handle)
        longest = max(longest, time.thread_time() - started)

    line = "- **word** and `code` in a [link](https://example.org), *more* of it\n"
    tokens = [line * 800]
    allowed = replace(limits(name="telegram"), fits=Renderer(4096, 100).fits, size=4096)
    bot = rig(lambda request: Script(tokens, gap=0.05))
    async with bot.running():
        monkeypatch.setattr(asyncio.Handle, "_run", measured)
        answer = bot.platform.say("Write a book", allowed=allowed)
        await bot.idle()
        monkeypatch.undo()

    assert answer.screen.frames[-1].files
    assert longest < LONGEST
