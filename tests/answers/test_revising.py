"""The answer to a question is written anew, in its own messages; seen from a whole bot."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Literal

import pytest

from clawdbot import words
from clawdbot.chat import Conversation, Edited, Message, Person, State
from clawdbot.engine.protocol import Request
from clawdbot.errors import Limited, Rejected
from clawdbot.settings.config import AnswerSettings, Quota, SessionSettings
from clawdbot.testing.engine import CHARACTERS, Script
from clawdbot.testing.memory import Mishap, limits
from clawdbot.testing.rig import ADA, ADMIN, BOB, EVE, PlatformReply, Rig, echo, question, silent, slow, turns
from clawdbot.words import INTERRUPTED_MARK, STOPPED_MARK, WITHDRAWN

NewRig = Callable[..., Rig]

HERE = Conversation("memory", 1, private=True)
KEY = HERE.key
VERSIONS = (f"v{number}" for number in itertools.count())


def edit(
    bot: Rig, asked: PlatformReply, text: str, by: Person = ADA, version: str = "", age: float = 0.0
) -> Awaitable[None]:
    """Somebody changes the message that is answered there, ``age`` seconds ago; a ``version`` is one edit."""
    sent_at = bot.clock.wall() - age
    message = Message(asked.ref, HERE, by, text, bot.clock.now(), sent_at, version=version or next(VERSIONS))
    return bot.platform.tell(Edited(message), asked)


def piece(
    bot: Rig, text: str, first: PlatformReply | None = None, id: str = "", *, more: bool = False, joint: str = ""
) -> PlatformReply:
    """A piece of a text that Ada's client has cut; ``more``: another one may follow."""
    id = id or f"m{len(bot.platform.replies) + 1}"
    reply = bot.platform.replies.setdefault(id, PlatformReply(bot.clock, limits(name="chat 1"), ref=id))
    continues = first.ref if first else ""
    said = Message(id, HERE, ADA, text, bot.clock.now(), unfinished=more, continues=continues, joint=joint)
    bot.platform.tell(said, reply)
    return reply


def numbered(request: Request) -> Script:
    """The script of a model that says how many turns its prompt has."""
    return Script([f"Answer after {len(turns(request.prompt)) - 1}."])


def broken(request: Request) -> Script:
    """The script of a model that fails before its first word."""
    return Script([], fails=True)


class Fickle:
    """A model that says something else every time, a word a second."""

    def __init__(self, *answers: str) -> None:
        self._answers = iter(answers)

    def __call__(self, request: Request) -> Script:
        return Script([f"{word} " for word in next(self._answers).split()], first=1.0, gap=1.0)


class Changing:
    """A model that can be changed while it runs."""

    def __init__(self, script: Callable[[Request], Script] = echo) -> None:
        self.now = script

    def __call__(self, request: Request) -> Script:
        return self.now(request)


async def told(bot: Rig) -> list[str]:
    """The texts of the history."""
    return [turn.text for turn in await bot.app.store.history(KEY, CHARACTERS)]


# A call that hangs


@pytest.mark.parametrize("method", ["send", "edit"])
async def test_an_answer_that_begins_again_waits_for_a_call_that_hangs(
    rig: NewRig, method: Literal["send", "edit"]
) -> None:
    """Longer than any patience, where the platform knows no repetition: the newer text stays, in the one message.

    The store names that message, so that it can be written anew later.
    """
    bot = rig(Fickle("One two three four five six", "Seven", "Eight"))
    async with bot.running():
        answer = bot.platform.say("Count", remembers=False)
        answer.inject(method, Mishap(delay=70.0))
        await bot.advance(4.0)
        edit(bot, answer, "Count on")
        await bot.idle()
        assert answer.screen.texts == ["Seven"]
        bot.platform.press("regenerate", answer)
        await bot.idle()

    assert answer.screen.texts == ["Eight"]


# Another answer


async def test_regenerate_writes_the_answer_anew_in_its_own_message(rig: NewRig) -> None:
    """The new one takes its place on the screen and in the history."""
    bot = rig(Fickle("One two", "Three four"))
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()
        bot.platform.press("regenerate", answer)
        await bot.idle()

        assert await told(bot) == ["Count", "Three four "]
    assert answer.screen.texts == ["Three four"]
    assert len(answer.made("send")) == 1


async def test_a_stopped_answer_can_be_written_anew(rig: NewRig) -> None:
    bot = rig(Fickle("One two three", "Four five"))
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(1.5)
        bot.platform.press("stop", answer)
        await bot.idle()
        assert answer.screen.texts == [f"One\n\n{STOPPED_MARK}"]
        bot.platform.press("regenerate", answer)
        await bot.idle()

    assert answer.screen.texts == ["Four five"]
    assert answer.screen.states == [State.FINAL]


async def test_an_old_answer_is_written_anew_from_what_was_said_before_it(rig: NewRig) -> None:
    """It stays in its place, and works after a restart."""
    bot = rig(numbered)
    async with bot.running():
        first = bot.platform.say("First")
        await bot.idle()
        bot.platform.say("Second")
        await bot.idle()
        await bot.stop()
    bot.script = Fickle("Anew")
    async with bot.running():
        bot.platform.press("regenerate", first)
        await bot.idle()

        assert await told(bot) == ["First", "Anew ", "Second", "Answer after 3."]
    assert first.screen.texts == ["Anew"]
    assert turns(bot.requests[-1].prompt)[:-1] == [("user", "First")]


@pytest.mark.parametrize(("by", "renewed"), [(ADA, True), (BOB, False), (EVE, False), (ADMIN, True)])
async def test_only_the_asker_and_admins_get_another_answer(rig: NewRig, by: Person, renewed: bool) -> None:
    bot = rig(Fickle("One", "Two"))
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()
        bot.platform.press("regenerate", answer, by)
        await bot.idle()

    assert answer.screen.texts == ["Two" if renewed else "One"]


