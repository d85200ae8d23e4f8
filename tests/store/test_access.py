"""What is kept about people: what they have used, rulings and codes."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from clawdbot.chat import Conversation, Message, Person, State
from clawdbot.latency.timing import Timing
from clawdbot.people.access import Ruling
from clawdbot.people.quota import DAY, HOUR, Used
from clawdbot.store import Answer, Decision, Entry, Question, Store, open_store
from clawdbot.store import access as statements
from clawdbot.testing.clock import ManualClock

ROOM = Conversation("telegram", -20)
ANN, BEN = Person(1, "Ann"), Person(2, "Ben")
PAIRED = Entry("telegram", ANN.id, ROOM.key, Decision.PAIRED)
MADE = Entry("telegram", 9, ROOM.key, Decision.CODE_MADE, maker=9)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clawdbot.sqlite3"


@pytest.fixture
async def store(path: Path, clock: ManualClock) -> AsyncIterator[Store]:
    async with open_store(path, clock) as store:
        yield store


async def ask(store: Store, clock: ManualClock, event: str, by: Person = ANN, platform: str = "telegram") -> int:
    message = Message(event, Conversation(platform, -20), by, "Why?", clock.now())
    kept = await store.ask(Question(message, "here"))
    assert kept is not None
    return kept.reply


async def answer(store: Store, clock: ManualClock, reply: int) -> None:
    """With 20 tokens read, 12 of them from the cache, and 5 written."""
    marks = (0.1, 0.2, 0.3, 0.4, None, 0.5, 0.6, 0.7)
    timing = Timing("telegram", ROOM.key, clock.wall(), None, *marks, 20, 12, 5, "final")
    await store.finish(reply, Answer("Because.", State.FINAL, "small"), timing)


async def test_questions_and_tokens_are_counted_in_the_hour_and_in_the_day(store: Store, clock: ManualClock) -> None:
    """What the prefix cache served cost nobody anything; what is not answered yet has no tokens."""
    await clock.advance(DAY - clock.wall() % DAY)
    await answer(store, clock, await ask(store, clock, "1"))
    await clock.advance(HOUR)
    await answer(store, clock, await ask(store, clock, "2"))
    await ask(store, clock, "3")
    today = await store.access.used("telegram", ANN.id)
    await clock.advance(23 * HOUR)

    assert today == Used(messages_per_hour=2, messages_per_day=3, tokens_per_hour=13, tokens_per_day=26)
    assert await store.access.used("telegram", ANN.id) == Used()


async def test_people_and_platforms_are_counted_apart(store: Store, clock: ManualClock) -> None:
    await ask(store, clock, "1", BEN)
    await ask(store, clock, "2", ANN, platform="discord")

    assert await store.access.used("telegram", ANN.id) == Used()


async def test_a_question_that_got_no_answer_does_not_count(store: Store, clock: ManualClock) -> None:
    await store.fail(await ask(store, clock, "1"), State.FAILED)

    assert await store.access.used("telegram", ANN.id) == Used()


async def test_counting_reads_nothing_of_others(store: Store, path: Path) -> None:
    """It is asked before each question: its time must not grow with what everybody has said."""
    with closing(sqlite3.connect(path)) as other:
        plan = " ".join(row[3] for row in other.execute(f"EXPLAIN QUERY PLAN {statements._USED}", (0.0, "", 0, 0.0)))

    assert "reply USING INDEX reply_author (platform=? AND author=? AND received_at>?)" in plan
    assert "SCAN reply" not in plan


async def test_a_code_is_used_once_though_many_try_at_once(store: Store) -> None:
    await store.access.open_code(b"digest", 600.0, MADE)
    used = await asyncio.gather(*(store.access.use_code(b"digest", Ruling.PAIRED, PAIRED) for _ in range(5)))

    assert used.count(True) == 1
    assert await store.access.rulings() == {("telegram", ANN.id): Ruling.PAIRED}
    assert [(entry.decision, entry.maker) for entry in await store.access.last(9)] == [
        (Decision.PAIRED, 9),
        (Decision.CODE_MADE, 9),
    ]


async def test_a_code_is_good_on_its_platform_until_its_time_is_over(store: Store, clock: ManualClock) -> None:
    await store.access.open_code(b"digest", 600.0, MADE)
    good = [await store.access.codes("telegram"), await store.access.codes("discord")]
    await clock.advance(600.0)

    assert good == [[b"digest"], []]
    assert await store.access.codes("telegram") == []
    assert not await store.access.use_code(b"digest", Ruling.PAIRED, PAIRED)


async def test_codes_that_nobody_used_do_not_pile_up(store: Store, clock: ManualClock, path: Path) -> None:
    for number in range(3):
        await store.access.open_code(bytes([number]), 600.0, MADE)
        await clock.advance(600.0)
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT count(*) FROM pairing").fetchone() == (1,)


async def test_the_same_decision_is_noted_once_in_its_time(store: Store, clock: ManualClock) -> None:
    """About each person, for each reason, and in each place unless that does not matter."""
    here, there = ROOM.key, "telegram:-21:0"
    refused = [Entry("telegram", 1, where, Decision.REFUSED, why) for where in (here, there) for why in ("a", "b")]
    noted = [await store.access.note_once(entry, clock.wall()) for entry in (*refused, *refused)]
    anywhere = [await store.access.note_once(refused[0], clock.wall(), anywhere=True)]
    await clock.advance(1.0)
    later = await store.access.note_once(refused[0], clock.wall())

    assert noted == [True] * 4 + [False] * 4
    assert anywhere == [False]
    assert later
