"""Groups, seen from a whole bot: whose a conversation is, who said what, and what somebody replies to."""

from collections.abc import Callable

import pytest

from clawdbot.chat import Person, State
from clawdbot.config import SessionSettings
from clawdbot.testing.rig import ADA, ADMIN, BOB, Rig, silent, slow, turns

NewRig = Callable[..., Rig]

APART = SessionSettings(groups="per_user")


def switch(bot: Rig, sessions: SessionSettings) -> None:
    """Let these hold from the next start on."""
    bot.settings = bot.settings.model_copy(update={"sessions": sessions})


async def said(bot: Rig, text: str, by: Person = ADA) -> str:
    """What the bot answers to ``text`` in the group."""
    answer = bot.platform.say(text, by, private=False)
    await bot.idle()
    return answer.screen.texts[0]


def questions(bot: Rig) -> list[str]:
    """The user turns of the last prompt."""
    return [text for role, text in turns(bot.requests[-1].prompt) if role == "user"]


async def test_a_group_has_one_conversation_and_each_question_its_author(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        await said(bot, "Where is it?")
        await said(bot, "What?", BOB)

    assert questions(bot) == ["Ada: Where is it?", "Bob: What?"]


async def test_by_setting_each_has_their_own(rig: NewRig) -> None:
    """Over a restart, too; in private nothing changes."""
    bot = rig(sessions=APART)
    async with bot.running():
        await said(bot, "Where is it?")
        await said(bot, "What?", BOB)
        await bot.stop()
    async with bot.running():
        await said(bot, "And now?")

    assert questions(bot) == ["Where is it?", "And now?"]


async def test_a_change_of_the_setting_loses_nothing(rig: NewRig) -> None:
    """What was said under each is there when it counts again."""
    bot = rig()
    for number, groups in enumerate(("shared", "per_user", "shared", "per_user")):
        switch(bot, SessionSettings.model_validate({"groups": groups}))
        async with bot.running():
            await said(bot, f"{number}")
            await bot.stop()
        if number == 2:
            assert questions(bot) == ["Ada: 0", "Ada: 2"]

    assert questions(bot) == ["1", "3"]


async def test_new_forgets_ones_own_conversation_alone(rig: NewRig) -> None:
    bot = rig(sessions=APART)
    async with bot.running():
        await said(bot, "One")
        await said(bot, "Two", BOB)
        await said(bot, "/new")
        await said(bot, "Three", BOB)

        assert questions(bot) == ["Two", "Three"]
        await said(bot, "Four")
        assert questions(bot) == ["Four"]


async def test_nobody_waits_for_the_answer_to_somebody_else(rig: NewRig) -> None:
    bot = rig(slow, sessions=APART)
    async with bot.running():
        for person in (ADA, BOB):
            bot.platform.say("Hello", person, private=False)
        await bot.rest()

        assert len(bot.engine.running) == 2


async def test_stop_is_for_ones_own_answer(rig: NewRig) -> None:
    bot = rig(silent, sessions=APART)
    async with bot.running():
        answers = [bot.platform.say("Hello", person, private=False) for person in (ADA, BOB)]
        await bot.rest()
        bot.platform.say("/stop", BOB, private=False)
        await bot.rest()

        assert [answer.screen.states for answer in answers] == [[], [State.STOPPED]]


@pytest.mark.parametrize(("by", "ends"), [(ADMIN, True), (ADA, True), (BOB, False)])
async def test_a_button_reaches_the_answer_whosever_it_is(rig: NewRig, by: Person, ends: bool) -> None:
    """An admin has a conversation of their own there, and stops somebody else's answer all the same."""
    bot = rig(slow, sessions=APART)
    async with bot.running():
        answer = bot.platform.say("Hello", ADA, private=False)
        await bot.advance(1.5)
        bot.platform.press("stop", answer, by)
        await bot.rest()

        assert (not bot.engine.running) is ends


async def test_a_removed_question_stops_its_answer(rig: NewRig) -> None:
    bot = rig(silent, sessions=APART)
    async with bot.running():
        question = bot.platform.say("Hello", ADA, private=False)
        await bot.rest()
        bot.platform.delete(question)
        await bot.rest()

        assert not bot.engine.running


async def test_an_interrupted_answer_is_continued_in_its_own_conversation(rig: NewRig) -> None:
    """By an admin, after a restart under another setting."""
    bot = rig(slow, sessions=APART)
    async with bot.running():
        await said(bot, "First")
        answer = bot.platform.say("Second", ADA, private=False)
        await bot.advance(2.5)
    switch(bot, SessionSettings())
    async with bot.running():
        await bot.idle()
        bot.platform.press("continue", answer, ADMIN)
        await bot.idle()

    assert questions(bot) == ["First", "Second"]