@pytest.mark.parametrize("quota", [Quota(), Quota(messages_per_hour=9)])
async def test_presses_at_the_same_moment_are_one(rig: NewRig, quota: Quota) -> None:
    """Also where questions are counted, one after the other."""
    bot = rig(Fickle("One", "Two", "Three", "Four"), quota=quota)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()
        for _ in range(3):
            bot.platform.press("regenerate", answer)
        await bot.idle()

    assert answer.screen.texts == ["Two"]
    assert len(bot.requests) == 2


async def test_messages_that_are_not_needed_any_more_are_emptied(rig: NewRig) -> None:
    """Nothing of the longer answer stays between the words of the shorter one."""
    long = " ".join(f"{number:04d}" for number in range(150))
    answers = iter((long, "Short."))
    bot = rig(lambda request: Script([next(answers)]))
    async with bot.running():
        answer = bot.platform.say("Count", allowed=limits(size=300, name="chat 1"))
        await bot.idle()
        before = len(answer.screen.texts)
        bot.platform.press("regenerate", answer)
        await bot.idle()

    assert before > 2
    assert answer.screen.texts == ["Short.", *[WITHDRAWN] * (before - 1)]
    assert [frame.last for frame in answer.screen.frames] == [True, *[False] * (before - 1)]


async def test_the_command_writes_the_last_answer_anew(rig: NewRig) -> None:
    """In its own message; the command itself is answered in private."""
    bot = rig(Fickle("One", "Two", "Three"))
    async with bot.running():
        first = bot.platform.say("Count")
        await bot.idle()
        last = bot.platform.say("Count on")
        await bot.idle()
        said = bot.platform.say("/retry")
        await bot.idle()

    assert (first.screen.texts, last.screen.texts) == (["One"], ["Three"])
    assert [(frame.text, frame.private) for frame in said.screen.frames] == [(words.RETRYING, True)]


async def test_the_command_posts_an_answer_anew_that_was_removed(rig: NewRig) -> None:
    """There is no message left for it to stand in."""
    bot = rig(Fickle("One two", "Three four five"))
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()
        answer.delete(0)
        bot.platform.say("/retry")
        await bot.idle()

        assert await told(bot) == ["Count", "Three four five "]
    assert answer.screen.texts == ["One two", "Three four five"]


async def test_the_command_asks_again_what_failed(rig: NewRig) -> None:
    """ "Please try again" is what it was told."""
    model = Changing(broken)
    bot = rig(model)
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.idle()
        assert answer.screen.states == [State.FAILED]
        model.now = echo
        bot.platform.say("/retry")
        await bot.idle()

    assert answer.screen.texts == ["You said: Hello"]


@pytest.mark.parametrize(
    ("by", "busy", "said"),
    [(BOB, False, words.NOT_YOURS), (ADA, True, words.STILL_WRITING), (ADMIN, True, words.STILL_WRITING)],
)
async def test_the_command_says_why_not(rig: NewRig, by: Person, busy: bool, said: str) -> None:
    bot = rig(slow)
    async with bot.running():
        bot.platform.say("Count")
        await (bot.advance(1.5) if busy else bot.idle())
        told = bot.platform.say("/retry", by)
        await bot.idle()

    assert told.screen.texts == [said]
    assert len(bot.requests) == 1


async def test_there_may_be_nothing_to_write_anew(rig: NewRig) -> None:
    """A new conversation does not reach into the one before."""
    bot = rig()
    async with bot.running():
        bot.platform.say("Hello")
        await bot.idle()
        bot.platform.say("/new")
        await bot.idle()
        said = bot.platform.say("/retry")
        await bot.idle()

    assert said.screen.texts == [words.NOTHING_TO_RETRY]


async def test_another_answer_counts_as_a_question(rig: NewRig) -> None:
    """Or who may ask two questions an hour would get a thousand answers."""
    bot = rig(Fickle("One", "Two", "Three"), quota=Quota(messages_per_hour=2))
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()
        for _ in range(2):
            bot.platform.press("regenerate", answer)
            await bot.idle()

    assert answer.screen.texts[0] == "Two"
    assert "all that I may do" in answer.screen.texts[1]


async def test_another_answer_meets_the_limits_of_a_question(rig: NewRig) -> None:
    model = Changing()
    bot = rig(model, sessions=SessionSettings(busy="refuse"))
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.idle()
        model.now = silent
        bot.platform.say("Think")
        await bot.rest()
        bot.platform.press("regenerate", answer)
        await bot.rest()

        assert [frame.text for frame in answer.screen.frames] == ["You said: Hello", words.BUSY]


async def test_another_answer_has_no_timing(rig: NewRig) -> None:
    """Its question was received long ago; the first one's stays."""
    bot = rig(Fickle("One", "Two"))
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()
        bot.platform.press("regenerate", answer)
        await bot.idle()

    assert len(bot.timings) == 1


async def test_another_answer_that_takes_its_time_can_be_stopped_before_its_first_word(rig: NewRig) -> None:
    """Who pressed by mistake finds Stop there after a second, and has the former answer back."""
    model = Changing()
    bot = rig(model)
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.idle()
        model.now = silent
        bot.platform.press("regenerate", answer)
        await bot.advance(1.5)
        assert [(frame.text, frame.state) for frame in answer.screen.frames] == [(words.WRITING_ANEW, State.WAITING)]
        bot.platform.press("stop", answer)
        await bot.idle()

        assert await told(bot) == ["Hello", "You said: Hello"]
    assert answer.screen.texts == ["You said: Hello"]
    assert answer.screen.states == [State.FINAL]


async def test_another_answer_that_comes_at_once_costs_no_call_more(rig: NewRig) -> None:
    """Its first word brings Stop along."""
    bot = rig(lambda request: Script(["One ", "two"], first=0.9, gap=1.0))
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()
        shown = len(answer.screen.history)
        bot.platform.press("regenerate", answer)
        await bot.idle()

    assert [seen.text for seen in answer.screen.history[shown:]] == ["One", "One two", "One two"]


