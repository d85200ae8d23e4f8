"""Nothing is shown twice and nothing is lost, seen from a whole bot or a whole adapter."""

from collections.abc import Callable
from functools import partial

from pydantic import SecretStr

from clawdbot import words
from clawdbot.chat import State
from clawdbot.clock import SystemClock
from clawdbot.delivery.live import LiveReply
from clawdbot.delivery.pace import Budgets
from clawdbot.errors import Limited
from clawdbot.settings.config import SessionSettings
from clawdbot.testing.contract import running
from clawdbot.testing.engine import Script
from clawdbot.testing.memory import NO_MISHAP, Mishap, limits
from clawdbot.testing.rig import ADA, BOB, Rig, slow
from clawdbot.testing.telegram import TelegramHarness
from clawdbot_telegram import TelegramAdapter, TelegramSettings

NewRig = Callable[..., Rig]

WORDS = [f"word{number:04}" for number in range(1000)]


def telegram(rates: tuple[tuple[int, float], ...]) -> Callable[..., TelegramAdapter]:
    """An adapter that may call as often as ``rates`` say, so that the test need not wait."""
    pace = {"rates": rates, "first": (), "by_age": ((0.0, 0.05),)}
    return lambda sim: TelegramAdapter(
        TelegramSettings.model_validate(
            {"token": SecretStr(sim.token), "base_url": sim.url, "private": pace, "bot_rates": rates}
        )
    )


def shows(harness: TelegramHarness, word: str) -> bool:
    return word in " ".join(harness.screen())


async def test_a_long_answer_on_telegram_shows_every_character_once() -> None:
    """9,000 characters that grow over three messages, read off the screen of the simulated platform."""
    async with TelegramHarness(telegram(((1000, 1.0),))) as harness, running(harness) as ears:
        harness.say("Count to a thousand")
        _, reply = await ears.question()
        async with LiveReply(reply, key="k", budgets=Budgets(), clock=SystemClock()) as answer:
            for count in range(100, len(WORDS) + 1, 100):
                answer.show(" ".join(WORDS[:count]))
                await harness.until(partial(shows, harness, WORDS[count - 1]))
            await answer.finish(" ".join(WORDS), State.FINAL)

        assert len(harness.screen()) == 3
        assert " ".join(harness.screen()).split() == WORDS


async def test_only_the_part_that_is_missing_is_sent_after_a_restart(rig: NewRig) -> None:
    """The first part was taken, the second refused: the answer counts as not delivered, and no part comes twice."""
    allowed = limits(size=60)
    bot = rig(lambda request: Script([f"{word} " for word in WORDS[:12]]))
    async with bot.running():
        answer = bot.platform.say("Count", allowed=allowed)
        answer.inject("send", NO_MISHAP, Mishap(Limited(3600.0)))
        await bot.advance(60.0)
        assert len(answer.screen.texts) == 1
    async with bot.running():
        await bot.idle()

    assert " ".join(answer.screen.texts).split() == WORDS[:12]
    assert {call.part for call in answer.made("send")[1:]} == {1}
    assert len(bot.requests) == 1


async def test_an_answer_never_lands_below_another_question(rig: NewRig) -> None:
    """Thirty people in ten chats at once."""
    bot = rig(sessions=SessionSettings(share=100, waiting=100, queue=100))
    async with bot.running():
        asked = {
            f"Question {number}": bot.platform.say(f"Question {number}", (ADA, BOB)[number % 2], chat=number % 10)
            for number in range(30)
        }
        await bot.idle()

    assert {text: reply.screen.texts for text, reply in asked.items()} == {
        text: [f"You said: {text}"] for text in asked
    }


async def test_what_goes_wrong_in_mid_answer_keeps_what_was_read(rig: NewRig) -> None:
    """What is there stays, with a fixed sentence below it; the text of the error is shown to nobody."""
    bot = rig(lambda request: Script(["One ", "two "], gap=1.0, fails=True))
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()

    assert answer.screen.texts == [f"One two\n\n{words.INTERRUPTED_MARK}"]


async def test_a_question_that_is_delivered_again_is_answered_once(rig: NewRig) -> None:
    """At once, while it is answered, afterwards and after a restart."""
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count", id="same")
        bot.platform.say("Count", id="same")
        await bot.advance(2.5)
        bot.platform.say("Count", id="same")
        await bot.idle()
        bot.platform.say("Count", id="same")
        await bot.idle()
    async with bot.running():
        bot.platform.say("Count", id="same")
        await bot.idle()

    assert answer.screen.texts == ["One two three four."]
    assert len(bot.requests) == 1
