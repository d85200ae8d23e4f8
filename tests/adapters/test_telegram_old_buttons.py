"""Buttons below answers that are so old that Telegram shows them to the bot no more."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from clawdbot.testing.engine import Script
from clawdbot.testing.telegram import Allowance, SimTelegram
from clawdbot.testing.telegram.harness import GENEROUS
from clawdbot_telegram.controls import notice, pressed

from .telegram_bot import TelegramBot

ADA, FORUM = 1, -100


@pytest.fixture
async def sim() -> AsyncIterator[SimTelegram]:
    async with SimTelegram(privacy=False, allowance=Allowance(private=GENEROUS, group=GENEROUS)) as sim:
        sim.group(FORUM, forum=True)
        yield sim


@pytest.mark.parametrize("in_topic", [True, False], ids=["in a topic", "in General"])
async def test_an_old_answer_goes_on_where_it_stands(sim: SimTelegram, tmp_path: Path, in_topic: bool) -> None:
    """Telegram tells the chat of it and not the topic: without that it would be looked for in General, in vain."""
    topic = sim.open_topic(FORUM, ADA) if in_topic else 0
    bot = TelegramBot(sim, tmp_path, lambda request: Script(["One "], fails=True))
    async with bot.running() as app:
        sim.say(FORUM, f"@{sim.bot.username} Count", user=ADA, topic=topic)
        await sim.until(lambda: any("continue" in button for one in sim.answers(FORUM) for button in one.look.buttons))
        await app.sessions.idle()
        bot.script = lambda request: Script(["two."])
        sim.age(sim.answers(FORUM)[0])
        sim.press(sim.answers(FORUM)[0], "continue", ADA)
        await sim.until(lambda: len(bot.requests) == 2)
        await app.sessions.idle()

    assert [(shown.topic, shown.text) for shown in sim.answers(FORUM)] == [(topic, "One two.")]


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ("stop", ("stop", 0)),
        ("continue:17", ("continue", 17)),
        ("continue:-17", ("continue", 0)),
        ("continue:٣", ("continue", 0)),
        (f"continue:{'9' * 5000}", ("continue", 0)),
        ("", ("", 0)),
        ("destroy:1", ("destroy", 1)),
    ],
)
def test_what_a_button_says_is_read_with_care(data: str, named: tuple[str, int]) -> None:
    """Any client may send any data."""
    assert pressed(data) == named
    assert notice(data)
