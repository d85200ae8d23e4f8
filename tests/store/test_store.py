"""What the store promises the core: asked once, answered once, nothing lost by a restart."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import cast

import pytest

from clawdbot.chat import Conversation, Message, Person, State
from clawdbot.errors import StoreError
from clawdbot.latency.timing import Timing
from clawdbot.store import Answer, Keeping, Question, Store, Trimming, Turn, open_store
from clawdbot.testing.clock import ManualClock

ROOM = Conversation("telegram", -1001234567890, topic=7)
OTHER = Conversation("discord", 1234567890123456789, guild=99)
ANN = Person(4242, "Ann")
DAY = 86_400.0


def question(event: str, text: str = "Why?", place: Conversation = ROOM, received_at: float = 1000.0) -> Question:
    message = Message(event, place, ANN, text, received_at, sent_at=1_799_999_999.0)
    return Question(message, reply_ref=f"ref {event}")


def answer(text: str = "Because.", state: State = State.FINAL) -> Answer:
    return Answer(text, state, "small", question_tokens=[1, 2], tokens=[3, 4_000_000_000])


def timing(at: float) -> Timing:
    marks = (0.1, 0.2, 0.3, 0.4, None, 0.5, 0.6, 0.7)
    return Timing("telegram", ROOM.key, at, None, *marks, 20, 10, 5, "final")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "clawdbot.sqlite3"


@pytest.fixture
async def store(path: Path, clock: ManualClock) -> AsyncIterator[Store]:
    async with open_store(path, clock) as store:
        yield store


async def asked(store: Store, event: str, text: str = "Why?", place: Conversation = ROOM) -> int:
    """A question that was not seen before; its reply's id."""
    kept = await store.ask(question(event, text, place))
    assert kept is not None
    return kept.reply


async def exchange(store: Store, event: str, first_turn: int | None = None, place: Conversation = ROOM) -> int:
    """A question with its answer, finished."""
    reply = await asked(store, event, f"question {event}", place)
    trimming = None if first_turn is None else Trimming("demo", first_turn)
    await store.finish(reply, answer(f"answer {event}"), trimming=trimming)
    return reply


async def texts(store: Store, place: Conversation = ROOM, model: str = "demo") -> list[str]:
    return [turn.text for turn in await store.history(place.key, "small", model=model)]


class TestEvents:
    async def test_a_question_delivered_again_is_no_new_question(self, store: Store) -> None:
        """After a reconnect or a restart platforms repeat what was not acknowledged."""
        await asked(store, "1")
        assert await store.ask(question("1")) is None
        assert len(await store.unfinished()) == 1

    async def test_a_question_delivered_again_is_known_after_a_restart(self, path: Path, clock: ManualClock) -> None:
        """The process forgets, the store does not."""
        async with open_store(path, clock) as store:
            await exchange(store, "1")
        async with open_store(path, clock) as store:
            assert await store.ask(question("1")) is None

    async def test_platforms_number_their_events_apart(self, store: Store) -> None:
        """Telegram's 1 is not Discord's 1."""
        await asked(store, "1", place=ROOM)
        assert await store.ask(question("1", place=OTHER)) is not None

    async def test_a_burst_of_questions_is_kept_whole(self, store: Store) -> None:
        """Tasks that ask at the same moment do not meet in one transaction; each pair of twins is answered once."""
        replies = await asyncio.gather(*(store.ask(question(str(number % 25))) for number in range(50)))
        new = [kept.reply for kept in replies if kept is not None]
        assert len(set(new)) == 25
        assert [one.reply for one in await store.unfinished()] == sorted(new)

    async def test_a_command_is_new_once(self, store: Store) -> None:
        """`/new` delivered twice must not throw away what was said in between."""
        assert [await store.first_seen("discord", "5") for _ in range(2)] == [True, False]

    async def test_a_stranger_is_refused_once(self, path: Path, clock: ManualClock) -> None:
        """And not again after a restart."""
        async with open_store(path, clock) as store:
            first = [await store.first_refusal("discord", 5), await store.first_refusal("telegram", 5)]
        async with open_store(path, clock) as store:
            again = [await store.first_refusal("discord", 5), await store.first_refusal("telegram", 5)]
        assert (first, again) == ([True, True], [False, False])


