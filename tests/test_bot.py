"""What the bot makes of an event: who is heard, what is refused, what is stopped, what a restart takes up again."""

import asyncio
from collections.abc import Callable

import pytest

from clawdbot import words
from clawdbot.chat import Conversation, Edited, Message, Rate, State, Typing
from clawdbot.errors import Limited
from clawdbot.settings.config import SessionSettings
from clawdbot.testing.engine import CHARACTERS
from clawdbot.testing.memory import Mishap, limits
from clawdbot.testing.rig import ADA, ADMIN, BOB, EVE, Rig, echo, question, silent, slow
from clawdbot.words import FAILED, INTERRUPTED_MARK, STOPPED_MARK

NewRig = Callable[..., Rig]


# Who may talk


async def test_a_stranger_is_refused_once_then_ignored(rig: NewRig) -> None:
    """The one refusal names the number that the owner needs, is private, and no model is asked."""
    bot = rig()
    async with bot.running():
        first = bot.platform.say("Hello", EVE)
        await bot.idle()
        second = bot.platform.say("/help", EVE)
        third = bot.platform.say("Hello?", EVE, chat=2)
        await bot.idle()

    assert first.screen.texts == [words.REFUSED.format(id=EVE.id)]
    assert first.screen.frames[0].private
    assert second.calls == third.calls == []
    assert bot.requests == []


