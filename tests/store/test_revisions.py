"""What is kept of answers that are written anew, and of exchanges that are forgotten."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from clawdbot.chat import Conversation, Message, Person, State
from clawdbot.store import Answer, Piece, Question, Revision, Store, open_store
from clawdbot.testing.clock import ManualClock

HERE = Conversation("memory", 1, private=True)
ADA = Person(1, "Ada")
FIRST, SECOND = Answer("One", State.FINAL, "m", [1], [2]), Answer("Two", State.FINAL, "m", [3], [4])


@pytest.fixture
async def store(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Store]:
    async with open_store(tmp_path / "test.sqlite3", clock) as store:
        yield store


async def asked(store: Store, id: str = "q", answer: Answer | None = FIRST, at: float = 0.0) -> int:
    """A question, answered unless it has no ``answer``; its reply."""
    kept = await store.ask(Question(Message(id, HERE, ADA, "Hello", at), "ref"))
    assert kept is not None
    if answer is not None:
        await store.finish(kept.reply, answer)
    return kept.reply


async def told(store: Store) -> list[tuple[str, list[int] | None]]:
    return [(turn.text, turn.tokens) for turn in await store.history(HERE.key, "m")]


async def test_the_exchange_stays_in_the_history_until_there_is_another(store: Store) -> None:
    """As it was: a changed question has no answer yet."""
    reply = await asked(store)
    await store.revise(reply, Revision(ADA.id, piece=Piece("q", "Hi")))
    meanwhile = await told(store)
    await store.finish(reply, SECOND)

    assert meanwhile == [("Hello", [1]), ("One", [2])]
    assert await told(store) == [("Hi", [3]), ("Two", [4])]


async def test_it_can_be_taken_back(store: Store) -> None:
    """With its question; the reply stays pending, since the screen may show something else."""
    reply = await asked(store)
    await store.revise(reply, Revision(ADA.id, piece=Piece("q", "Hi")))
    brought = await store.revisions.take_back(reply)
    (left,) = await store.unfinished()
    await store.finish(reply, FIRST)

    assert brought is not None
    assert (brought.text, left.question.message.text) == ("One", "Hello")
    assert await told(store) == [("Hello", [1]), ("One", [2])]


async def test_there_is_nothing_to_take_back_of_a_first_answer(store: Store) -> None:
    reply = await asked(store, answer=None)
    await store.revise(reply, Revision(ADA.id, piece=Piece("q", "Hi")))

    assert await store.revisions.take_back(reply) is None


async def test_giving_up_keeps_what_there_was(store: Store) -> None:
    reply = await asked(store)
    await store.revise(reply, Revision(ADA.id))
    await store.fail(reply, State.FAILED)

    assert await store.unfinished() == []
    assert await told(store) == [("Hello", [1]), ("One", [2])]


async def test_a_revision_of_a_revision_keeps_the_last_whole_answer(store: Store) -> None:
    reply = await asked(store)
    await store.revise(reply, Revision(ADA.id, piece=Piece("q", "Hi")))
    await store.draft(reply, Answer("Tw", State.STREAMING, "m"), 1)
    await store.revise(reply, Revision(ADA.id, piece=Piece("q", "Hi there")))

    assert await told(store) == [("Hello", [1]), ("One", [2])]


async def test_an_event_is_applied_once(store: Store) -> None:
    reply = await asked(store)
    again = Revision(ADA.id, "q~1", Piece("q", "Hi"))
    first, second = await store.revise(reply, again), await store.revise(reply, again)

    assert first is not None
    assert first.question.message.text == "Hi"
    assert second is None
    assert await store.revisions.seen("memory", "q~1")


async def test_texts_are_added_at_the_end(store: Store) -> None:
    reply = await asked(store, answer=None)
    await store.revise(reply, Revision(event="2", piece=Piece("2", "and", " ")))
    left = await store.revise(reply, Revision(event="3", piece=Piece("3", "good-bye", " ")))

    assert left is not None
    assert left.question.message.text == "Hello and good-bye"
    assert not left.revised


async def test_what_it_cost_counts_for_whoever_asked_for_it(store: Store, clock: ManualClock) -> None:
    """In messages and in tokens; the first question stays counted."""
    reply = await asked(store, at=clock.now())
    await store.revise(reply, Revision(9))
    await store.finish(reply, SECOND, tokens=70)
    ada, admin = await store.access.used("memory", ADA.id), await store.access.used("memory", 9)

    assert (ada.messages_per_hour, ada.tokens_per_hour) == (1, 0)
    assert (admin.messages_per_hour, admin.tokens_per_hour) == (1, 70)


async def test_what_is_forgotten_is_in_no_history(store: Store) -> None:
    """Not even while it is pending; a second time changes nothing."""
    first, second = await asked(store, "1"), await asked(store, "2", None)
    forgot = [await store.revisions.forget(reply) for reply in (second, first, first)]
    await store.finish(second, SECOND)

    assert forgot == [True, True, False]
    assert await told(store) == []
    assert await store.latest(HERE.key) is None


async def test_the_latest_reply_is_found_whether_it_is_finished_or_not(store: Store) -> None:
    """One that failed is in no history; /retry wants it, /undo does not."""
    first, second = await asked(store, "1"), await asked(store, "2", None)
    pending = await store.latest(HERE.key)
    await store.fail(second, State.FAILED)
    failed, remembered = await store.latest(HERE.key), await store.latest(HERE.key, remembered=True)

    assert pending is not None
    assert failed is not None
    assert remembered is not None
    assert [pending.reply, failed.reply, remembered.reply] == [second, second, first]


async def test_an_old_conversation_has_no_latest_reply(store: Store) -> None:
    await asked(store)
    await store.reset(HERE.key)

    assert await store.latest(HERE.key) is None