async def test_why_another_answer_waits_is_told_before_that_it_is_written(rig: NewRig) -> None:
    """What can be waited for comes first."""
    bot = rig(Fickle("One", "Two"))
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()
        await bot.stop()
    bot.loaded.clear()
    async with bot.running():
        bot.platform.press("regenerate", answer)
        await bot.advance(1.5)
        assert answer.screen.texts == [words.LOADING]
        bot.loaded.set()
        await bot.advance(0.5)
        await bot.idle()

    assert answer.screen.texts == ["Two"]


# Where there is no other answer


async def test_the_former_answer_comes_back_when_the_new_one_is_stopped_before_its_first_word(rig: NewRig) -> None:
    model = Changing()
    bot = rig(model)
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.idle()
        model.now = silent
        bot.platform.press("regenerate", answer)
        await bot.advance(2.0)
        bot.platform.say("/stop")
        await bot.idle()

        assert await told(bot) == ["Hello", "You said: Hello"]
    assert answer.screen.texts == ["You said: Hello"]
    assert answer.screen.states == [State.FINAL]


async def test_the_former_answer_comes_back_when_the_new_one_fails_before_its_first_word(rig: NewRig) -> None:
    """And it is said that there is no other."""
    model = Changing()
    bot = rig(model)
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.idle()
        model.now = broken
        bot.platform.press("regenerate", answer)
        await bot.idle()

        assert await bot.app.store.unfinished() == []
        assert await told(bot) == ["Hello", "You said: Hello"]
    assert answer.screen.texts == ["You said: Hello", words.NO_NEW_ANSWER]


async def test_what_was_written_of_the_new_answer_stays(rig: NewRig) -> None:
    """It is what its reader has seen last."""
    bot = rig(Fickle("One", "Two three four"))
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()
        bot.platform.press("regenerate", answer)
        await bot.advance(1.5)
        bot.platform.press("stop", answer)
        await bot.idle()

    assert answer.screen.texts == [f"Two\n\n{STOPPED_MARK}"]


@pytest.mark.parametrize("moment", [0.0, 0.3, 0.9])
async def test_a_crash_before_the_first_word_begins_it_again(rig: NewRig, moment: float) -> None:
    """Whoever asked for another answer gets it after the restart, below the same question."""
    bot = rig(Fickle("One", "Two", "Three"))
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()
        bot.platform.press("regenerate", answer)
        await bot.rest()
        await bot.advance(moment)
    async with bot.running():
        await bot.idle()

        assert await told(bot) == ["Count", "Three "]
    assert answer.screen.texts == ["Three"]


async def test_after_a_crash_that_lasts_the_former_answer_comes_back(rig: NewRig) -> None:
    """Nobody waits for another one by then."""
    bot = rig(Fickle("One", "Two"), sessions=SessionSettings(max_age=900.0))
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()
        bot.platform.press("regenerate", answer)
        await bot.advance(0.3)
    await bot.clock.advance(901.0)
    async with bot.running():
        await bot.idle()

        assert await told(bot) == ["Count", "One "]
        assert await bot.app.store.unfinished() == []
    assert answer.screen.texts == ["One"]


async def test_a_crash_after_the_first_word_leaves_an_honest_mark(rig: NewRig) -> None:
    bot = rig(Fickle("One", "Two three"))
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()
        bot.platform.press("regenerate", answer)
        await bot.advance(1.5)
    async with bot.running():
        await bot.idle()

    assert answer.screen.texts == [f"Two\n\n{INTERRUPTED_MARK}"]


async def test_who_asks_meanwhile_is_answered_with_the_former_answer_in_mind(rig: NewRig) -> None:
    """A question that waited already when another answer was asked for has its turn first."""
    bot = rig(slow)
    async with bot.running():
        first = bot.platform.say("First")
        await bot.idle()
        bot.platform.say("Second")
        await bot.advance(0.5)
        bot.platform.say("Third")
        await bot.rest()
        bot.platform.press("regenerate", first)
        await bot.idle()

    third = next(turns(request.prompt) for request in bot.requests if question(request.prompt) == "Third")
    assert [text for _, text in third[:4]] == ["First", "One two three four.", "Second", "One two three four."]


async def test_a_former_answer_that_the_store_could_not_take_is_not_stored_late(rig: NewRig) -> None:
    """It would end the new one's reply, and the history would have another answer than the screen."""
    bot = rig(Fickle("One", "Two three four", "Other"))
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.rest()
        with bot.refusing("UPDATE ON reply"):
            await bot.idle()
        bot.platform.press("regenerate", answer)
        await bot.advance(0.5)
        bot.platform.say("Hello", chat=2)
        await bot.idle()

        assert await told(bot) == ["Count", "Two three four "]
    assert answer.screen.texts == ["Two three four"]


# An edited question


@pytest.mark.parametrize("moment", [0.0, 0.5, 1.5, 20.0])
async def test_the_answer_follows_an_edited_question(rig: NewRig, moment: float) -> None:
    """While it is stored, read and written, and when it is complete; always in the same message."""
    bot = rig(lambda request: Script(["You ", "said: ", question(request.prompt)], first=1.0, gap=1.0))
    async with bot.running():
        answer = bot.platform.say("Hallo")
        await bot.advance(moment)
        edit(bot, answer, "Hello")
        await bot.idle()

        assert await told(bot) == ["Hello", "You said: Hello"]
    assert answer.screen.texts == ["You said: Hello"]
    assert len(answer.made("send")) == 1
    assert question(bot.requests[-1].prompt) == "Hello"


async def test_an_edited_question_keeps_its_place_in_line(rig: NewRig) -> None:
    """And its former text is asked of nobody."""
    bot = rig(lambda request: Script([question(request.prompt)], first=1.0))
    async with bot.running():
        bot.platform.say("First")
        second, third = bot.platform.say("Secnod"), bot.platform.say("Third")
        await bot.advance(0.5)
        edit(bot, second, "Second")
        await bot.idle()

    assert [question(request.prompt) for request in bot.requests] == ["First", "Second", "Third"]
    assert (second.screen.texts, third.screen.texts) == (["Second"], ["Third"])


