"""A group that becomes a supergroup while the bot is at work there: for people it is one chat, for the API two."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from clawdbot import words
from clawdbot.engine.protocol import Request
from clawdbot.testing.engine import Script
from clawdbot.testing.rig import turns
from clawdbot.testing.telegram import SimTelegram
from clawdbot.testing.telegram.harness import GENEROUS
from clawdbot.testing.telegram.rules import Allowance
from clawdbot.testing.telegram.world import Shown

from .telegram_bot import TelegramBot

ADA = 1
OLD, NEW = -5, -1005


@pytest.fixture
async def sim() -> AsyncIterator[SimTelegram]:
    async with SimTelegram(privacy=False, allowance=Allowance(private=GENEROUS, group=GENEROUS)) as sim:
        sim.group(OLD)
        yield sim


@pytest.fixture
def bot(sim: SimTelegram, tmp_path: Path) -> TelegramBot:
    return TelegramBot(sim, tmp_path, slowly("One ", "two ", "three."))


def slowly(*tokens: str, gap: float = 0.3) -> Callable[[Request], Script]:
    def script(request: Request) -> Script:
        return Script(tokens, gap=gap)

    return script


def ask(sim: SimTelegram, text: str = "Count", chat: int = OLD) -> None:
    sim.say(chat, f"@{sim.bot.username} {text}", user=ADA)


async def shown(sim: SimTelegram, text: str, chat: int = OLD) -> Shown:
    """The last message there, as soon as it begins with ``text``."""
    await sim.until(lambda: bool(sim.answers(chat)) and sim.answers(chat)[-1].text.startswith(text))
    return sim.answers(chat)[-1]


async def test_the_answer_goes_on_in_the_supergroup(sim: SimTelegram, bot: TelegramBot) -> None:
    async with bot.running() as app:
        ask(sim)
        await shown(sim, "One")
        sim.migrate(OLD, NEW)
        await app.sessions.idle()

    assert [shown.text for shown in sim.answers(NEW)] == ["One two three."]
    assert len(bot.requests) == 1


async def test_all_messages_of_the_answer_are_there_in_their_order(sim: SimTelegram, bot: TelegramBot) -> None:
    whole = " ".join(f"word{number}" for number in range(800))
    bot.script = slowly(whole, " end.")
    async with bot.running() as app:
        ask(sim)
        await sim.until(lambda: len(sim.answers(OLD)) == 2)
        sim.migrate(OLD, NEW)
        await app.sessions.idle()

    assert len(sim.answers(NEW)) == 2
    assert " ".join(shown.text for shown in sim.answers(NEW)) == f"{whole} end."


async def test_stop_works_there(sim: SimTelegram, bot: TelegramBot) -> None:
    bot.script = slowly(*(f"word{number} " for number in range(60)), gap=0.2)
    async with bot.running() as app:
        ask(sim)
        await shown(sim, "word0")
        sim.migrate(OLD, NEW)
        sim.press(await shown(sim, "word0", NEW), "stop", ADA)
        await app.sessions.idle()

    assert sim.answers(NEW)[-1].text.endswith(words.STOPPED_MARK.strip("*"))


async def test_later_questions_have_the_history(sim: SimTelegram, bot: TelegramBot) -> None:
    """Those that waited in the old group are answered in the new one."""
    async with bot.running() as app:
        ask(sim)
        await shown(sim, "One")
        ask(sim, "Again")
        sim.migrate(OLD, NEW)
        await app.sessions.idle()
        ask(sim, "And again", NEW)
        await sim.until(lambda: len(bot.requests) == 3)
        await app.sessions.idle()

    assert [shown.text for shown in sim.answers(NEW)] == ["One two three."] * 3
    said = ["Person 1: Count", "One two three.", "Person 1: Again", "One two three.", "Person 1: And again"]
    prompts = [[text for _, text in turns(request.prompt)[:-1]] for request in bot.requests]
    assert prompts == [said[:1], said[:3], said]


async def test_an_answer_that_a_crash_cut_short_is_marked_and_goes_on_there(sim: SimTelegram, bot: TelegramBot) -> None:
    """The store knows the numbers of the old group's messages, which in the new one are others' or the bot's own."""
    async with bot.running():
        ask(sim)
        await shown(sim, "One")
    sim.migrate(OLD, NEW)
    async with bot.running() as app:
        await sim.until(lambda: bool(sim.answers(NEW)))
        await app.sessions.idle()
    marked = sim.answers(NEW)[-1]
    assert marked.text.endswith(words.INTERRUPTED_MARK.strip("*"))
    bot.script = slowly("four.")
    async with bot.running() as app:
        sim.press(marked, "continue", ADA)
        await sim.until(lambda: len(bot.requests) == 2)
        await app.sessions.idle()

    assert [shown.text for shown in sim.answers(NEW)] == ["One four."]


EVE = 5
"""May talk in the group and nowhere else, since she is in it."""


async def test_who_might_talk_in_the_group_may_talk_in_the_supergroup(
    sim: SimTelegram, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The settings have the old number. The owner is told the new one, at every start until it is written there."""
    bot = TelegramBot(sim, tmp_path, slowly("Yes."), chats={OLD})
    advice = f"the telegram chat {OLD} is {NEW} now: write that in [access.telegram] chats"
    async with bot.running() as app:
        sim.migrate(OLD, NEW)
        sim.say(NEW, f"@{sim.bot.username} May I?", user=EVE)
        await sim.until(lambda: len(sim.answers(NEW)) == 1)
        await app.sessions.idle()
    assert caplog.messages.count(advice) == 1
    async with bot.running() as app:
        sim.say(NEW, f"@{sim.bot.username} And now?", user=EVE)
        await sim.until(lambda: len(sim.answers(NEW)) == 2)
        await app.sessions.idle()

    assert caplog.messages.count(advice) == 2
    assert [shown.text for shown in sim.answers(NEW)] == ["Yes.", "Yes."]


async def test_a_move_that_nobody_told_of_is_found_by_a_call(sim: SimTelegram, tmp_path: Path) -> None:
    """Telegram keeps updates for a day: after a longer time the first call to the old number is what tells it."""
    bot = TelegramBot(sim, tmp_path, slowly("One ", "two ", "three."), chats={OLD})
    async with bot.running():
        ask(sim)
        await shown(sim, "One")
    sim.migrate(OLD, NEW, told=False)
    async with bot.running() as app:
        await sim.until(lambda: bool(sim.answers(NEW)))
        await app.sessions.idle()
        sim.say(NEW, f"@{sim.bot.username} May I?", user=EVE)
        await sim.until(lambda: len(sim.answers(NEW)) > 1)
        await app.sessions.idle()

    assert sim.answers(NEW)[-1].text == "One two three."


async def test_another_group_gains_nothing_by_it(sim: SimTelegram, tmp_path: Path) -> None:
    bot = TelegramBot(sim, tmp_path, slowly("Yes."), chats={OLD})
    sim.group(-6)
    async with bot.running() as app:
        sim.migrate(-6, -1006)
        sim.say(-1006, f"@{sim.bot.username} May I?", user=EVE)
        await sim.until(lambda: bool(sim.answers(-1006)))
        await app.sessions.idle()

    assert bot.requests == []
