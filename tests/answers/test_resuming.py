"""Answers that are not complete: what a restart makes of them, and how somebody lets one go on."""

from collections.abc import Callable
from typing import Any

import pytest

from clawdbot import words
from clawdbot.chat import Conversation, Edited, Frame, Message, Person, Pressed, State
from clawdbot.engine.protocol import Request
from clawdbot.errors import Forbidden, Limited, Rejected, Unreachable, Unsure
from clawdbot.settings.config import AnswerSettings, SessionSettings
from clawdbot.store import Answer, Piece, Revision, Store
from clawdbot.testing.engine import CHARACTERS, Script
from clawdbot.testing.memory import NO_MISHAP, Mishap, limits
from clawdbot.testing.rig import ADA, ADMIN, BOB, EVE, PlatformReply, Rig, echo, question, silent, slow, turns
from clawdbot.words import CUT_OFF, FAILED, INTERRUPTED_MARK, NOT_TAKEN, STOPPED_MARK, WITHDRAWN

NewRig = Callable[..., Rig]

COUNT = ["One ", "two ", "three ", "four."]


def counting(request: Request) -> Script:
    """The script of a model that counts to four from where its turn stands already, a word a second."""
    said = turns(request.prompt)[-1][1]
    number = len(said.split())
    assert "".join(COUNT[:number]) == said
    return Script(COUNT[number:], first=1.0, gap=1.0)


def brief(request: Request) -> Script:
    """The script of a model that is done before its second frame is due."""
    return Script(["One ", "two."], first=1.0, gap=0.2)


async def interrupted(bot: Rig) -> PlatformReply:
    """A crash after the first word, and the restart that marks it."""
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(1.5)
    async with bot.running():
        await bot.idle()
        await bot.stop()
    assert answer.screen.texts == [f"One\n\n{INTERRUPTED_MARK}"]
    return answer


# What a restart makes of them


async def test_what_nobody_has_seen_is_answered_anew(rig: NewRig) -> None:
    """The platform took nothing of the text before the crash, and said so."""
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Hello")
        answer.inject("send", *[Mishap(Unreachable("502"))] * 9)
        await bot.advance(2.5)
        assert len(answer.made("send")) > 1
    answer.inject("send", *[NO_MISHAP] * 9)
    bot.script = echo
    async with bot.running():
        await bot.idle()

    assert answer.screen.texts == ["You said: Hello"]
    assert len(bot.requests) == 2


async def test_a_notice_is_no_text(rig: NewRig) -> None:
    """The answer takes its place, in the same message."""
    bot = rig()
    bot.loaded.clear()
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.advance(2.0)
        assert answer.screen.texts == [words.LOADING]
    bot.loaded.set()
    async with bot.running():
        await bot.idle()

    assert answer.screen.texts == ["You said: Hello"]
    assert answer.screen.states == [State.FINAL]


async def test_a_crash_late_in_an_answer_costs_a_few_seconds_of_it(rig: NewRig) -> None:
    """What is on the screen is noted every three seconds."""
    bot = rig(lambda request: Script([f"{number} " for number in range(100)], first=1.0, gap=0.25))
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(20.0)
        shown = answer.screen.texts[0].split()
    async with bot.running():
        await bot.idle()

    kept = answer.screen.texts[0].removesuffix(INTERRUPTED_MARK).split()
    assert kept == shown[: len(kept)]
    assert 0 <= len(shown) - len(kept) <= 3.0 / 0.25 + 4
    assert answer.screen.states == [State.INTERRUPTED]


async def test_an_answer_of_several_messages_is_marked_at_its_end(rig: NewRig) -> None:
    """Nothing is posted twice, and only the last message can be continued."""
    bot = rig(lambda request: Script([f"{number:04d} " for number in range(400)], first=1.0, gap=0.01))
    async with bot.running():
        answer = bot.platform.say("Count", allowed=limits(size=300, name="chat 1"))
        await bot.advance(3.0)
        assert len(answer.screen.texts) > 2
    async with bot.running():
        await bot.idle()

    text = " ".join(answer.screen.texts).removesuffix(INTERRUPTED_MARK).split()
    assert text == [f"{number:04d}" for number in range(len(text))]
    assert answer.screen.states[-1] is State.INTERRUPTED
    assert len(answer.made("send")) == len(answer.screen.texts)


async def test_a_message_that_could_not_be_noted_is_recognised(rig: NewRig) -> None:
    """As if the process had been killed between the call and the note: the platform knows the key."""
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.rest()
        with bot.refusing("INSERT ON post"):
            await bot.advance(1.5)
        assert answer.screen.texts == ["One"]
    async with bot.running():
        await bot.idle()

    assert answer.screen.texts == [f"One\n\n{INTERRUPTED_MARK}"]
    assert len(answer.made("send")) == 2


