"""Groups, seen from a whole bot: whose a conversation is, who said what, and what somebody replies to."""

from collections.abc import Callable

import pytest

from clawdbot.chat import Person, Quoted, State
from clawdbot.settings.config import SessionSettings
from clawdbot.testing.engine import Script
from clawdbot.testing.rig import ADA, ADMIN, BOB, PlatformReply, Rig, question, silent, slow, turns

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


# What somebody replies to


def last_post(answer: PlatformReply) -> str:
    return answer.post(str(len(answer.screen.frames) - 1)).ref


async def test_what_somebody_replies_to_is_context(rig: NewRig) -> None:
    """Of somebody else's message, which the bot has never seen; and it stays in the history, over a restart."""
    bot = rig()
    async with bot.running():
        bot.platform.say("True?", private=False, quoted=Quoted("Eve", "Herons swim."))
        await bot.idle()
        await bot.stop()
    bot.execute("UPDATE reply SET tokenizer = 'another'")
    async with bot.running():
        await said(bot, "Why?")

    assert questions(bot) == ["> Eve: Herons swim.\n\nAda: True?", "Ada: Why?"]


async def test_a_long_quotation_is_read_the_same_after_a_restart(rig: NewRig) -> None:
    """Though no more of it is kept than is read."""
    bot = rig()
    async with bot.running():
        bot.platform.say("Why?", private=False, quoted=Quoted("Eve", "x" * 100_000))
        await bot.idle()
        await bot.stop()
    (asked,) = questions(bot)
    bot.execute("UPDATE reply SET tokenizer = 'another'")
    async with bot.running():
        await said(bot, "So?")

    assert questions(bot) == [asked, "Ada: So?"]
    assert len(asked) < 3000


async def test_the_last_answer_is_not_said_again(rig: NewRig) -> None:
    """The history ends with it; an older one was perhaps forgotten."""
    bot = rig()
    async with bot.running():
        first, second = [bot.platform.say(text, private=False) for text in ("One", "Two")]
        await bot.idle()
        for answer in (second, first):
            quoted = Quoted("Claw", answer.screen.texts[0], own=True, post=last_post(answer))
            bot.platform.say("Why?", private=False, quoted=quoted)
            await bot.idle()

    assert questions(bot)[2:] == ["Ada: Why?", "> You: You said: Ada: One\n\nAda: Why?"]


@pytest.mark.parametrize("sessions", [SessionSettings(), APART])
async def test_an_answer_that_this_conversation_has_not_is_said_again(rig: NewRig, sessions: SessionSettings) -> None:
    """It was forgotten by /new, or was given to somebody else in a conversation of their own."""
    bot = rig(sessions=sessions)
    async with bot.running():
        answer = bot.platform.say("One", private=False)
        await bot.idle()
        if sessions.groups == "shared":
            await said(bot, "/new")
        quoted = Quoted("Claw", "Herons wade.", own=True, post=last_post(answer))
        bot.platform.say("Why?", BOB, private=False, quoted=quoted)
        await bot.idle()

    assert questions(bot)[0].startswith("> You: Herons wade.\n\n")


async def test_a_part_that_was_chosen_is_said_again(rig: NewRig) -> None:
    """Also of the last answer: which part is meant stands nowhere else."""
    bot = rig()
    async with bot.running():
        await said(bot, "One")
        bot.platform.say("Why?", private=False, quoted=Quoted("Claw", "said", own=True))
        await bot.idle()

    assert questions(bot)[1] == "> You: said\n\nAda: Why?"


# Idle conversations

HOURLY = SessionSettings(idle_reset=1.0)


async def asked_after(bot: Rig, seconds: float) -> list[str]:
    """The user turns of the prompt when somebody asks again so long after an exchange."""
    async with bot.running():
        await said(bot, "One")
        await bot.advance(seconds)
        await said(bot, "Two")
        return questions(bot)


async def test_a_conversation_begins_anew_when_it_was_idle(rig: NewRig) -> None:
    assert await asked_after(rig(sessions=HOURLY), 3700.0) == ["Ada: Two"]


@pytest.mark.parametrize(("sessions", "idle"), [(HOURLY, 3500.0), (SessionSettings(), 30 * 86_400.0)])
async def test_it_goes_on_otherwise(rig: NewRig, sessions: SessionSettings, idle: float) -> None:
    """When it was idle for less than that, and for ever by default."""
    assert await asked_after(rig(sessions=sessions), idle) == ["Ada: One", "Ada: Two"]


async def test_a_conversation_is_not_idle_while_something_is_answered(rig: NewRig) -> None:
    """However long that takes: the third question comes when the second one's answer has gone on for longer."""
    bot = rig(
        lambda request: Script(["Done."], first=720.0 if question(request.prompt) == "Ada: Two" else 0.0),
        sessions=SessionSettings(idle_reset=0.1),
    )
    async with bot.running():
        await said(bot, "One")
        bot.platform.say("Two", private=False)
        await bot.advance(370.0)
        await said(bot, "Three")

    assert questions(bot) == ["Ada: One", "Ada: Two", "Ada: Three"]