async def test_an_edit_is_durable_at_once_while_its_question_waits(rig: NewRig) -> None:
    """The platform's next word must not wait for a conversation's turn."""
    bot = rig(silent)
    async with bot.running():
        bot.platform.say("First")
        second = bot.platform.say("Secnod")
        await bot.rest()
        taken = edit(bot, second, "Second")
        await bot.play(taken)

        assert [left.question.message.text for left in await bot.app.store.unfinished()] == ["First", "Second"]


async def test_an_edit_while_the_answer_cannot_be_delivered(rig: NewRig) -> None:
    """A wait of hours that the platform has asked for does not hold the new text back."""
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("Hallo")
        answer.inject("send", Mishap(Limited(3600.0)))
        await bot.advance(1.0)
        edit(bot, answer, "Hello")
        await bot.idle()

    assert answer.screen.texts == ["You said: Hello"]
    assert answer.early == []


async def test_an_edit_before_there_is_a_message_posts_none_for_it(rig: NewRig) -> None:
    """Nothing is on the screen that could be stopped or taken for the answer."""
    bot = rig(silent)
    async with bot.running():
        answer = bot.platform.say("Hallo")
        await bot.advance(0.5)
        edit(bot, answer, "Hello")
        await bot.advance(3.0)

        assert answer.screen.texts == []


@pytest.mark.parametrize("growing", [True, False])
async def test_an_edit_does_not_wait_for_a_call_without_an_answer(rig: NewRig, growing: bool) -> None:
    """Whoever takes it in would: its author's other questions, and all that a platform has to tell."""
    bot = rig(slow if growing else echo, quota=Quota(messages_per_hour=9))
    async with bot.running():
        answer = bot.platform.say("Hallo")
        answer.inject("edit" if growing else "send", Mishap(hold=14.0))
        await bot.advance(3.0)
        assert answer.in_flight
        taken = edit(bot, answer, "Hello")
        other = bot.platform.say("And this?", chat=2)
        await bot.until(lambda: taken.done())  # type: ignore[attr-defined]
        await bot.advance(6.0)
        assert answer.in_flight
        assert other.screen.states == [State.FINAL]
        await bot.idle()

        assert (await told(bot))[0] == "Hello"
    assert answer.most_in_flight == 1
    assert answer.screen.states == [State.FINAL]


async def test_the_second_of_two_edits_does_not_wait_for_a_call_either(rig: NewRig) -> None:
    """By then the first one waits for that call, to begin the answer again."""
    bot = rig(slow, quota=Quota(messages_per_hour=9))
    async with bot.running():
        answer = bot.platform.say("Hallo")
        answer.inject("edit", Mishap(hold=14.0))
        await bot.advance(3.0)
        edit(bot, answer, "Hallo there")
        await bot.rest()
        taken = edit(bot, answer, "Hello")
        await bot.until(lambda: taken.done())  # type: ignore[attr-defined]
        assert answer.in_flight
        await bot.idle()

        assert (await told(bot))[0] == "Hello"
    assert answer.most_in_flight == 1


async def test_an_edit_does_not_wait_for_a_notice(rig: NewRig) -> None:
    """That there is no other answer may be told hours later; nobody else waits for that either."""
    model = Changing()
    bot = rig(model, quota=Quota(messages_per_hour=9))
    async with bot.running():
        answer = bot.platform.say("Hallo")
        await bot.idle()
        model.now = broken
        answer.inject("send", Mishap(Limited(3600.0)))
        bot.platform.press("regenerate", answer)
        await bot.advance(2.0)
        model.now = echo
        taken, after = edit(bot, answer, "Hello"), bot.platform.say("And now?", chat=2)
        await bot.until(lambda: taken.done())  # type: ignore[attr-defined]
        await bot.advance(5.0)
        assert (answer.screen.texts, after.screen.texts) == (["You said: Hello"], ["You said: And now?"])
        await bot.idle()

    assert answer.early == []


async def test_many_edits_end_with_the_last_one(rig: NewRig) -> None:
    bot = rig(lambda request: Script(["You said: ", question(request.prompt)], first=1.0))
    async with bot.running():
        answer = bot.platform.say("H")
        for text in ("He", "Hel", "Hell", "Hello"):
            edit(bot, answer, text)
        await bot.idle()

        assert await told(bot) == ["Hello", "You said: Hello"]
    assert answer.screen.texts == ["You said: Hello"]


async def test_an_edit_that_changes_nothing_does_nothing(rig: NewRig) -> None:
    """As when a platform adds the preview of a link."""
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.idle()
        edit(bot, answer, "Hello")
        await bot.idle()

    assert len(bot.requests) == 1


async def test_an_edit_that_is_delivered_again_is_applied_once(rig: NewRig) -> None:
    """Also when there was another one since, and after a restart."""
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("A")
        await bot.idle()
        for text, version in (("B", "1"), ("C", "2"), ("B", "1"), ("C", "2")):
            edit(bot, answer, text, version=version)
            await bot.idle()
        await bot.stop()
    async with bot.running():
        edit(bot, answer, "B", version="1")
        await bot.idle()

    assert answer.screen.texts == ["You said: C"]
    assert [question(request.prompt) for request in bot.requests] == ["A", "B", "C"]


async def test_an_edit_survives_a_crash(rig: NewRig) -> None:
    bot = rig(silent)
    async with bot.running():
        answer = bot.platform.say("Hallo")
        await bot.rest()
        await bot.play(edit(bot, answer, "Hello"))
    bot.script = echo
    async with bot.running():
        await bot.idle()

    assert answer.screen.texts == ["You said: Hello"]