@pytest.mark.parametrize("wait", [30.0, 14_000.0])
async def test_a_finished_text_survives_a_restart_during_a_long_wait(rig: NewRig, wait: float) -> None:
    """Its first part is there, the platform refuses the second: only that one is sent later, in the stored words.

    No call is made before the wait is over, by neither process.
    """
    bot = rig(lambda request: Script([" ".join(f"{number:04d}" for number in range(100))]))
    async with bot.running():
        answer = bot.platform.say("Count", allowed=limits(size=300, name="chat 1"))
        answer.inject("send", NO_MISHAP, Mishap(Limited(wait)))
        await bot.advance(10.0)
        assert len(answer.screen.texts) == 1
    bot.script = echo
    async with bot.running():
        await bot.idle()
        await bot.stop()

    assert " ".join(answer.screen.texts).split() == [f"{number:04d}" for number in range(100)]
    assert answer.screen.states[-1] is State.FINAL
    assert answer.early == []
    assert len(bot.requests) == 1
    assert len(answer.made("send")) == len(answer.screen.texts) + 1


async def test_nothing_is_left_unfinished_by_a_full_disk_at_the_restart(rig: NewRig) -> None:
    """An answer that cannot be taken up is apologised for, though nobody can note that."""
    bot = rig(silent)
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.rest()
    bot.execute("INSERT INTO post VALUES ((SELECT id FROM reply), 0, 'nonsense')")
    with bot.refusing("UPDATE ON reply"):
        async with bot.running():
            await bot.idle()
            await bot.stop()

    assert answer.screen.texts == [FAILED]


# What the platform never takes


async def test_a_text_that_is_refused_ends_its_question(rig: NewRig) -> None:
    """It comes as a file, it is in the history, and the next start has nothing to do."""
    bot = rig(brief)
    async with bot.running():
        answer = bot.platform.say("Count")
        answer.inject("edit", Mishap(Rejected("never")))
        await bot.idle()
        history = await bot.app.store.history("memory:1:0", CHARACTERS)
        await bot.stop()
    calls = len(answer.calls)
    async with bot.running():
        await bot.idle()

    assert answer.screen.texts == [NOT_TAKEN]
    assert answer.screen.states == [State.FINAL]
    assert answer.screen.frames[0].files[0].data == b"One two."
    assert [turn.text for turn in history] == ["Count", "One two."]
    assert len(answer.calls) == calls


async def test_a_partial_text_never_looks_finished(rig: NewRig) -> None:
    """Not even where the platform takes neither text nor file: what is there says that it was cut off."""
    bot = rig(brief)
    async with bot.running():
        answer = bot.platform.say("Count")
        answer.inject("edit", Mishap(Rejected("never")), Mishap(Forbidden("no files")))
        await bot.idle()
        assert await bot.app.store.unfinished() == []

    assert answer.screen.frames == [Frame(f"One\n\n{CUT_OFF}", State.FAILED)]


# Continue


async def test_an_interrupted_answer_goes_on_where_it_ended(rig: NewRig) -> None:
    """In the middle of its sentence and in its own message: the model gets its own words as the turn's beginning."""
    bot = rig(counting)
    answer = await interrupted(bot)
    async with bot.running():
        bot.platform.press("continue", answer)
        await bot.rest()
        assert answer.screen.frames == [Frame("One", State.STREAMING)]
        await bot.idle()
        history = await bot.app.store.history("memory:1:0", CHARACTERS)

    assert answer.screen.texts == ["One two three four."]
    assert answer.screen.states == [State.FINAL]
    assert len(answer.made("send")) == 1
    assert turns(bot.requests[-1].prompt) == [("user", "Count"), ("assistant", "One ")]
    assert [turn.text for turn in history] == ["Count", "One two three four."]
    assert history[1].tokens == [ord(character) for character in "One two three four."]


async def test_what_was_written_counts_in_the_length_of_the_answer(rig: NewRig) -> None:
    bot = rig(counting, answers=AnswerSettings(system_prompt="", max_tokens=100))
    answer = await interrupted(bot)
    async with bot.running():
        bot.platform.press("continue", answer)
        await bot.idle()

    assert [request.sampling.max_tokens for request in bot.requests] == [100, 96]


async def test_an_answer_that_a_fault_cut_short_goes_on_in_the_same_run(rig: NewRig) -> None:
    bot = rig(counting)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(2.5)
        bot.engine.die()
        await bot.idle()
        assert answer.screen.states == [State.INTERRUPTED]
        bot.platform.press("continue", answer)
        await bot.idle()

    assert answer.screen.texts == ["One two three four."]


