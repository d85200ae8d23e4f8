"""The engine sleeps when nobody asks anything and wakes for the next question, seen from a whole bot."""

from collections.abc import Callable

import pytest

from clawdbot import words
from clawdbot.abilities import Phase
from clawdbot.chat import State
from clawdbot.engine.settings import EngineSettings
from clawdbot.ops.readings import read
from clawdbot.settings.config import AnswerSettings
from clawdbot.testing.engine import Script
from clawdbot.testing.rig import Rig, question, slow

NewRig = Callable[..., Rig]

SLEEPY = EngineSettings(sleep_after=5.0)
MINUTE = 60.0


@pytest.mark.parametrize("engines_sleep", [True, False], ids=["sleeps", "is closed"])
async def test_the_next_question_wakes_it(rig: NewRig, *, engines_sleep: bool) -> None:
    """With a notice after the usual second; the question is answered as any other."""
    bot = rig(slow, engine=SLEEPY)
    bot.engines_sleep = engines_sleep
    async with bot.running():
        bot.platform.say("Count")
        await bot.idle()
        await bot.advance(5 * MINUTE)
        asleep = bot.app.host.phase
        bot.loaded.clear()
        answer = bot.platform.say("Again")
        if not engines_sleep:
            await bot.advance(0.9)
            assert answer.screen.texts == []
            await bot.advance(0.2)
            assert (answer.screen.texts, answer.screen.states) == ([words.WAKING], [State.WAITING])
            bot.loaded.set()
        await bot.idle()

    assert asleep is Phase.ASLEEP
    assert answer.screen.texts == ["One two three four."]
    assert len(bot.engines) == (1 if engines_sleep else 2)
    assert bot.engines[0].naps == (1 if engines_sleep else 0)


async def test_it_never_sleeps_under_an_answer(rig: NewRig) -> None:
    """Nor while a question waits for its turn: only what is over counts as rest."""
    bot = rig(lambda request: Script(["One ", "two."], gap=6 * MINUTE), engine=SLEEPY)
    bot.engines_sleep = True
    async with bot.running():
        answers = [bot.platform.say("Count"), bot.platform.say("Count")]
        await bot.idle()
        naps = bot.engines[0].naps
        await bot.advance(4 * MINUTE)
        awake = bot.app.host.phase
        await bot.advance(1 * MINUTE)

    assert [answer.screen.texts for answer in answers] == [["One two."]] * 2
    assert (naps, awake, bot.engines[0].naps) == (0, Phase.READY, 1)


async def test_what_every_prompt_begins_with_is_read_again(rig: NewRig) -> None:
    """Its sleep has emptied the prefix cache: nobody may count on what it had read."""
    system = "Be brief. " * 20
    bot = rig(engine=SLEEPY, answers=AnswerSettings(system_prompt=system))
    bot.engines_sleep = True
    async with bot.running():
        await bot.rest()
        await bot.advance(5 * MINUTE)
        bot.platform.say("Hello")
        await bot.idle()
        await bot.rest()

    ahead = [request for request in bot.requests if request.id.startswith("ahead/")]
    assert [(request.conversation, question(request.prompt) in system) for request in ahead] == [("", True)] * 2
    assert [question(request.prompt) for request in bot.requests if not request.id.startswith("ahead/")] == ["Hello"]


async def test_somebody_who_gives_up_lets_it_sleep_again(rig: NewRig) -> None:
    """Stop while it wakes."""
    bot = rig(slow, engine=SLEEPY)
    async with bot.running():
        await bot.advance(5 * MINUTE)
        bot.loaded.clear()
        answer = bot.platform.say("Count")
        await bot.advance(2.0)
        bot.platform.press("stop", answer)
        await bot.idle()
        bot.loaded.set()
        await bot.advance(5 * MINUTE)

        assert bot.app.host.phase is Phase.ASLEEP
    assert answer.screen.states == [State.STOPPED]
    assert bot.requests == []


async def test_it_stays_awake_unless_that_is_wanted(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        await bot.advance(24 * 60 * MINUTE)

        assert bot.app.host.phase is Phase.READY


async def test_a_bot_whose_engine_sleeps_is_ready(rig: NewRig) -> None:
    """Whoever watches its readiness must not restart it every night."""
    bot = rig(engine=SLEEPY)
    async with bot.running():
        await bot.advance(5 * MINUTE)

        assert bot.app.host.phase is Phase.ASLEEP
        assert read(bot.app, {}).troubles == []