class TestHistory:
    async def test_a_finished_exchange_is_two_turns(self, store: Store) -> None:
        """With the tokens as they were, so that the next prompt begins with exactly the same ones."""
        reply = await asked(store, "1", "Why?")
        await store.finish(reply, answer("Because."))
        assert await store.history(ROOM.key, "small") == [
            Turn(2 * reply, "user", "Ann: Why?", [1, 2]),
            Turn(2 * reply + 1, "assistant", "Because.", [3, 4_000_000_000]),
        ]

    async def test_history_survives_a_restart(self, path: Path, clock: ManualClock) -> None:
        """The conversation goes on where it was."""
        async with open_store(path, clock) as store:
            await exchange(store, "1")
        async with open_store(path, clock) as store:
            assert await texts(store) == ["Ann: question 1", "answer 1"]

    async def test_tokens_of_another_model_are_not_given(self, store: Store) -> None:
        """They mean other words to it."""
        await exchange(store, "1")
        assert [turn.tokens for turn in await store.history(ROOM.key, "large")] == [None, None]

    async def test_conversations_are_apart(self, store: Store) -> None:
        """What is said in one room is not known in another."""
        await exchange(store, "1", place=ROOM)
        await exchange(store, "2", place=OTHER)
        assert await texts(store, OTHER) == ["Ann: question 2", "answer 2"]

    async def test_an_unfinished_answer_is_not_history(self, store: Store) -> None:
        """Not before the platform shows it."""
        reply = await asked(store, "1")
        await store.answered(reply, answer())
        assert await texts(store) == []

    async def test_a_stopped_answer_is_history(self, store: Store) -> None:
        """What was on the screen stays, and people refer to it."""
        reply = await asked(store, "1")
        await store.finish(reply, answer("Because of", State.STOPPED))
        assert await texts(store) == ["Ann: Why?", "Because of"]

    @pytest.mark.parametrize("text", ["", None])
    async def test_without_an_answer_there_is_no_question(self, store: Store, text: str | None) -> None:
        """Chat templates want questions and answers in turn."""
        reply = await asked(store, "1")
        if text is None:
            await store.fail(reply, State.FAILED)
        else:
            await store.finish(reply, answer(text, State.STOPPED))
        assert await texts(store) == []

    async def test_a_trimmed_history_begins_where_the_prompt_did(self, store: Store) -> None:
        """The first turn moves on with `finish` and never back."""
        one, two = await exchange(store, "1"), await exchange(store, "2")
        await exchange(store, "3", first_turn=2 * two)
        await exchange(store, "4", first_turn=2 * one)
        assert await texts(store) == [f"{side} {n}" for n in "234" for side in ("Ann: question", "answer")]

    async def test_what_one_model_trimmed_others_still_have(self, store: Store) -> None:
        """They may have room for it."""
        await exchange(store, "1")
        two = await exchange(store, "2")
        await exchange(store, "3", first_turn=2 * two)
        assert await texts(store, model="large") == [
            f"{side} {n}" for n in "123" for side in ("Ann: question", "answer")
        ]

    async def test_what_a_model_trimmed_stays_trimmed_where_the_chat_moves(self, store: Store) -> None:
        """Or its prompts would begin with turns that it has no room for."""
        await exchange(store, "1")
        two = await exchange(store, "2")
        await exchange(store, "3", first_turn=2 * two)
        moved = replace(ROOM, chat=-1009876543210)
        await store.move(ROOM, moved)
        assert await texts(store, moved) == [f"{side} {n}" for n in "23" for side in ("Ann: question", "answer")]

    async def test_a_reset_is_for_all_models(self, store: Store) -> None:
        """Also for one that had trimmed the history, and for one that had not."""
        one = await exchange(store, "1")
        await exchange(store, "2", first_turn=2 * one)
        await store.reset(ROOM.key)
        await exchange(store, "3")
        assert [await texts(store, model=model) for model in ("demo", "large")] == [["Ann: question 3", "answer 3"]] * 2

    async def test_one_past_the_last_turn_drops_all_before(self, store: Store) -> None:
        """A question so long that no older turn fits beside it."""
        await exchange(store, "1")
        last = (await store.history(ROOM.key, "small"))[-1]
        await exchange(store, "2", first_turn=last.id + 1)
        assert await texts(store) == ["Ann: question 2", "answer 2"]

    async def test_reset_begins_anew(self, store: Store) -> None:
        """Here, and nowhere else."""
        await exchange(store, "1", place=ROOM)
        await exchange(store, "2", place=OTHER)
        await store.reset(ROOM.key)
        await exchange(store, "3", place=ROOM)
        assert await texts(store, ROOM) == ["Ann: question 3", "answer 3"]
        assert await texts(store, OTHER) == ["Ann: question 2", "answer 2"]

    async def test_an_answer_under_way_at_a_reset_belongs_to_the_old_history(self, store: Store) -> None:
        """It was asked before, whenever it is finished; its trimming does not bring the old turns back either."""
        one = await exchange(store, "1")
        late = await asked(store, "2")
        await store.reset(ROOM.key)
        await store.finish(late, answer("too late"), trimming=Trimming("demo", 2 * one))
        assert await texts(store) == []