async def test_a_second_press_does_nothing(rig: NewRig) -> None:
    """At the same moment, while it goes on, and when it is complete."""
    bot = rig(counting)
    answer = await interrupted(bot)
    async with bot.running():
        bot.platform.press("continue", answer)
        bot.platform.press("continue", answer)
        await bot.advance(1.5)
        bot.platform.press("continue", answer)
        await bot.idle()
        bot.platform.press("continue", answer)
        await bot.idle()

    assert answer.screen.texts == ["One two three four."]
    assert len(bot.requests) == 2


@pytest.mark.parametrize(("by", "goes_on"), [(ADA, True), (BOB, False), (EVE, False), (ADMIN, True)])
async def test_only_the_asker_and_admins_can_continue(rig: NewRig, by: Person, goes_on: bool) -> None:
    bot = rig(counting)
    answer = await interrupted(bot)
    async with bot.running():
        bot.platform.press("continue", answer, by)
        await bot.idle()

    assert answer.screen.texts == (["One two three four."] if goes_on else [f"One\n\n{INTERRUPTED_MARK}"])


async def test_a_continued_answer_can_be_stopped_and_interrupted_again(rig: NewRig) -> None:
    """Each time it keeps what there is."""
    bot = rig(counting)
    answer = await interrupted(bot)
    async with bot.running():
        bot.platform.press("continue", answer)
        await bot.advance(1.5)
        assert answer.screen.texts == ["One two"]
    async with bot.running():
        await bot.idle()
        assert answer.screen.texts == [f"One\n\n{INTERRUPTED_MARK}"]
        bot.platform.press("continue", answer)
        await bot.advance(2.5)
        bot.platform.press("stop", answer)
        await bot.idle()

    assert answer.screen.texts == [f"One two three\n\n{STOPPED_MARK}"]


async def test_an_answer_that_was_never_begun_can_be_continued_too(rig: NewRig) -> None:
    """It was too old after the restart; whoever still wants it gets it."""
    bot = rig(silent, sessions=SessionSettings(max_age=900.0))
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.rest()
    await bot.clock.advance(901.0)
    bot.script = echo
    async with bot.running():
        await bot.idle()
        assert answer.screen.texts == [INTERRUPTED_MARK]
        bot.platform.press("continue", answer)
        await bot.idle()

    assert answer.screen.texts == ["You said: Hello"]
    assert len(answer.made("send")) == 1


async def test_a_continued_answer_knows_what_was_said_before_it_alone(rig: NewRig) -> None:
    """And whoever asks later finds all of it in its place."""
    bot = rig(lambda request: counting(request) if question(request.prompt) == "Count" else echo(request))
    async with bot.running():
        bot.platform.say("First")
        await bot.idle()
        await bot.stop()
    answer = await interrupted(bot)
    async with bot.running():
        bot.platform.say("Later")
        await bot.idle()
        bot.platform.press("continue", answer)
        await bot.idle()
        history = await bot.app.store.history("memory:1:0", CHARACTERS)

    assert [text for _, text in turns(bot.requests[-1].prompt)] == ["First", "You said: First", "Count", "One "]
    assert [turn.text for turn in history][2:] == ["Count", "One two three four.", "Later", "You said: Later"]


async def test_a_continued_answer_grows_over_several_messages(rig: NewRig) -> None:
    """Those that are there stay, and every word is there once."""
    said = [f"{number:04d} " for number in range(300)]

    def talking(request: Request) -> Script:
        return Script(said[len(turns(request.prompt)[-1][1].split()) :], first=1.0, gap=0.01)

    bot = rig(talking)
    async with bot.running():
        answer = bot.platform.say("Count", allowed=limits(size=300, name="chat 1"))
        await bot.advance(3.0)
    async with bot.running():
        await bot.idle()
        before = len(answer.screen.texts)
        bot.platform.press("continue", answer)
        await bot.idle()

    assert before > 1
    shown = " ".join(answer.screen.texts).split()
    assert shown == "".join(said).split()
    assert len(answer.made("send")) == len(answer.screen.texts)
    assert answer.screen.states[-1] is State.FINAL


async def test_another_tokenizer_reads_the_words_and_not_the_tokens(rig: NewRig) -> None:
    """Its own tokens would mean other words to it."""
    bot = rig(counting)
    answer = await interrupted(bot)
    bot.execute("UPDATE reply SET tokenizer = 'another', answer_tokens = X'01000000'")
    async with bot.running():
        bot.platform.press("continue", answer)
        await bot.idle()

    assert answer.screen.texts == ["One two three four."]


