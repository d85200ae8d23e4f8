"""Controls below a message that carries a file: the file is a part of how the bot names it, and of no event."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from clawdbot import words
from clawdbot.testing.engine import Script
from clawdbot.testing.telegram import SimTelegram
from clawdbot.testing.telegram.harness import GENEROUS
from clawdbot.testing.telegram.rules import Allowance
from clawdbot.testing.telegram.world import Shown

from .telegram_bot import TelegramBot

ADA = 1
LONG = "word " * 1000


@pytest.fixture
async def sim() -> AsyncIterator[SimTelegram]:
    async with SimTelegram(allowance=Allowance(private=GENEROUS)) as sim:
        yield sim


def control(sim: SimTelegram, name: str) -> Shown:
    """The message with the control, which says that the rest is a file."""
    return next(shown for shown in sim.answers(ADA) if name in shown.look.buttons)


async def test_an_answer_whose_rest_is_a_file_goes_on(sim: SimTelegram, tmp_path: Path) -> None:
    """Its longer rest comes as a file again."""
    bot = TelegramBot(sim, tmp_path, lambda request: Script([LONG], fails=True), max_messages=1)
    async with bot.running() as app:
        sim.say(ADA, "Write a page")
        await sim.until(lambda: sim.counted("sendDocument"))
        await app.sessions.idle()
        bot.script = lambda request: Script(["The end."])
        sim.press(control(sim, "continue"), "continue")
        await sim.until(lambda: sim.counted("sendDocument") == 2)

    last = sim.answers(ADA)[-1].look.file
    assert control(sim, "regenerate").text == words.REST.strip("*")
    assert last is not None
    assert last.data.endswith(b"word The end.")


async def test_an_answer_whose_rest_is_a_file_is_written_anew(sim: SimTelegram, tmp_path: Path) -> None:
    """After a restart, too."""
    bot = TelegramBot(sim, tmp_path, lambda request: Script([LONG]), max_messages=1)
    async with bot.running() as app:
        sim.say(ADA, "Write a page")
        await sim.until(lambda: sim.counted("sendDocument"))
        await app.sessions.idle()
    bot.script = lambda request: Script(["A word."])
    async with bot.running():
        sim.press(control(sim, "regenerate"), "regenerate")
        await sim.until(lambda: sim.answers(ADA)[0].text == "A word.")

    assert len(bot.requests) == 2