class TestUnfinished:
    async def test_a_question_comes_back_after_a_restart(self, path: Path, clock: ManualClock) -> None:
        """With all that is needed to answer it where it was asked; its age counts on."""
        async with open_store(path, clock) as store:
            reply = await asked(store, "1")
        await clock.advance(60)
        later = ManualClock(start=5.0, epoch=clock.wall())
        async with open_store(path, later) as store:
            (found,) = await store.unfinished()
        assert (found.reply, found.posts, found.answer) == (reply, [], None)
        assert found.question == question("1", received_at=5.0 - 60.0)

    async def test_posts_and_text_come_back(self, store: Store) -> None:
        """A part that is on the screen is edited, not posted twice; the text is not made anew."""
        reply = await asked(store, "1")
        await store.posted(reply, 0, "first try")
        await store.posted(reply, 0, "post 0")
        await store.posted(reply, 1, "post 1")
        await store.answered(reply, answer(state=State.STOPPED))
        (found,) = await store.unfinished()
        assert found.posts == ["post 0", "post 1"]
        assert found.answer == answer(state=State.STOPPED)

    async def test_a_text_that_was_growing_comes_back(self, store: Store) -> None:
        """The latest that was noted, with its tokens; of a message that was begun nobody knows whether it is there."""
        reply = await asked(store, "1")
        await store.draft(reply, answer("Be", State.STREAMING), 1)
        await store.posted(reply, 0, "post 0")
        await store.draft(reply, answer("Becau", State.STREAMING), 2)
        (found,) = await store.unfinished()
        assert found.posts == ["post 0", None]
        assert found.answer == answer("Becau", State.STREAMING)

    async def test_a_message_that_was_not_sent_is_no_doubt(self, store: Store) -> None:
        """The platform said so."""
        reply = await asked(store, "1")
        await store.draft(reply, None, 1)
        await store.posted(reply, 0, "post 0")
        await store.draft(reply, None, 2)
        await store.refused(reply, 1, 0.0)
        (found,) = await store.unfinished()
        assert (found.posts, found.answer) == (["post 0"], None)

    async def test_a_wait_that_the_platform_asks_for_is_known_to_the_next_start(
        self, path: Path, clock: ManualClock
    ) -> None:
        """By the time of day, since clocks begin anew; also one that a finished reply has met, and none that is over.

        A later failure does not shorten it.
        """
        async with open_store(path, clock) as store:
            for event, wait in (("1", 300.0), ("2", 30.0), ("3", 200.0)):
                await store.refused(await asked(store, event), 0, wait)
            await asked(store, "4")
            await store.refused(1, 0, 0.0)
            await store.fail(3, State.FAILED)
        later = ManualClock(start=5.0, epoch=clock.wall() + 60.0)
        async with open_store(path, later) as store:
            held = await store.held()
        assert [(platform, ref) for platform, ref, _ in held] == [("telegram", "ref 1"), ("telegram", "ref 3")]
        assert [until for _, _, until in held] == pytest.approx([5.0 + 240.0, 5.0 + 140.0])

    async def test_a_wait_is_known_however_much_was_asked_since(self, store: Store) -> None:
        """Also where the reply that met it has been finished long ago."""
        first = await asked(store, "first")
        await store.refused(first, 0, 300.0)
        await store.fail(first, State.FAILED)
        for number in range(1_001):
            await asked(store, str(number))
        assert [ref for _, ref, _ in await store.held()] == ["ref first"]

    async def test_a_growing_text_never_replaces_the_finished_one(self, store: Store) -> None:
        """A call that was on its way while the answer ended; its message counts all the same."""
        reply = await asked(store, "1")
        await store.answered(reply, answer())
        await store.draft(reply, answer("Be", State.STREAMING), 1)
        (found,) = await store.unfinished()
        assert (found.posts, found.answer) == ([None], answer())

    async def test_what_is_over_does_not_come_back(self, store: Store) -> None:
        """Neither answers nor failures."""
        await exchange(store, "1")
        await store.fail(await asked(store, "2"), State.FAILED)
        reply = await asked(store, "3")
        assert [one.reply for one in await store.unfinished()] == [reply]

    async def test_the_first_ending_counts(self, store: Store) -> None:
        """Two ways to end a reply may race; the second changes nothing."""
        reply = await exchange(store, "1")
        await store.finish(reply, answer("another text"))
        await store.fail(reply, State.FAILED)
        assert await texts(store) == ["Ann: question 1", "answer 1"]

    async def test_a_post_needs_its_reply(self, store: Store) -> None:
        """A mixed-up id is found at once."""
        with pytest.raises(StoreError, match="FOREIGN KEY"):
            await store.posted(77, 0, "post")