async def test_what_was_never_asked_before_is_a_question_now(rig: NewRig) -> None:
    """Its author has put the bot's name into a message that did not have it."""
    bot = rig()
    async with bot.running():
        answer = PlatformReply(bot.clock, limits(name="chat 1"), ref="m1")
        bot.platform.replies["m1"] = answer
        edit(bot, answer, "Hello")
        await bot.idle()
        edit(bot, answer, "Hello again")
        await bot.idle()

    assert answer.screen.texts == ["You said: Hello again"]


async def test_a_question_that_was_refused_can_be_mended(rig: NewRig) -> None:
    """ "Please send a shorter part of it": the edit is what it was told to do."""
    bot = rig(sessions=SessionSettings(max_question_chars=10))
    async with bot.running():
        answer = bot.platform.say("x" * 11)
        await bot.idle()
        edit(bot, answer, "Hello")
        await bot.idle()

    assert answer.screen.texts[-1] == "You said: Hello"


@pytest.mark.parametrize(("by", "text", "age"), [(EVE, "Hello", 0.0), (ADA, "/new", 0.0), (ADA, "Hello", 1000.0)])
async def test_some_edits_are_left_alone_in_silence(rig: NewRig, by: Person, text: str, age: float) -> None:
    """A stranger's, one that makes a command of a question, one that is too old."""
    bot = rig(sessions=SessionSettings(max_age=900.0))
    async with bot.running():
        answer = bot.platform.say("Hallo")
        await bot.idle()
        edit(bot, answer, text, by, age=age)
        await bot.idle()

    assert answer.screen.texts == ["You said: Hallo"]


async def test_an_edit_that_is_too_long_leaves_the_answer_and_says_so(rig: NewRig) -> None:
    bot = rig(sessions=SessionSettings(max_question_chars=10))
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.idle()
        edit(bot, answer, "x" * 11)
        await bot.idle()

        assert await told(bot) == ["Hello", "You said: Hello"]
    assert answer.screen.texts[0] == "You said: Hello"
    assert "too long" in answer.screen.texts[1]


async def test_an_edit_that_fits_no_prompt_brings_question_and_answer_back(rig: NewRig) -> None:
    """With the sizes, and the history as it was."""
    bot = rig(answers=AnswerSettings(system_prompt=""))
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.idle()
        edit(bot, answer, "x" * 50_000)
        await bot.idle()

        assert await told(bot) == ["Hello", "You said: Hello"]
    assert answer.screen.texts[0] == "You said: Hello"
    assert "50,000 tokens" in answer.screen.texts[1]


async def test_a_question_that_is_heard_as_an_edit_first_is_answered_once(rig: NewRig) -> None:
    """Who adds the bot's name to an earlier message asks with that edit; a restart reads the message in its channel."""
    bot = rig()
    async with bot.running():
        asked = PlatformReply(bot.clock, limits(name="chat 1"), ref="m1")
        bot.platform.replies["m1"] = asked
        edit(bot, asked, "Hello")
        await bot.idle()
        await bot.stop()
    async with bot.running():
        bot.platform.say("Hello", id="m1")
        await bot.idle()

    assert asked.screen.texts == ["You said: Hello"]
    assert len(bot.requests) == 1