async def test_an_engine_that_dies_before_it_goes_on_is_replaced(rig: NewRig) -> None:
    """Nothing new was shown, so the next engine goes on from the same words."""
    bot = rig(counting)
    answer = await interrupted(bot)
    async with bot.running():
        bot.platform.press("continue", answer)
        await bot.advance(0.5)
        bot.engine.die()
        await bot.idle()

    assert answer.screen.texts == ["One two three four."]
    assert [turns(request.prompt)[-1] for request in bot.requests[1:]] == [("assistant", "One ")] * 2


async def test_an_answer_without_room_to_go_on_stays_as_it_is(rig: NewRig) -> None:
    """The question with its answer fills the context: the text is kept, and never taken for a refusal."""
    bot = rig(lambda request: Script(["x" * 5000, "y"], gap=60.0), answers=AnswerSettings(system_prompt=""))
    async with bot.running():
        answer = bot.platform.say("z" * 4000, allowed=limits(size=6000, name="chat 1"))
        await bot.advance(1.0)
    async with bot.running():
        await bot.idle()
        bot.platform.press("continue", answer)
        await bot.idle()

    assert answer.screen.texts == ["x" * 5000 + f"\n\n{INTERRUPTED_MARK}"]
    assert answer.screen.states == [State.INTERRUPTED]


async def test_a_continued_answer_meets_the_limits_of_a_question(rig: NewRig) -> None:
    """Whoever asks for too much is told so, and the control stays."""
    bot = rig(counting, sessions=SessionSettings(busy="refuse"))
    answer = await interrupted(bot)
    async with bot.running():
        bot.script = silent
        bot.platform.say("Think")
        await bot.rest()
        bot.platform.press("continue", answer)
        await bot.rest()
        bot.platform.say("/stop")
        await bot.idle()

    assert answer.screen.frames == [
        Frame(f"One\n\n{INTERRUPTED_MARK}", State.INTERRUPTED),
        Frame(words.BUSY, State.NOTICE, private=True),
    ]


async def test_an_answer_that_is_forgotten_is_not_continued_but_explained(rig: NewRig) -> None:
    """Its messages were posted so long ago that the store does not know them any more."""
    bot = rig(counting)
    answer = await interrupted(bot)
    bot.execute("DELETE FROM post")
    async with bot.running():
        bot.platform.press("continue", answer)
        await bot.idle()

    assert answer.screen.texts == [f"One\n\n{INTERRUPTED_MARK}", words.NOT_KNOWN]
    assert answer.screen.frames[1].private


async def test_at_the_end_of_the_bot_nothing_is_begun(rig: NewRig) -> None:
    """The control stays for the next run."""
    bot = rig(counting)
    answer = await interrupted(bot)
    async with bot.running():
        bot.app.sessions.closing = True
        bot.platform.press("continue", answer)
        await bot.idle()

    assert answer.screen.states == [State.INTERRUPTED]
    assert len(bot.requests) == 1


# A message whose posting got no answer


def doubled(bot: Rig) -> PlatformReply:
    """A first word whose call got no answer, on a platform that does not recognise the second try."""
    answer = bot.platform.say("Count", remembers=False)
    answer.inject("send", Mishap(Unsure("time-out"), landed=True))
    return answer


async def test_stop_below_a_stray_copy_stops_the_answer(rig: NewRig) -> None:
    """Whoever uses it means what they see grow."""
    bot = rig(slow)
    async with bot.running():
        answer = doubled(bot)
        await bot.advance(2.9)
        assert answer.screen.texts == ["One", "One two"]
        bot.platform.tell(Pressed(Conversation("memory", 1), ADA, "stop", f"{answer.ref}:0"), answer)
        await bot.idle()

    assert answer.screen.texts == ["One", f"One two\n\n{STOPPED_MARK}"]


async def test_stop_below_a_stray_copy_is_for_the_asker(rig: NewRig) -> None:
    """It may be the very message that is growing, only that its number is on its way: nobody else can empty it."""
    bot = rig(slow)
    async with bot.running():
        answer = doubled(bot)
        await bot.advance(2.9)
        bot.platform.tell(Pressed(Conversation("memory", 1), BOB, "stop", f"{answer.ref}:0"), answer)
        await bot.idle()

    assert answer.screen.texts == ["One", "One two three four."]


