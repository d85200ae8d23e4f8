"""One question on its way: order, notices, the engine's faults, the platform's, the store's, and what is remembered."""

import asyncio
import logging
from collections.abc import Callable, Iterator

import pytest

from clawdbot import words
from clawdbot.answers.notices import key_of
from clawdbot.chat import Conversation, Message, State
from clawdbot.engine.protocol import Request
from clawdbot.engine.remote.settings import RemoteSettings
from clawdbot.engine.settings import EngineSettings
from clawdbot.errors import EngineDead, Gone, Limited, PromptTooLong
from clawdbot.latency.timing import stages
from clawdbot.settings.config import AnswerSettings, SessionSettings
from clawdbot.testing.engine import CHARACTERS, TEXTLESS, CharacterTokenizer, Script
from clawdbot.testing.memory import Mishap
from clawdbot.testing.rig import ADA, BOB, Rig, echo, question, silent, slow, turns
from clawdbot.words import EMPTY, FAILED, INTERRUPTED_MARK

NewRig = Callable[..., Rig]


class Breaking(list[str]):
    """Tokens of a model that breaks after the last one in a way that nobody foresaw."""

    def __iter__(self) -> Iterator[str]:
        yield from super().__iter__()
        raise ZeroDivisionError("a secret of the house")


# The first word


async def test_the_first_word_is_shown_when_it_is_there(rig: NewRig) -> None:
    """No placeholder before it, no second call for it, and the answer grows in that one message."""
    bot = rig(lambda request: Script(["A heron ", "is a bird."], first=0.9, gap=10.0))
    async with bot.running():
        answer = bot.platform.say("What is a heron?")
        await bot.advance(5.0)
        assert [call.method for call in answer.calls if call.frame] == ["send"]
        assert answer.calls[-1].at == pytest.approx(1000.9)
        assert answer.screen.states == [State.STREAMING]
        await bot.idle()

    assert answer.screen.texts == ["A heron is a bird."]
    assert answer.screen.states == [State.FINAL]
    assert len(answer.made("send")) == 1


async def test_a_question_without_text_is_put_to_the_model(rig: NewRig) -> None:
    bot = rig(answers=AnswerSettings(system_prompt="Be brief."))
    async with bot.running():
        bot.platform.say("")
        await bot.idle()

    assert turns(bot.requests[0].prompt)[:2] == [("system", "Be brief."), ("user", "")]


async def test_an_answer_of_no_text_says_so(rig: NewRig) -> None:
    """It leaves nothing in the history."""
    bot = rig(lambda request: Script([]))
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.idle()
        history = await bot.app.store.history("memory:1:0", CHARACTERS)

    assert answer.screen.texts == [EMPTY]
    assert history == []


# Order and limits


async def test_questions_of_a_conversation_are_answered_in_their_order(rig: NewRig) -> None:
    """The second begins when the first is complete, and sees it in its prompt."""
    bot = rig(slow)
    async with bot.running():
        bot.platform.say("First", ADA)
        bot.platform.say("Second", BOB)
        await bot.advance(3.9)
        assert len(bot.requests) == 1
        await bot.idle()

    assert turns(bot.requests[1].prompt) == [
        ("user", "First"),
        ("assistant", "One two three four."),
        ("user", "Second"),
        ("assistant", ""),
    ]


async def test_a_question_waits_also_for_the_one_that_waited_before_it(rig: NewRig) -> None:
    """The first is done by then; the second has its turn."""
    bot = rig(slow)
    async with bot.running():
        bot.platform.say("First")
        bot.platform.say("Second")
        await bot.advance(5.0)
        bot.platform.say("Third")
        await bot.advance(1.0)

        assert [question(request.prompt) for request in bot.requests] == ["First", "Second"]


async def test_a_follow_up_begins_with_the_whole_last_prompt(rig: NewRig) -> None:
    """Token by token, so that the prefix cache serves it; and so does the answer, as it was generated."""
    bot = rig(answers=AnswerSettings(system_prompt="Be brief."))
    async with bot.running():
        for text in ("First", "Second", "Third"):
            bot.platform.say(text)
            await bot.idle()

    first, second, third = (request.prompt for request in bot.requests)
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    assert third[len(second) :][: len("You said: Second")] == [ord(character) for character in "You said: Second"]


async def test_one_conversation_does_not_hold_up_another(rig: NewRig) -> None:
    bot = rig(lambda request: silent(request) if question(request.prompt) == "Think" else echo(request))
    async with bot.running():
        bot.platform.say("Think", chat=1)
        other = bot.platform.say("Hello", chat=2)
        await bot.rest()

        assert other.screen.texts == ["You said: Hello"]