class TestInterrupted:
    async def test_a_reply_is_found_by_its_message(self, store: Store) -> None:
        """In its conversation alone: platforms number messages in each chat anew."""
        here, there = await asked(store, "1", place=ROOM), await asked(store, "2", place=OTHER)
        for reply in (here, there):
            await store.posted(reply, 0, "77")
            await store.finish(reply, answer("Be", State.INTERRUPTED))
        found = await store.of_post(ROOM, "77")
        assert found is not None
        assert (found.reply, found.posts, found.answer) == (here, ["77"], answer("Be", State.INTERRUPTED))
        assert await store.of_post(ROOM, "78") is None

    async def test_an_interrupted_reply_is_taken_up_once(self, store: Store) -> None:
        """It is pending again with its text so far, and its exchange is no history until it is finished again."""
        reply = await asked(store, "1")
        await store.finish(reply, answer("Be", State.INTERRUPTED))
        assert [await store.reopen(reply, by=1) for _ in range(2)] == [True, False]
        (found,) = await store.unfinished()
        assert found.answer == answer("Be", State.STREAMING)
        assert await texts(store) == []
        await store.finish(reply, answer())
        assert await texts(store) == ["Ann: Why?", "Because."]

    @pytest.mark.parametrize("state", [State.FINAL, State.STOPPED])
    async def test_nothing_else_is_taken_up(self, store: Store, state: State) -> None:
        """Not what is complete, nor what somebody has stopped."""
        reply = await asked(store, "1")
        await store.finish(reply, answer("Be", state))
        assert await store.reopen(reply, by=1) is False

    async def test_history_ends_before_a_reply(self, store: Store) -> None:
        """What was said after a question is not known when its answer is continued."""
        await exchange(store, "1")
        second = await exchange(store, "2")
        await exchange(store, "3")
        turns = await store.history(ROOM.key, "small", before=second)
        assert [turn.text for turn in turns] == ["Ann: question 1", "answer 1"]