async def test_an_edit_is_not_lost_on_a_full_disk_but_told(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("Hallo")
        await bot.idle()
        with bot.refusing("UPDATE ON reply"):
            edit(bot, answer, "Hello")
            await bot.idle()

        assert await told(bot) == ["Hallo", "You said: Hallo"]
    assert answer.screen.texts == ["You said: Hallo", words.NOT_KEPT]


async def test_an_edit_behind_a_wish_that_a_broken_disk_met_is_told_too(rig: NewRig) -> None:
    """Nobody waits for ever: their next question would wait for the edit to be counted."""
    bot = rig(Fickle("One two", "Three"))
    async with bot.running():
        answer = bot.platform.say("Hallo")
        answer.inject("edit", Mishap(hold=5.0))
        await bot.advance(3.0)
        bot.platform.press("regenerate", answer)
        await bot.rest()
        with bot.refusing("INSERT ON event"):
            async with asyncio.timeout(10):
                await edit(bot, answer, "Hello")
        await bot.idle()

    assert words.NOT_KEPT in answer.screen.texts


async def test_stop_after_an_edit_stops_the_new_answer(rig: NewRig) -> None:
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(1.5)
        edit(bot, answer, "Count on")
        await bot.advance(1.5)
        bot.platform.press("stop", answer)
        await bot.idle()

    assert answer.screen.texts == [f"One\n\n{STOPPED_MARK}"]
    assert [question(request.prompt) for request in bot.requests] == ["Count", "Count on"]


async def test_the_end_of_the_bot_leaves_an_edit_to_the_platform(rig: NewRig) -> None:
    """It was not taken in, so it is delivered again."""
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(1.5)
        bot.app.sessions.closing = True
        taken = edit(bot, answer, "Count on")
        await bot.rest()
        await bot.idle()

        assert isinstance(taken, Awaitable)
        assert taken.cancelled()  # type: ignore[attr-defined]


# A text that was cut in pieces


@pytest.mark.parametrize("pause", [0.0, 0.2, 1.9])
async def test_pieces_of_a_text_are_one_question(rig: NewRig, pause: float) -> None:
    """More than two, too, and with one answer."""
    bot = rig()
    async with bot.running():
        answer = piece(bot, "One ", more=True)
        await bot.advance(pause)
        piece(bot, "two ", answer, more=True)
        await bot.advance(pause)
        piece(bot, "three", answer)
        await bot.idle()

        assert await told(bot) == ["One two three", "You said: One two three"]
    assert list(bot.screens.values()) == [["You said: One two three"], [], []]


async def test_an_answer_to_the_half_of_it_is_not_shown(rig: NewRig) -> None:
    """A piece that follows within some tenths of a second is soon enough."""
    bot = rig()
    async with bot.running():
        answer = piece(bot, "One ", more=True)
        await bot.advance(0.3)
        assert answer.screen.texts == []
        piece(bot, "two", answer)
        await bot.idle()

    assert answer.screen.texts == ["You said: One two"]
    assert {call.frame.text for call in answer.calls if call.frame} <= {"You said:", "You said: One two"}


async def test_a_text_that_ends_at_the_limit_is_answered(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        answer = piece(bot, "One", more=True)
        await bot.advance(1.0)

    assert answer.screen.texts == ["You said: One"]


async def test_a_piece_that_is_delivered_again_is_added_once(rig: NewRig) -> None:
    """All of them come again when the bot crashed before the platform was told."""
    bot = rig()
    async with bot.running():
        answer = piece(bot, "One ", more=True, id="first")
        piece(bot, "two", answer, id="second")
        await bot.rest()
    async with bot.running():
        piece(bot, "One ", more=True, id="first")
        piece(bot, "two", answer, id="second")
        await bot.idle()

        assert await told(bot) == ["One two", "You said: One two"]


async def test_a_piece_that_is_delivered_again_leaves_the_answer_alone(rig: NewRig) -> None:
    """It is under way by then, and there is nothing new in its question."""
    bot = rig(slow)
    async with bot.running():
        answer = piece(bot, "One ", more=True)
        piece(bot, "two", answer, id="second")
        await bot.advance(1.5)
        piece(bot, "two", answer, id="second")
        await bot.idle()

        assert await bot.app.store.unfinished() == []
    assert answer.screen.texts == ["One two three four."]
    assert answer.screen.states == [State.FINAL]
    assert [question(request.prompt) for request in bot.requests] == ["One ", "One two"]


async def test_the_pieces_of_a_question_that_was_refused_are_left_alone(rig: NewRig) -> None:
    bot = rig(sessions=SessionSettings(max_question_chars=10))
    async with bot.running():
        answer = piece(bot, "x" * 11, more=True)
        rest = piece(bot, "two", answer)
        await bot.idle()

    assert len(answer.screen.texts) == 1
    assert rest.screen.texts == []
    assert bot.requests == []


async def test_pieces_that_are_too_long_together_are_refused(rig: NewRig) -> None:
    """Half of a text is not answered as if it were all."""
    bot = rig(silent, sessions=SessionSettings(max_question_chars=10))
    async with bot.running():
        answer = piece(bot, "x" * 6, more=True)
        await bot.advance(0.1)
        rest = piece(bot, "x" * 6, answer)
        await bot.idle()

    assert answer.screen.texts == [STOPPED_MARK]
    assert "has 12 characters" in rest.screen.texts[0]


async def test_a_text_in_pieces_is_timed_and_counted_once(rig: NewRig) -> None:
    """It is the first answer to its question, and one question."""
    bot = rig(quota=Quota(messages_per_hour=2))
    async with bot.running():
        answer = piece(bot, "One ", more=True)
        piece(bot, "two", answer)
        await bot.idle()
        second = bot.platform.say("Hello")
        await bot.idle()

    assert second.screen.texts == ["You said: Hello"]
    assert len(bot.timings) == 2


def part(bot: Rig, asked: PlatformReply, text: str, version: str = "") -> Awaitable[None]:
    """Ada changes a piece of her text, whichever it is."""
    return edit(bot, asked, text, version=version)


async def pasted(bot: Rig) -> tuple[PlatformReply, PlatformReply, PlatformReply]:
    """A text in three pieces."""
    first = piece(bot, "One", more=True, id="first")
    second = piece(bot, "two", first, id="second", joint=" ")
    return first, second, piece(bot, "three", first, id="third", joint="\n")


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("moment", [0.0, 1.0, 20.0])
@pytest.mark.parametrize(
    ("number", "whole"),
    [(0, "Anew two\nthree"), (1, "One Anew\nthree"), (2, "One two\nAnew")],
    ids=["1st", "2nd", "3rd"],
)
async def test_an_edit_of_a_piece_changes_that_piece_of_the_question(
    rig: NewRig, number: int, whole: str, moment: float, restart: bool
) -> None:
    """While it is taken in, answered, and when it is complete; after a restart, too. There is one answer."""
    bot = rig(lambda request: Script(["You said: ", question(request.prompt)], first=1.0))
    async with bot.running():
        pieces = await pasted(bot)
        await bot.advance(moment)
        if restart:
            await bot.idle()
            await bot.stop()
        else:
            part(bot, pieces[number], "Anew")
            await bot.idle()
            assert await told(bot) == [whole, f"You said: {whole}"]
    if restart:
        async with bot.running():
            part(bot, pieces[number], "Anew")
            await bot.idle()
            assert await told(bot) == [whole, f"You said: {whole}"]

    assert [reply.screen.texts for reply in pieces] == [[f"You said: {whole}"], [], []]
    assert len(pieces[0].made("send")) == 1


async def test_edits_of_all_pieces_are_one_question(rig: NewRig) -> None:
    """Also those that are delivered again, after a restart."""
    bot = rig()
    async with bot.running():
        pieces = await pasted(bot)
        await bot.idle()
        for number, each in enumerate(pieces):
            part(bot, each, f"New {number}", version=f"v{number}")
        await bot.idle()
        await bot.stop()
    async with bot.running():
        asked = len(bot.requests)
        for number, each in enumerate(pieces):
            part(bot, each, f"New {number}", version=f"v{number}")
        await bot.idle()

        assert await told(bot) == ["New 0 New 1\nNew 2", "You said: New 0 New 1\nNew 2"]
    assert len(bot.requests) == asked


async def test_an_edit_of_a_piece_that_changes_nothing_does_nothing(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        _, second, _ = await pasted(bot)
        await bot.idle()
        asked = len(bot.requests)
        part(bot, second, "two")
        await bot.idle()

    assert len(bot.requests) == asked


async def test_an_edit_of_a_piece_is_measured_with_the_others(rig: NewRig) -> None:
    """The question would be too long; it stays as it was."""
    bot = rig(sessions=SessionSettings(max_question_chars=20))
    async with bot.running():
        first, second, _ = await pasted(bot)
        await bot.idle()
        part(bot, second, "x" * 15)
        await bot.idle()

        assert (await told(bot))[0] == "One two\nthree"
    assert "has 25 characters" in second.screen.texts[0]
    assert first.screen.texts == ["You said: One two\nthree"]


async def test_a_text_that_was_too_long_is_asked_when_a_piece_of_it_is_shortened(rig: NewRig) -> None:
    """All of its pieces are known, and it is refused once."""
    model = Changing(silent)
    bot = rig(model, sessions=SessionSettings(max_question_chars=10))
    async with bot.running():
        answer = piece(bot, "x" * 6, more=True)
        await bot.advance(0.1)
        second = piece(bot, "y" * 6, answer, more=True)
        third = piece(bot, "z", answer)
        await bot.idle()
        assert [len(reply.screen.texts) for reply in (answer, second, third)] == [1, 1, 0]
        model.now = echo
        part(bot, second, "yy")
        await bot.idle()

        assert await told(bot) == ["xxxxxxyyz", "You said: xxxxxxyyz"]


async def test_what_is_not_said_to_the_bot_is_looked_at_only_as_a_piece(rig: NewRig) -> None:
    """In a group only the first piece names the bot."""
    bot = rig()
    async with bot.running():
        _, second, _ = await pasted(bot)
        await bot.idle()
        for asked, version in ((second, "1"), (PlatformReply(bot.clock, limits(name="chat 1"), ref="other"), "2")):
            said = Message(asked.ref, HERE, ADA, "Anew", bot.clock.now(), version=version)
            bot.platform.tell(Edited(said, addressed=False), asked)
            await bot.idle()

        assert (await told(bot))[::2] == ["One Anew\nthree"]


async def test_nobody_else_changes_a_piece(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        _, second, _ = await pasted(bot)
        await bot.idle()
        edit(bot, second, "Anew", BOB)
        await bot.idle()

        assert (await told(bot))[::2] == ["One two\nthree"]


# A piece that is removed


@pytest.mark.parametrize(("number", "rest"), [(0, "two\nthree"), (1, "One\nthree"), (2, "One two")])
async def test_the_answer_goes_on_without_a_piece_that_is_removed(rig: NewRig, number: int, rest: str) -> None:
    bot = rig(lambda request: Script(["You said: ", question(request.prompt)], first=1.0))
    async with bot.running():
        pieces = await pasted(bot)
        await bot.advance(0.7)
        bot.platform.delete(pieces[number])
        await bot.idle()

        assert await told(bot) == [rest, f"You said: {rest}"]
    assert pieces[0].screen.texts == [f"You said: {rest}"]


async def test_a_piece_that_is_removed_at_once_is_none_of_the_question(rig: NewRig) -> None:
    bot = rig(lambda request: Script(["You said: ", question(request.prompt)], first=1.0))
    async with bot.running():
        answer = piece(bot, "One", more=True)
        second = piece(bot, "two", answer)
        bot.platform.delete(second)
        await bot.idle()

        assert await told(bot) == ["One", "You said: One"]


async def test_the_answer_is_stopped_when_nothing_is_left_of_the_question(rig: NewRig) -> None:
    bot = rig(slow)
    async with bot.running():
        pieces = await pasted(bot)
        for each in pieces:
            bot.platform.delete(each)
        await bot.idle()

        assert await bot.app.store.unfinished() == []
    assert pieces[0].screen.texts in ([], [STOPPED_MARK])


async def test_a_complete_answer_stays_when_a_piece_is_removed(rig: NewRig) -> None:
    """As with any deleted question; a later edit of another piece asks what is left."""
    bot = rig()
    async with bot.running():
        first, second, third = await pasted(bot)
        await bot.idle()
        asked = len(bot.requests)
        bot.platform.delete(second)
        await bot.idle()
        assert len(bot.requests) == asked
        assert first.screen.texts == ["You said: One two\nthree"]
        part(bot, third, "3")
        await bot.idle()

        assert await told(bot) == ["One\n3", "You said: One\n3"]


# Forgetting


async def test_undo_forgets_the_last_exchange(rig: NewRig) -> None:
    """It stays on the screen; twice forgets two."""
    bot = rig(numbered)
    async with bot.running():
        asked = [bot.platform.say(text) for text in ("First",)]
        for text in ("Second", "Third"):
            await bot.idle()
            asked.append(bot.platform.say(text))
        await bot.idle()
        said = bot.platform.say("/undo")
        await bot.idle()
        once = await told(bot)
        bot.platform.say("/undo")
        await bot.idle()
        twice = await told(bot)

    assert (once[::2], twice[::2]) == (["First", "Second"], ["First"])
    assert [reply.screen.texts for reply in asked] == [[f"Answer after {2 * number + 1}."] for number in range(3)]
    assert said.screen.texts == [words.UNDONE]


async def test_undo_right_behind_a_question_is_about_that_question(rig: NewRig) -> None:
    """Where questions are counted, too: that takes them longer."""
    bot = rig(slow, quota=Quota(messages_per_hour=9))
    async with bot.running():
        bot.platform.say("Count")
        said = bot.platform.say("/undo")
        await bot.idle()

        assert await told(bot) == []
    assert said.screen.texts == [words.UNDONE]


@pytest.mark.parametrize("quota", [Quota(), Quota(messages_per_hour=9)])
@pytest.mark.parametrize("command", ["/undo", "/new"])
async def test_a_question_right_behind_a_command_is_not_forgotten_by_it(
    rig: NewRig, command: str, quota: Quota
) -> None:
    """Both come in one poll after an outage: the command is about what came before it, and about nothing else."""
    bot = rig(quota=quota)
    async with bot.running():
        bot.platform.say("First")
        await bot.idle()
        bot.platform.say(command)
        answer = bot.platform.say("Second")
        await bot.idle()

        assert await told(bot) == ["Second", "You said: Second"]
    assert answer.screen.texts == ["You said: Second"]


async def test_undo_stops_what_is_being_written(rig: NewRig) -> None:
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(1.5)
        bot.platform.say("/undo")
        await bot.idle()

        assert await told(bot) == []
    assert answer.screen.texts == [f"One\n\n{STOPPED_MARK}"]


async def test_what_is_forgotten_stays_forgotten_after_a_restart(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        bot.platform.say("Hello")
        await bot.idle()
        bot.platform.say("/undo")
        await bot.idle()
        await bot.stop()
    async with bot.running():
        bot.platform.say("And now?")
        await bot.idle()

    assert turns(bot.requests[-1].prompt)[:-1] == [("user", "And now?")]


@pytest.mark.parametrize(("by", "said"), [(BOB, words.NOT_YOURS), (ADMIN, words.UNDONE)])
async def test_only_the_asker_and_admins_may_undo(rig: NewRig, by: Person, said: str) -> None:
    bot = rig()
    async with bot.running():
        bot.platform.say("Hello")
        await bot.idle()
        heard = bot.platform.say("/undo", by)
        await bot.idle()

    assert heard.screen.texts == [said]


@pytest.mark.parametrize("wish", ["regenerate", "edit"])
async def test_what_is_wanted_anew_is_remembered_again(rig: NewRig, wish: str) -> None:
    """Whoever asks again for what they had forgotten goes on from it; it stays in its place."""
    bot = rig(Fickle("One", "Two", "Three"))
    async with bot.running():
        first = bot.platform.say("First")
        await bot.idle()
        bot.platform.say("/undo")
        await bot.idle()
        bot.platform.say("Second")
        await bot.idle()
        if wish == "edit":
            edit(bot, first, "Frist")
        else:
            bot.platform.press("regenerate", first)
        await bot.idle()

        assert (await told(bot))[1:] == ["Three ", "Second", "Two "]


async def test_what_gets_no_other_answer_stays_forgotten(rig: NewRig) -> None:
    """Whoever changed their mind has everything as it was."""
    model = Changing()
    bot = rig(model)
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.idle()
        bot.platform.say("/undo")
        await bot.idle()
        model.now = silent
        bot.platform.press("regenerate", answer)
        await bot.advance(2.0)
        assert await told(bot) == []
        bot.platform.say("/stop")
        await bot.idle()

        assert await told(bot) == []


async def test_undo_while_it_is_written_anew_forgets_the_former_answer_too(rig: NewRig) -> None:
    model = Changing()
    bot = rig(model)
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.idle()
        model.now = silent
        bot.platform.press("regenerate", answer)
        await bot.advance(2.0)
        bot.platform.say("/undo")
        await bot.idle()

        assert await told(bot) == []
    assert answer.screen.texts == ["You said: Hello"]


async def test_there_may_be_nothing_to_forget(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        said = bot.platform.say("/undo")
        await bot.idle()

    assert said.screen.texts == [words.NOTHING_TO_UNDO]


# A second question


async def test_a_second_question_of_the_same_person_interrupts(rig: NewRig) -> None:
    """What there is of the first answer stays, marked, and is in the history."""
    bot = rig(slow, sessions=SessionSettings(busy="interrupt"))
    async with bot.running():
        first = bot.platform.say("Count")
        await bot.advance(2.5)
        second = bot.platform.say("No, this")
        await bot.idle()

    assert first.screen.texts == [f"One two\n\n{STOPPED_MARK}"]
    assert second.screen.texts == ["One two three four."]
    assert [text for _, text in turns(bot.requests[-1].prompt)[:-1]] == ["Count", "One two ", "No, this"]


async def test_a_second_question_of_somebody_else_waits(rig: NewRig) -> None:
    bot = rig(slow, sessions=SessionSettings(busy="interrupt"))
    async with bot.running():
        first = bot.platform.say("Count", ADA)
        await bot.advance(2.5)
        second = bot.platform.say("Count", BOB)
        await bot.idle()

    assert (first.screen.texts, second.screen.texts) == (["One two three four."], ["One two three four."])


async def test_a_question_that_is_delivered_again_does_not_interrupt_its_own_answer(rig: NewRig) -> None:
    bot = rig(slow, sessions=SessionSettings(busy="interrupt"))
    async with bot.running():
        answer = bot.platform.say("Count", id="same")
        await bot.advance(1.5)
        bot.platform.say("Count", id="same")
        await bot.idle()

    assert answer.screen.texts == ["One two three four."]


async def test_who_interrupts_needs_no_place_in_line(rig: NewRig) -> None:
    """The one that is interrupted makes room, where nothing else may wait."""
    bot = rig(slow, sessions=SessionSettings(busy="interrupt", queue=0))
    async with bot.running():
        bot.platform.say("Count")
        await bot.advance(1.5)
        second = bot.platform.say("Count")
        await bot.idle()

    assert second.screen.texts == ["One two three four."]


# Faults that nobody foresaw


@pytest.mark.parametrize(("by", "said"), [(ADA, [words.FAILED]), (EVE, [])])
async def test_whoever_is_met_by_an_unforeseen_fault_hears_of_it(rig: NewRig, by: Person, said: list[str]) -> None:
    """Where something is taken in, too, before it is a question; strangers hear nothing."""
    bot = rig()
    async with bot.running():
        answer = PlatformReply(bot.clock, limits(name="chat 1"), ref="m1")
        bot.execute("ALTER TABLE event RENAME TO elsewhere")
        edit(bot, answer, "Hello", by)
        await bot.idle()
        bot.execute("ALTER TABLE elsewhere RENAME TO event")

    assert answer.screen.texts == said


async def test_a_rejected_text_of_another_answer_comes_as_a_file(rig: NewRig) -> None:
    """Where the platform takes none of it, the former answer is over all the same."""
    bot = rig(Fickle("One", "Two"))
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()
        answer.inject("edit", *[Mishap(Rejected("never"))] * 2)
        bot.platform.press("regenerate", answer)
        await bot.idle()

        assert await bot.app.store.unfinished() == []
    assert answer.screen.frames[0].files[0].data == b"Two"