async def test_stop_below_a_stray_copy_of_a_finished_answer_takes_it_away(rig: NewRig) -> None:
    """It would stand there for ever as if it still grew; what it said is in the other one."""
    bot = rig(slow)
    async with bot.running():
        answer = doubled(bot)
        await bot.idle()
        assert answer.screen.texts == ["One", "One two three four."]
        bot.platform.tell(Pressed(Conversation("memory", 1), ADA, "stop", f"{answer.ref}:0"), answer)
        await bot.idle()

    assert answer.screen.texts == [WITHDRAWN, "One two three four."]
    assert answer.screen.states == [State.NOTICE, State.FINAL]


async def test_stop_below_an_answer_that_is_just_over_does_nothing(rig: NewRig) -> None:
    """The press crossed the last frame on its way."""
    bot = rig()
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.idle()
        bot.platform.press("stop", answer)
        await bot.idle()

    assert answer.screen.texts == ["You said: Hello"]


# What it costs


async def used(bot: Rig, person: Person = ADA) -> tuple[int, int]:
    """Questions and tokens that count for somebody this hour."""
    counted = await bot.app.store.access.used("memory", person.id)
    return counted.messages_per_hour, counted.tokens_per_hour


async def test_what_a_continued_answer_needs_counts_once(rig: NewRig) -> None:
    """For whoever let it go on, and as no question. What was written before the crash counts for the asker."""
    bot = rig(counting)
    answer = await interrupted(bot)
    async with bot.running():
        asked = await used(bot)
        bot.platform.press("continue", answer, ADMIN)
        await bot.idle()
        after, admin = await used(bot), await used(bot, ADMIN)
        await bot.stop()
    async with bot.running():
        assert (await used(bot), await used(bot, ADMIN)) == (after, admin)

    assert asked == after == (1, len("One "))
    assert admin == (0, len(bot.requests[-1].prompt) + 3)


async def test_what_a_continued_answer_needed_stays_counted_when_it_is_written_anew(rig: NewRig) -> None:
    """And what the other one needs is counted beside it."""
    bot = rig(counting)
    answer = await interrupted(bot)
    async with bot.running():
        bot.platform.press("continue", answer)
        await bot.idle()
        _, continued = await used(bot)
        bot.platform.press("regenerate", answer)
        await bot.idle()

        assert await used(bot) == (2, continued + len(bot.requests[-1].prompt) + 4)


async def test_a_crash_of_a_continued_answer_leaves_what_was_noted_counted(rig: NewRig) -> None:
    """Not those of the first run once more: each sign that is kept of the answer was one token."""
    bot = rig(counting)
    answer = await interrupted(bot)
    bot.script = lambda request: Script(["and so on "] * 9, first=1.0, gap=1.0)
    async with bot.running():
        bot.platform.press("continue", answer)
        await bot.advance(5.5)
    async with bot.running():
        await bot.idle()
        kept = (await bot.app.store.history("memory:1:0", CHARACTERS))[-1].text

        assert "and so on" in kept
        assert await used(bot) == (1, len(kept))


async def test_what_an_edit_cuts_short_counts(rig: NewRig) -> None:
    """Or who edits again and again before the end would have answers for nothing."""
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(2.5)
        said = Message(answer.ref, Conversation("memory", 1, private=True), ADA, "Anew", bot.clock.now(), version="1")
        bot.platform.tell(Edited(said), answer)
        await bot.rest()
        assert await used(bot) == (2, len("One two "))
        await bot.idle()

        assert await used(bot) == (2, len("One two ") + len(bot.requests[-1].prompt) + 4)


async def test_an_edit_while_an_answer_is_being_stored_counts_that_answer_once(
    rig: NewRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its timing, which is in the store by then."""
    bot = rig(counting)
    store = Store.finish

    async def edited(self: Store, reply: int, answer: Answer, *rest: Any, **named: Any) -> None:
        monkeypatch.undo()
        (ticket,) = bot.app.sessions.tickets
        ticket.revise(Revision(ADA.id, "edit-1", Piece(ticket.message_id, "Anew")))
        await store(self, reply, answer, *rest, **named)

    monkeypatch.setattr(Store, "finish", edited)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()
        first, second = (len(request.prompt) + 4 for request in bot.requests)

        assert await used(bot) == (2, first + second)
    assert answer.screen.texts == ["One two three four."]


async def test_asking_anew_what_failed_is_one_question(rig: NewRig) -> None:
    """It got no answer before."""
    scripts = iter((Script([], fails=True), Script(["Yes."])))
    bot = rig(lambda request: next(scripts))
    async with bot.running():
        bot.platform.say("Hello")
        await bot.idle()
        failed = await used(bot)
        bot.platform.say("/retry")
        await bot.idle()
        again, _ = await used(bot)

    assert failed == (0, 0)
    assert again == 1