class TestTimings:
    async def test_timings_come_back_as_they_were(self, store: Store, clock: ManualClock) -> None:
        """Field by field, marks that were not reached too."""
        kept = timing(clock.wall())
        await store.finish(await asked(store, "1"), answer(), kept)
        assert await store.timings(since=0) == [kept]

    async def test_the_newest_since_a_moment_are_given(self, store: Store, clock: ManualClock) -> None:
        """Oldest first."""
        kept = [timing(clock.wall() + number) for number in range(5)]
        for number, one in enumerate(kept):
            await store.finish(await asked(store, str(number)), answer(), one)
        assert await store.timings(since=kept[1].at, limit=10) == kept[1:]
        assert await store.timings(since=kept[1].at, limit=2) == kept[3:]

    async def test_those_of_one_person_are_given(self, store: Store, clock: ManualClock) -> None:
        """The newest first, of one platform alone, nobody else's."""
        kept = [timing(clock.wall() + number) for number in range(4)]
        for number, one in enumerate(kept):
            await store.finish(await asked(store, str(number)), answer(), one)
        assert await store.timings_of("telegram", ANN.id, 3) == kept[:0:-1]
        assert await store.timings_of("telegram", ANN.id + 1, 3) == []
        assert await store.timings_of("discord", ANN.id, 3) == []

    async def test_old_ones_and_old_events_go(self, path: Path, clock: ManualClock) -> None:
        """The file stays small; what people said stays."""
        async with open_store(path, clock) as store:
            old, new = timing(clock.wall() - 3 * DAY), timing(clock.wall() - DAY)
            await store.finish(await asked(store, "1"), answer("old"), old)
            await store.first_seen("discord", "5")
            await clock.advance(3 * DAY)
            await store.finish(await asked(store, "2"), answer("new"), new)
        async with open_store(path, clock, keeping=Keeping(notes=4.5)) as store:
            assert await store.timings(since=0) == [new]
            assert await store.first_seen("discord", "5") is False
        async with open_store(path, clock, keeping=Keeping(notes=2)) as store:
            assert await store.first_seen("discord", "5") is True
            assert await texts(store) == ["Ann: Why?", "old", "Ann: Why?", "new"]

    async def test_they_go_while_the_bot_runs(self, path: Path, clock: ManualClock) -> None:
        """It may run for months; a day on which another program has locked the file is only a day."""
        async with open_store(path, clock, patience=0.0, keeping=Keeping(notes=1.5)) as store:
            await store.first_seen("discord", "5")
            await clock.advance(DAY)
            assert await store.first_seen("discord", "5") is False
            with closing(sqlite3.connect(path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                await clock.advance(DAY)
                with pytest.raises(StoreError):
                    await store.first_seen("discord", "6")
            assert await store.first_seen("discord", "5") is False
            await clock.advance(DAY)
            assert await store.first_seen("discord", "5") is True

    async def test_old_texts_go_where_that_is_wanted(self, path: Path, clock: ManualClock) -> None:
        """With all that was noted of them, and out of the file; what is not answered yet stays, however old."""
        async with open_store(path, clock) as store:
            old = await asked(store, "1", "a secret")
            await store.posted(old, 0, "post 1")
            await store.finish(old, answer("told"), timing(clock.wall()))
            waiting = await asked(store, "2")
            await clock.advance(3 * DAY)
            await exchange(store, "3")
        async with open_store(path, clock, keeping=Keeping(texts=2)) as store:
            assert await texts(store) == ["Ann: question 3", "answer 3"]
            assert await store.timings(since=0) == []
            assert [one.reply for one in await store.unfinished()] == [waiting]
            assert await store.first_seen("telegram", "1") is False
        assert b"a secret" not in await asyncio.to_thread(path.read_bytes)

    async def test_endless_days_keep_everything(self, path: Path, clock: ManualClock) -> None:
        """Whoever has the disk may."""
        async with open_store(path, clock, keeping=Keeping(notes=inf)) as store:
            await store.first_seen("discord", "5")
            await clock.advance(10_000 * DAY)
        async with open_store(path, clock, keeping=Keeping(notes=inf)) as store:
            assert await store.first_seen("discord", "5") is False


async def test_a_fault_in_the_middle_leaves_no_half_written_answer(store: Store, clock: ManualClock) -> None:
    """The timing cannot be stored: then neither turns nor the reply's end are."""
    reply = await asked(store, "1")
    broken = replace(timing(clock.wall()), state=cast("str", object()))
    with pytest.raises(StoreError):
        await store.finish(reply, answer(), broken)
    assert await texts(store) == []
    assert [one.reply for one in await store.unfinished()] == [reply]


async def test_after_a_fault_the_store_goes_on(store: Store, clock: ManualClock) -> None:
    """A failed transaction is rolled back, not left open for the next to fall into."""
    reply = await asked(store, "1")
    with pytest.raises(StoreError):
        await store.finish(reply, answer(), replace(timing(clock.wall()), state=cast("str", object())))
    await store.finish(reply, answer(), timing(clock.wall()))
    assert await texts(store) == ["Ann: Why?", "Because."]


async def test_a_cancelled_write_does_not_harm_the_next(store: Store) -> None:
    """Stop cancels a task wherever it is, in the middle of a transaction too."""
    for turns in range(12):
        task = asyncio.create_task(store.ask(question(f"cancelled {turns}")))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        await asked(store, f"next {turns}")
    events = [one.question.message.id for one in await store.unfinished()]
    assert [event for event in events if event.startswith("next")] == [f"next {turns}" for turns in range(12)]
    assert len(events) == len(set(events))


async def test_the_private_chats_of_a_platform_are_known_the_latest_first(store: Store) -> None:
    """Where an adapter looks for what was said while the bot was away."""
    ada, bob = (Conversation("discord", chat, private=True) for chat in (11, 12))
    for number, place in enumerate([ada, bob, OTHER, ada, Conversation("telegram", 11, private=True)]):
        await asked(store, f"event {number}", place=place)

    assert await store.private_chats("discord") == [ada, bob]
    assert await store.private_chats("discord", limit=1) == [ada]