async def test_a_stranger_stays_refused_over_a_restart(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        bot.platform.say("Hello", EVE)
        await bot.idle()
        await bot.stop()

    async with bot.running():
        again = bot.platform.say("Hello again", EVE)
        await bot.idle()
        await bot.stop()
    assert again.calls == []


async def test_latency_is_refused_for_who_is_no_admin(rig: NewRig) -> None:
    """Nothing of what it would have said leaks."""
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("/latency", ADA)
        await bot.idle()

    assert answer.screen.texts == [words.ADMINS_ONLY]
    assert answer.screen.frames[0].private


async def test_an_unknown_command_is_named_and_no_question(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("/latncy", ADMIN)
        await bot.idle()

    assert answer.screen.texts == [words.UNKNOWN_COMMAND.format(name="latncy")]
    assert bot.requests == []


# Nothing twice


async def test_a_message_that_is_delivered_twice_is_answered_once(rig: NewRig) -> None:
    """Also when both deliveries come at the same moment, and when one comes after a restart."""
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("Hello", id="7")
        bot.platform.say("Hello", id="7")
        await bot.idle()
        await bot.stop()
    async with bot.running():
        bot.platform.say("Hello", id="7")
        await bot.idle()

    assert answer.screen.texts == ["You said: Hello"]
    assert len(bot.requests) == 1
    assert len(answer.made("send")) == 1


async def test_a_message_is_durable_when_the_platform_may_be_told_so(rig: NewRig) -> None:
    """Whoever waits for that can give up waiting; the message is taken in all the same."""
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Hello")
        where = Conversation("memory", 1, private=True)
        taken = asyncio.ensure_future(
            bot.platform.tell(Message("m1b", where, ADA, "And you?", bot.clock.now()), answer)
        )
        await taken
        assert [left.question.message.id for left in await bot.app.store.unfinished()][-1] == "m1b"

        impatient = asyncio.ensure_future(
            bot.platform.tell(Message("m1c", where, ADA, "Why?", bot.clock.now()), answer)
        )
        impatient.cancel()
        await bot.idle()

    assert [question(request.prompt) for request in bot.requests] == ["Hello", "And you?", "Why?"]


async def test_a_command_that_is_delivered_twice_runs_once(rig: NewRig) -> None:
    """A late copy of /stop must not end a later answer."""
    bot = rig(slow)
    async with bot.running():
        bot.platform.say("/stop", id="7")
        await bot.idle()
        answer = bot.platform.say("Count")
        await bot.advance(2.0)
        bot.platform.say("/stop", id="7")
        await bot.idle()

    assert answer.screen.texts == ["One two three four."]


async def test_a_refused_question_is_refused_once(rig: NewRig) -> None:
    """The copy of a refused question is not answered either, though there is room by then."""
    bot = rig(silent, sessions=SessionSettings(queue=1))
    async with bot.running():
        answers = [bot.platform.say(f"Question {number}") for number in range(3)]
        await bot.rest()
        bot.platform.say("/stop")
        await bot.idle()
        bot.platform.say("Question 2", id=answers[2].ref)
        await bot.idle()

    assert len(answers[2].screen.texts) == 1
    assert len(bot.requests) == 1


async def test_what_is_too_old_is_left_alone(rig: NewRig) -> None:
    """After hours offline a platform delivers what was said meanwhile: only what is fresh is answered."""
    bot = rig(sessions=SessionSettings(max_age=900.0))
    async with bot.running():
        old = bot.platform.say("Hello", age=901.0)
        command = bot.platform.say("/help", age=7200.0)
        fresh = bot.platform.say("Hello", age=899.0)
        await bot.idle()

    assert old.calls == command.calls == []
    assert fresh.screen.texts == ["You said: Hello"]
    assert len(bot.requests) == 1


# Refused at once


async def test_too_long_a_question_is_refused_with_the_numbers(rig: NewRig) -> None:
    """Before the model sees anything of it."""
    bot = rig(sessions=SessionSettings(max_question_chars=1000))
    async with bot.running():
        answer = bot.platform.say("x" * 1001)
        await bot.idle()

    assert answer.screen.texts == [words.TOO_LONG.format(size=1001, unit="characters", limit=1000)]
    assert bot.requests == []


async def test_a_full_queue_of_a_conversation_is_told_at_once(rig: NewRig) -> None:
    """One is answered, as many wait as the settings say, the next is refused; other conversations are not."""
    bot = rig(silent, sessions=SessionSettings(queue=2))
    async with bot.running():
        mine = [bot.platform.say(f"Question {number}") for number in range(4)]
        other = bot.platform.say("Hello", BOB, chat=2)
        await bot.rest()

        assert mine[3].screen.texts == [words.QUEUE_FULL.format(waiting=2)]
        assert [answer.screen.texts for answer in (*mine[:3], other)] == [[], [], [], []]
        assert len(bot.requests) == 2


async def test_a_busy_conversation_refuses_when_it_is_told_to(rig: NewRig) -> None:
    bot = rig(silent, sessions=SessionSettings(busy="refuse"))
    async with bot.running():
        bot.platform.say("First")
        second = bot.platform.say("Second")
        await bot.rest()

        assert second.screen.texts == [words.BUSY]
        assert len(bot.requests) == 1


async def test_a_burst_is_taken_up_to_the_limits_and_the_rest_refused(rig: NewRig) -> None:
    """1,000 messages in one moment: the limits hold although nothing was stored yet when the last one came."""
    bot = rig(silent, sessions=SessionSettings(concurrent=8, waiting=24, share=1000))
    async with bot.running():
        answers = [bot.platform.say("Hello", chat=chat) for chat in range(1000)]
        await bot.until(lambda: sum(bool(answer.calls) for answer in answers) == 1000 - 32 and bool(bot.requests))
        await bot.rest()

        assert len(bot.requests) == 8
        refused = {text for answer in answers for text in answer.screen.texts}
        assert refused == {words.FULL.format(waiting=24)}


async def test_a_burst_in_one_conversation_is_refused_without_flooding_it(rig: NewRig) -> None:
    """Refusals spend the room that the answers need: what is on its way to somebody is not said to them again."""
    crowded = limits(name="chat 1", place=(Rate(3, 1.1),), shared=True)
    bot = rig(slow, sessions=SessionSettings(queue=1))
    async with bot.running():
        answers = [bot.platform.say("Hello", allowed=crowded) for _ in range(1000)]
        await bot.idle()

    shown = [answer.screen.texts for answer in answers if answer.calls]
    assert shown.count(["One two three four."]) == 2
    assert 1 <= shown.count([words.QUEUE_FULL.format(waiting=1)]) < 10


# Stop


@pytest.mark.parametrize("moment", [0.5, 1.0, 1.5, 3.0, 3.999])
async def test_stop_keeps_and_marks_what_is_on_the_screen(rig: NewRig, moment: float) -> None:
    """While the prompt is read and at any word: the request is aborted, and the answer does not grow any more."""
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(moment)
        written = "".join(["One ", "two ", "three "][: int(moment)])
        said = bot.platform.say("/stop")
        await bot.idle()

    assert said.screen.texts == [words.STOPPED]
    assert answer.screen.texts == [f"{written.rstrip()}\n\n{STOPPED_MARK}" if written else STOPPED_MARK]
    assert answer.screen.states == [State.STOPPED]
    assert bot.engine.aborted == {bot.requests[0].id}
    assert bot.engine.running == set()


async def test_a_stopped_text_is_part_of_the_history(rig: NewRig) -> None:
    bot = rig(lambda request: slow(request) if question(request.prompt) == "Count" else echo(request))
    async with bot.running():
        bot.platform.say("Count")
        await bot.advance(2.5)
        bot.platform.say("/stop")
        await bot.idle()
        bot.platform.say("Go on")
        await bot.idle()
        history = await bot.app.store.history("memory:1:0", CHARACTERS)

    assert [turn.text for turn in history] == ["Count", "One two ", "Go on", "You said: Go on"]


async def test_stop_while_queued_never_asks_the_model(rig: NewRig) -> None:
    """It ends what is written and what waits, and each says so."""
    bot = rig(slow)
    async with bot.running():
        answers = [bot.platform.say(text) for text in ("First", "Second")]
        await bot.advance(2.5)
        bot.platform.say("/stop")
        await bot.idle()

    assert answers[0].screen.texts == [f"One two\n\n{STOPPED_MARK}"]
    assert answers[1].screen.texts == [STOPPED_MARK]
    assert [question(request.prompt) for request in bot.requests] == ["First"]


async def test_stop_while_the_model_loads(rig: NewRig) -> None:
    bot = rig()
    bot.loaded.clear()
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.rest()
        bot.platform.say("/stop")
        await bot.idle()
        bot.loaded.set()
        await bot.rest()

    assert answer.screen.texts == [STOPPED_MARK]
    assert bot.requests == []


async def test_stop_twice_in_a_row(rig: NewRig) -> None:
    """Both in the same moment, and once more when it is over: one mark, no error, the next question is answered."""
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(1.5)
        bot.platform.say("/stop")
        bot.platform.say("/stop")
        await bot.idle()
        late = bot.platform.say("/stop")
        await bot.idle()
        following = bot.platform.say("Again")
        await bot.idle()

    assert answer.screen.texts == [f"One\n\n{STOPPED_MARK}"]
    assert late.screen.texts == [words.NOTHING_TO_STOP]
    assert following.screen.texts == ["One two three four."]


async def test_only_the_asker_and_admins_can_stop(rig: NewRig) -> None:
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count", ADA)
        await bot.advance(1.5)
        bobs = bot.platform.say("/stop", BOB)
        bot.platform.press("stop", answer, BOB)
        await bot.advance(1.0)
        assert bobs.screen.texts == [words.NOTHING_TO_STOP]
        assert bot.engine.running == {bot.requests[0].id}

        bot.platform.say("/stop", ADMIN)
        await bot.idle()
    assert answer.screen.texts == [f"One two\n\n{STOPPED_MARK}"]


async def test_stop_reaches_its_own_conversation_only(rig: NewRig) -> None:
    bot = rig(slow)
    async with bot.running():
        here, there = bot.platform.say("Count", chat=1), bot.platform.say("Count", chat=2)
        await bot.advance(1.5)
        bot.platform.say("/stop", chat=1)
        await bot.idle()

    assert here.screen.texts == [f"One\n\n{STOPPED_MARK}"]
    assert there.screen.texts == ["One two three four."]


async def test_the_stop_button_ends_the_answer_above_it(rig: NewRig) -> None:
    """The asker's next question, which waits already, is answered."""
    bot = rig(lambda request: slow(request) if question(request.prompt) == "Count" else echo(request))
    async with bot.running():
        answer = bot.platform.say("Count")
        following = bot.platform.say("Hello")
        await bot.advance(2.5)
        bot.platform.press("stop", answer)
        await bot.idle()

    assert answer.screen.texts == [f"One two\n\n{STOPPED_MARK}"]
    assert following.screen.texts == ["You said: Hello"]


async def test_the_stop_button_works_on_an_answer_that_was_taken_up_again(rig: NewRig) -> None:
    """Below a notice that the run before has put up."""
    bot = rig(slow)
    bot.loaded.clear()
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(2.0)
    bot.loaded.set()
    async with bot.running():
        await bot.advance(1.5)
        bot.platform.press("stop", answer)
        await bot.idle()

    assert answer.screen.texts == [f"One\n\n{STOPPED_MARK}"]
    assert len(answer.made("send")) == 1


async def test_what_only_has_to_be_delivered_cannot_be_stopped(rig: NewRig) -> None:
    """Neither in the run that wrote it nor in the next one."""
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("Hello")
        answer.inject("send", *[Mishap(Limited(600.0))] * 2)
        await bot.rest()
        here = bot.platform.say("/stop", allowed=limits(name="another bucket"))
        await bot.rest()
    async with bot.running():
        there = bot.platform.say("/stop", allowed=limits(name="another bucket"))
        await bot.idle()

    assert here.screen.texts == there.screen.texts == [words.NOTHING_TO_STOP]
    assert answer.screen.texts == ["You said: Hello"]


async def test_a_control_that_is_none_of_ours_does_nothing(rig: NewRig) -> None:
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(1.5)
        bot.platform.press("regenerate", answer)
        await bot.idle()

    assert answer.screen.texts == ["One two three four."]


async def test_a_deleted_question_is_answered_no_further(rig: NewRig) -> None:
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        other = bot.platform.say("Count", chat=2)
        await bot.advance(1.5)
        bot.platform.delete(answer)
        await bot.idle()

    assert answer.screen.texts == [f"One\n\n{STOPPED_MARK}"]
    assert other.screen.texts == ["One two three four."]


async def test_a_question_that_is_deleted_at_once_is_not_answered(rig: NewRig) -> None:
    """The deletion comes right behind it, before the question is stored."""
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        bot.platform.delete(answer)
        await bot.idle()

    assert answer.screen.texts in ([], [STOPPED_MARK])


async def test_stop_works_while_the_platform_refuses_edits(rig: NewRig) -> None:
    """The request is aborted at once; the mark arrives when the platform takes it."""
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        answer.inject("edit", Mishap(Limited(30.0)))
        await bot.advance(2.5)
        bot.platform.say("/stop")
        await bot.rest()
        assert bot.engine.aborted == {bot.requests[0].id}
        await bot.idle()

    assert answer.screen.texts == [f"One two\n\n{STOPPED_MARK}"]
    assert answer.early == []


async def test_typing_and_edits_are_not_questions(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.idle()
        where = Conversation("memory", 1, private=True)
        await bot.platform.tell(Typing(where, ADA), answer)
        await bot.platform.tell(Edited(Message(answer.ref, where, ADA, "Hello!", bot.clock.now())), answer)
        await bot.idle()

    assert len(bot.requests) == 1


# The store fails


async def test_a_question_that_cannot_be_stored_is_not_answered_but_told(rig: NewRig) -> None:
    """A full disk: a clear sentence, no half-written answer, and no word of the fault itself."""
    bot = rig()
    async with bot.running():
        with bot.refusing("INSERT ON reply"):
            answer = bot.platform.say("Hello")
            await bot.idle()
        following = bot.platform.say("Hello")
        await bot.idle()

    assert answer.screen.texts == [words.NOT_KEPT]
    assert following.screen.texts == ["You said: Hello"]


async def test_stop_works_on_a_full_disk(rig: NewRig) -> None:
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(1.5)
        with bot.refusing("INSERT ON event"):
            said = bot.platform.say("/stop")
            await bot.idle()

    assert said.screen.texts == [words.STOPPED]
    assert answer.screen.texts == [f"One\n\n{STOPPED_MARK}"]


async def test_a_command_that_fails_says_a_fixed_sentence(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        with bot.refusing("INSERT ON conversation"):
            said = bot.platform.say("/new")
            await bot.clock.settle()
            await bot.app.sessions.idle()

    assert said.screen.texts == [FAILED]
    assert said.screen.states == [State.FAILED]


# A restart


async def test_history_survives_a_restart(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        bot.platform.say("My name is Ada")
        await bot.idle()
        await bot.stop()
    async with bot.running():
        bot.platform.say("What is my name?")
        await bot.idle()

    text = "".join(chr(token) for token in bot.requests[-1].prompt if token > 0)
    assert text == "My name is AdaYou said: My name is AdaWhat is my name?"


async def test_a_new_conversation_forgets(rig: NewRig) -> None:
    """Also after a restart, and only in the conversation in which it was said."""
    bot = rig()
    async with bot.running():
        for chat in (1, 2):
            bot.platform.say("My name is Ada", chat=chat)
            await bot.idle()
        said = bot.platform.say("/new", chat=1)
        await bot.idle()
        await bot.stop()
    async with bot.running():
        for chat in (1, 2):
            bot.platform.say("What is my name?", chat=chat)
            await bot.idle()

    assert said.screen.texts == [words.NEW]
    assert ["Ada" in "".join(map(chr, filter(lambda token: token > 0, r.prompt))) for r in bot.requests[2:]] == [
        False,
        True,
    ]


async def test_a_crash_before_the_first_word_loses_no_question(rig: NewRig) -> None:
    """The next start answers it, and the one asked after it, in their order."""
    bot = rig(silent)
    async with bot.running():
        answers = [bot.platform.say(text) for text in ("First", "Second")]
        await bot.rest()
    bot.script = echo
    async with bot.running():
        await bot.idle()

    assert [answer.screen.texts for answer in answers] == [["You said: First"], ["You said: Second"]]
    assert [question(request.prompt) for request in bot.requests] == ["First", "First", "Second"]


async def test_a_crash_in_mid_answer_marks_what_is_on_the_screen(rig: NewRig) -> None:
    """The model does not begin anew: another wording would take the place of what somebody has read."""
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(1.5)
        assert answer.screen.texts == ["One"]
    async with bot.running():
        await bot.idle()
        history = await bot.app.store.history("memory:1:0", CHARACTERS)

    assert answer.screen.texts == [f"One\n\n{INTERRUPTED_MARK}"]
    assert answer.screen.states == [State.INTERRUPTED]
    assert (len(answer.made("send")), len(bot.requests)) == (1, 1)
    assert [turn.text for turn in history] == ["Count", "One "]


async def test_a_complete_answer_is_delivered_and_not_written_anew(rig: NewRig) -> None:
    """The platform refused its last frame until the crash: the stored text is sent, the model is not asked again."""
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(3.9)
        answer.inject("edit", Mishap(Limited(3600.0)))
        await bot.advance(1.0)
    asked = len(bot.requests)
    bot.script = echo
    async with bot.running():
        await bot.idle()

    assert answer.screen.texts == ["One two three four."]
    assert len(bot.requests) == asked == 1


async def test_an_undelivered_answer_comes_before_the_next_question(rig: NewRig) -> None:
    """What is asked after the restart sees the stored answer in its prompt, however long the platform refused it."""
    bot = rig()
    async with bot.running():
        first = bot.platform.say("First")
        first.inject("send", Mishap(Limited(600.0)))
        await bot.rest()
    async with bot.running():
        second = bot.platform.say("Second")
        await bot.idle()

    assert first.screen.texts == ["You said: First"]
    assert second.screen.texts == ["You said: Second"]
    assert "You said: First" in "".join(chr(token) for token in bot.requests[-1].prompt if token > 0)


async def test_a_question_that_is_too_old_after_a_restart_is_marked(rig: NewRig) -> None:
    bot = rig(silent, sessions=SessionSettings(max_age=900.0))
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.rest()
    await bot.clock.advance(901.0)
    async with bot.running():
        await bot.idle()
        await bot.stop()
    async with bot.running():
        await bot.idle()

    assert answer.screen.texts == [INTERRUPTED_MARK]
    assert answer.screen.states == [State.INTERRUPTED]
    assert len(answer.made("send")) == 1
    assert len(bot.requests) == 1


async def test_an_answer_that_cannot_be_taken_up_is_given_up_once(rig: NewRig) -> None:
    """Not at every start anew: another version of the adapter has left refs that this one cannot read."""
    bot = rig(silent)
    async with bot.running():
        answer, other = bot.platform.say("Hello", chat=1), bot.platform.say("Hello", chat=2)
        await bot.rest()
    bot.execute("INSERT INTO post VALUES ((SELECT id FROM reply WHERE chat = 1), 0, 'nonsense')")
    bot.execute("UPDATE reply SET reply_ref = 'nonsense' WHERE chat = 2")
    for _ in range(2):
        async with bot.running():
            await bot.idle()
            await bot.stop()

    assert answer.screen.texts == [FAILED]
    assert len(answer.made("send")) == 1
    assert other.calls == []
    assert len(bot.requests) == 2


async def test_what_was_asked_on_a_platform_that_is_switched_off_waits(rig: NewRig) -> None:
    """Perhaps it comes back."""
    bot = rig(silent)
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.rest()
        await bot.app.bot.recover({})
    bot.script = echo
    async with bot.running():
        await bot.idle()

    assert answer.screen.texts == ["You said: Hello"]