async def test_no_more_answers_are_made_at_once_than_there_are_slots(rig: NewRig) -> None:
    """Whoever waits is told his place in the line, once it is worth a message; the notice becomes the answer."""
    bot = rig(slow, sessions=SessionSettings(concurrent=2))
    async with bot.running():
        answers = [bot.platform.say("Count", chat=chat) for chat in range(4)]
        await bot.advance(0.9)
        assert len(bot.engine.running) == 2
        assert answers[2].screen.texts == answers[3].screen.texts == []
        await bot.advance(0.2)
        assert answers[2].screen.texts == [words.IN_LINE.format(number=1)]
        assert answers[3].screen.texts == [words.IN_LINE.format(number=2)]
        assert answers[3].screen.states == [State.WAITING]
        await bot.idle()

    assert [answer.screen.texts for answer in answers] == [["One two three four."]] * 4


async def test_a_short_question_passes_long_ones_that_wait(rig: NewRig) -> None:
    """One long prompt is read at a time; a "hi" in another chat does not wait behind pasted documents."""
    bot = rig(slow)
    async with bot.running():
        for chat in range(3):
            bot.platform.say("word " * 600, chat=chat)
        await bot.rest()
        bot.platform.say("hi", chat=9)
        await bot.rest()

        asked = [question(request.prompt) for request in bot.requests]
        assert [len(text) > 100 for text in asked] == [True, False]


async def test_the_next_long_question_is_read_when_the_last_one_is(rig: NewRig) -> None:
    """At its first word, not at its end."""
    bot = rig(slow)
    async with bot.running():
        for chat in range(2):
            bot.platform.say("word " * 600, chat=chat)
        await bot.advance(0.9)
        before = len(bot.requests)
        await bot.advance(0.2)

        assert (before, len(bot.requests)) == (1, 2)


async def test_a_follow_up_to_a_long_question_is_short(rig: NewRig) -> None:
    """What the engine has read already costs nothing, so it does not wait behind a long prompt."""
    bot = rig(slow)
    async with bot.running():
        bot.platform.say("word " * 600, chat=1)
        await bot.idle()
        bot.platform.say("word " * 600, chat=2)
        await bot.rest()
        bot.platform.say("And then?", chat=1)
        await bot.rest()

        assert question(bot.requests[-1].prompt) == "And then?"


async def test_what_a_stopped_answer_has_read_is_read(rig: NewRig) -> None:
    """The next question of its conversation is short, though the answer before it was cut."""
    bot = rig(slow)
    async with bot.running():
        bot.platform.say("word " * 600, chat=1)
        await bot.advance(1.5)
        bot.platform.say("/stop", chat=1)
        await bot.idle()
        bot.platform.say("word " * 600, chat=2)
        await bot.rest()
        bot.platform.say("And then?", chat=1)
        await bot.rest()

        assert question(bot.requests[-1].prompt) == "And then?"


async def test_one_conversation_takes_one_slot_however_much_it_asks(rig: NewRig) -> None:
    bot = rig(slow, sessions=SessionSettings(concurrent=2))
    async with bot.running():
        for _ in range(4):
            bot.platform.say("Count", chat=1)
        bot.platform.say("Hello", chat=2)
        await bot.rest()

        assert sorted(question(request.prompt) for request in bot.requests) == ["Count", "Hello"]


async def test_an_answer_that_a_platform_refuses_for_hours_holds_no_slot(rig: NewRig) -> None:
    """Nor does it count as waiting: a chat under a flood limit is its own affair."""
    bot = rig(sessions=SessionSettings(concurrent=1, waiting=1))
    async with bot.running():
        for chat in range(2):
            refused = bot.platform.say("Hello", chat=chat)
            refused.inject("send", *[Mishap(Limited(14_000.0))] * 2)
            await bot.rest()
        other = bot.platform.say("Hello", chat=3)
        await bot.rest()
        assert other.screen.texts == ["You said: Hello"]
        await bot.idle()

    assert refused.screen.texts == ["You said: Hello"]
    assert refused.early == []


# The engine starts, fails, dies


async def test_what_is_asked_while_the_model_loads_is_kept_and_answered(rig: NewRig) -> None:
    """An honest notice, when the wait is worth a message; the answer takes its place."""
    bot = rig()
    bot.loaded.clear()
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.advance(0.9)
        assert answer.screen.texts == []
        await bot.advance(30.0)
        assert answer.screen.texts == [words.LOADING]
        bot.loaded.set()
        await bot.idle()

    assert answer.screen.texts == ["You said: Hello"]
    assert len(answer.made("send")) == 1


async def test_an_engine_that_dies_in_mid_answer_leaves_what_was_shown(rig: NewRig) -> None:
    """It is marked, it is in the history, the model is not asked again for it, and the next answer works."""
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(2.5)
        bot.engine.die()
        await bot.rest()
        assert answer.screen.texts == [f"One two\n\n{INTERRUPTED_MARK}"]
        assert answer.screen.states == [State.INTERRUPTED]
        following = bot.platform.say("Again")
        await bot.idle()

    assert following.screen.texts == ["One two three four."]
    assert len(bot.engines) == 2
    assert turns(bot.engine.requests[0].prompt) == [
        ("user", "Count"),
        ("assistant", "One two "),
        ("user", "Again"),
        ("assistant", ""),
    ]


async def test_a_question_in_line_survives_the_death_of_the_engine_that_counts_it(
    rig: NewRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it is too long for any prompt can wait for the next engine."""
    encode, dead = CharacterTokenizer.encode, ["Second"]

    async def dying(self: CharacterTokenizer, text: str) -> list[int]:
        if text in dead:
            dead.clear()
            raise EngineDead("The engine is closed.")
        return await encode(self, text)

    monkeypatch.setattr(CharacterTokenizer, "encode", dying)
    bot = rig(slow)
    async with bot.running():
        bot.platform.say("First")
        second = bot.platform.say("Second")
        await bot.idle()

    assert dead == []
    assert second.screen.states == [State.FINAL]


async def test_who_waits_for_the_only_model_is_told_when_its_servers_are_away(rig: NewRig) -> None:
    """And told so where it said before that the model loads; the question is answered when they come."""
    away = RemoteSettings(endpoints=("http://one/v1",), away_after=5.0)
    bot = rig(slow, engine=EngineSettings(kind="remote", remote=away))
    bot.loaded.clear()
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(3.0)
        assert answer.screen.texts == [words.LOADING]
        await bot.advance(5.0)
        assert answer.screen.texts == [words.NOT_THERE]
        bot.loaded.set()
        await bot.idle()

    assert answer.screen.texts == ["One two three four."]


async def test_a_question_outlives_an_engine_that_dies_before_its_first_word(rig: NewRig) -> None:
    """The next engine answers it, once, and meanwhile it is told what it waits for."""
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(0.5)
        bot.loaded.clear()
        bot.engine.die()
        await bot.advance(3.0)
        assert answer.screen.texts == [words.RESTARTING]
        bot.loaded.set()
        await bot.idle()

    assert answer.screen.texts == ["One two three four."]
    assert answer.screen.states == [State.FINAL]
    assert [question(request.prompt) for request in bot.requests] == ["Count", "Count"]
    assert len(answer.made("send")) == 1


async def test_a_question_that_kills_two_engines_is_given_up(rig: NewRig) -> None:
    """Or it would kill one after the other for everybody else."""
    bot = rig(silent)
    async with bot.running():
        answer = bot.platform.say("Poison")
        for _ in range(2):
            await bot.advance(2.0)
            bot.engine.die()
        await bot.advance(10.0)
        assert bot.engine.requests == []

    assert answer.screen.texts == [FAILED]
    assert len(bot.engines) == 3


async def test_tokens_of_a_dead_engine_that_made_no_text_are_forgotten(rig: NewRig) -> None:
    """Half a character belongs to no answer that another engine writes."""
    bot = rig(lambda request: Script(["", "One"], first=1.0, gap=1.0))
    async with bot.running():
        bot.platform.say("Count")
        await bot.advance(1.5)
        bot.engine.die()
        await bot.idle()
        history = await bot.app.store.history("memory:1:0", CHARACTERS)

    assert history[1].tokens == [TEXTLESS, *map(ord, "One")]


async def test_tokens_of_another_tokenizer_are_made_anew_from_their_text(rig: NewRig) -> None:
    """They would be other words to it, also where its model has the same name."""
    bot = rig()
    async with bot.running():
        bot.platform.say("Hello")
        await bot.idle()
    bot.execute("UPDATE reply SET tokenizer = 'another', question_tokens = X'01000000', answer_tokens = X'01000000'")
    async with bot.running():
        bot.platform.say("Again")
        await bot.idle()

    assert turns(bot.requests[1].prompt)[:2] == [("user", "Hello"), ("assistant", "You said: Hello")]


async def test_a_failed_generation_says_a_fixed_sentence(rig: NewRig) -> None:
    """Never the exception's text; the conversation goes on without it."""
    bot = rig(lambda request: Script([], fails=True) if question(request.prompt) == "Fail" else echo(request))
    async with bot.running():
        answer = bot.platform.say("Fail")
        following = bot.platform.say("Hello")
        await bot.idle()

    assert answer.screen.texts == [FAILED]
    assert answer.screen.states == [State.FAILED]
    assert following.screen.texts == ["You said: Hello"]
    assert turns(bot.requests[1].prompt)[0] == ("user", "Hello")


async def test_a_failure_that_could_not_be_told_is_not_the_end(rig: NewRig) -> None:
    """The bot crashed before the platform took the sentence: the next start answers the question."""
    bot = rig(lambda request: Script([], fails=True))
    async with bot.running():
        answer = bot.platform.say("Hello")
        answer.inject("send", Mishap(Limited(600.0)))
        await bot.rest()
    bot.script = echo
    async with bot.running():
        await bot.idle()

    assert answer.screen.texts == ["You said: Hello"]


async def test_a_generation_that_fails_late_keeps_its_text(rig: NewRig) -> None:
    bot = rig(lambda request: Script(["One ", "two "], fails=True))
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()

    assert answer.screen.texts == [f"One two\n\n{INTERRUPTED_MARK}"]


async def test_a_fault_that_nobody_foresaw_ends_one_answer(rig: NewRig, caplog: pytest.LogCaptureFixture) -> None:
    """A fixed sentence for the reader, in the answer's own message; the traceback is for the log; the bot goes on."""

    def broken(request: Request) -> Script:
        if question(request.prompt) == "Break":
            raise ZeroDivisionError("a secret of the house")
        return echo(request)

    bot = rig(broken)
    bot.loaded.clear()
    async with bot.running():
        answer = bot.platform.say("Break")
        await bot.advance(2.0)
        bot.loaded.set()
        following = bot.platform.say("Hello")
        await bot.idle()

    assert answer.screen.texts == [FAILED]
    assert following.screen.texts == ["You said: Hello"]
    assert [record.levelno for record in caplog.records if record.exc_info] == [logging.ERROR]


async def test_a_fault_that_nobody_foresaw_in_mid_answer_keeps_its_text(rig: NewRig) -> None:
    """What was read stays, with a mark below it; it is in the history."""
    bot = rig(lambda request: Script(Breaking(["One ", "two "]), first=1.0, gap=1.0))
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.idle()
        history = await bot.app.store.history("memory:1:0", CHARACTERS)

    assert answer.screen.texts == [f"One two\n\n{INTERRUPTED_MARK}"]
    assert [turn.text for turn in history] == ["Count", "One two "]


# Too long


async def test_too_long_for_the_context_is_refused_with_the_numbers(rig: NewRig) -> None:
    """Before any prefill; the next question is answered as if nothing had been said."""
    bot = rig(answers=AnswerSettings(system_prompt="", max_tokens=1192))
    async with bot.running():
        answer = bot.platform.say("x" * 7000)
        await bot.idle()
        assert bot.requests == []
        bot.platform.say("Hello")
        await bot.idle()

    # 8,192 of context, less 1,192 for the answer, less 5 of the template.
    assert answer.screen.texts == [words.TOO_LONG.format(size=7000, unit="tokens", limit=6995)]
    assert turns(bot.requests[0].prompt)[0] == ("user", "Hello")


async def test_a_size_that_nobody_counted_to_the_end_is_told_as_the_least(rig: NewRig) -> None:
    """A server gives up tokenizing what cannot fit in any case."""

    def refuse(request: Request) -> Script:
        raise PromptTooLong(257, 255, least=True)

    bot = rig(refuse)
    async with bot.running():
        answer = bot.platform.say("Hello")
        await bot.idle()

    assert "it has at least 257 tokens and I can read 255." in answer.screen.texts[0]


async def test_too_long_a_question_does_not_wait_to_be_told_so(rig: NewRig) -> None:
    """However many are before it."""
    bot = rig(silent, sessions=SessionSettings(concurrent=1))
    async with bot.running():
        bot.platform.say("Think", chat=1)
        await bot.rest()
        answer = bot.platform.say("x" * 8000, chat=2)
        await bot.rest()

        assert answer.screen.states == [State.FAILED]
        assert "8,000 tokens" in answer.screen.texts[0]


async def test_a_trimmed_history_begins_where_it_did_after_a_restart(rig: NewRig) -> None:
    """Or the restart would change the beginning of every prompt."""
    bot = rig(answers=AnswerSettings(system_prompt="", max_tokens=4096, history_share=0.5))
    async with bot.running():
        for number in range(7):
            bot.platform.say(f"{number}" * 200)
            await bot.idle()
        await bot.stop()
    async with bot.running():
        bot.platform.say("Hello")
        await bot.idle()

    before, after = bot.requests[-2].prompt, bot.requests[-1].prompt
    assert len(turns(before)) < 14
    assert after[: len(before)] == before


# The platform


async def test_an_answer_that_nobody_can_see_is_not_written_on(rig: NewRig) -> None:
    """Its message was deleted: the request is aborted and the next question has its turn."""
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        answer.inject("edit", Mishap(Gone("deleted")))
        await bot.advance(3.5)
        assert bot.engine.aborted == {bot.requests[0].id}
        assert bot.timings[0].state == State.INTERRUPTED
        following = bot.platform.say("Again")
        await bot.idle()

    assert following.screen.texts == ["One two three four."]


# The store


async def test_an_answer_is_delivered_though_it_cannot_be_stored(rig: NewRig) -> None:
    """A full disk in mid-answer: the reader gets the whole answer, and the store as soon as it takes one again."""
    bot = rig(slow)
    async with bot.running():
        answer = bot.platform.say("Count")
        await bot.advance(2.5)
        with bot.refusing("UPDATE ON reply"):
            await bot.idle()
        assert answer.screen.texts == ["One two three four."]
        assert answer.screen.states == [State.FINAL]
        bot.platform.say("Hello", chat=2)
        await bot.idle()
        await bot.stop()
    async with bot.running():
        await bot.idle()
        history = await bot.app.store.history("memory:1:0", CHARACTERS)

    assert answer.screen.texts == ["One two three four."]
    assert [turn.text for turn in history] == ["Count", "One two three four."]
    assert len(answer.made("send")) == 1


async def test_a_history_that_cannot_be_read_fails_the_answer_only(rig: NewRig) -> None:
    bot = rig()
    async with bot.running():
        bot.execute("ALTER TABLE conversation RENAME TO elsewhere")
        answer = bot.platform.say("Hello")
        await bot.clock.settle()
        await bot.app.sessions.idle()
        bot.execute("ALTER TABLE elsewhere RENAME TO conversation")
        following = bot.platform.say("Hello")
        await bot.idle()

    assert answer.screen.texts == [FAILED]
    assert following.screen.texts == ["You said: Hello"]


# Timings


async def test_timings_are_stored_and_their_stages_add_up(rig: NewRig) -> None:
    bot = rig(slow, sessions=SessionSettings(concurrent=1))
    async with bot.running():
        bot.platform.say("Count", chat=1, age=2.0)
        bot.platform.say("Count", chat=2)
        await bot.idle()
        stored = await bot.app.store.timings(0)

    assert stored == bot.timings
    first, second = stored
    assert first.platform_delay == 2.0
    assert (first.admitted, first.first_token, first.first_visible, first.last_token) == (0.0, 1.0, 1.0, 4.0)
    assert second.admitted == 4.0
    assert second.first_token == 5.0
    assert (first.output_tokens, first.prompt_tokens, first.state) == (4, 10, "final")
    assert first.tokens_per_second == 1.0
    assert all(sum(seconds for _, seconds in stages(timing)) == timing.complete for timing in stored)


async def test_a_stopped_answer_has_its_timing(rig: NewRig) -> None:
    """With the marks that it reached."""
    bot = rig(slow)
    async with bot.running():
        bot.platform.say("Count")
        await bot.advance(0.5)
        bot.platform.say("/stop")
        await bot.idle()
        (timing,) = await bot.app.store.timings(0)

    assert timing.state == "stopped"
    assert (timing.admitted, timing.first_token, timing.first_visible, timing.complete) == (0.0, None, None, 0.5)


def test_an_answer_has_one_name_of_sixteen_characters() -> None:
    """The same after a restart, another for every message and place: platforms recognise a repeated send by it."""
    here, there = Conversation("memory", 1), Conversation("memory", 11)
    names = {key_of(Message(id, where, ADA, "", 0.0)) for where in (here, there) for id in ("1", "2", "11")}

    assert len(names) == 6
    assert {len(name) for name in names} == {16}
    assert key_of(Message("1", here, BOB, "edited", 5.0)) == key_of(Message("1", here, ADA, "", 0.0))


async def test_a_request_is_closed_with_its_answer(rig: NewRig) -> None:
    """A finished request is not aborted; nothing stays open in the engine."""
    bot = rig(slow)
    async with bot.running():
        bot.platform.say("Count")
        await bot.idle()

        assert bot.engine.running == bot.engine.aborted == set()
        assert not [task for task in asyncio.all_tasks() if (task.get_name() or "").startswith("answer")]
