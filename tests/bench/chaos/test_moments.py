"""What is found of a bot from outside."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import aiohttp
import pytest

from clawdbot.bench.chaos.moments import Moment, Row, look_up, look_up_all, reach
from clawdbot.bench.chaos.scenes import ChaosScene, open_chaos
from clawdbot.chat import Conversation, Message, Person, State
from clawdbot.clock import SystemClock
from clawdbot.store import Answer, Question, Store, open_store
from clawdbot.testing.faults import Trouble

ANSWER = Answer("A bird.", State.FINAL, "scripted")


@asynccontextmanager
async def asked(folder: Path, *numbers: int) -> AsyncIterator[tuple[Store, Path, list[int]]]:
    """A store with these questions, its file, and their replies' ids."""
    path, clock = folder / "bot.sqlite3", SystemClock()
    async with open_store(path, clock) as store:
        replies = []
        for number in numbers:
            where, text = Conversation("telegram", number), f"Question {number}: what is a heron?"
            message = Message(str(number), where, Person(1, "Ada"), text, clock.now())
            kept = await store.ask(Question(message, "1"))
            replies.append(kept.reply if kept else 0)
        yield store, path, replies


async def test_a_question_is_found_by_its_number_alone(tmp_path: Path) -> None:
    async with asked(tmp_path, 5, 15) as (_, path, _replies):
        assert look_up(path, 5) == look_up(path, 15) == Row(complete=False, delivered=False, posts=0)
        assert look_up(path, 1) is None


async def test_an_answer_is_followed_from_its_messages_to_its_end(tmp_path: Path) -> None:
    async with asked(tmp_path, 5) as (store, path, (reply,)):
        await store.posted(reply, 0, "77")
        await store.answered(reply, ANSWER)
        written = look_up(path, 5)
        await store.finish(reply, ANSWER)

        assert written == Row(complete=True, delivered=False, posts=1)
        assert look_up_all(path) == {5: Row(complete=True, delivered=True, posts=1)}


async def test_a_complete_answer_that_is_not_delivered_is_a_moment(tmp_path: Path) -> None:
    async with asked(tmp_path, 5) as (store, path, (reply,)), open_chaos("telegram", None, 6, 0.0) as scene:
        moment = asyncio.create_task(reach(Moment.BEFORE_FINAL, scene, path, 5, Random(1), seconds=20))
        await store.answered(reply, ANSWER)

        assert await moment


@pytest.mark.parametrize(("moment", "there"), [(Moment.SENDING, 0), (Moment.SENT, 1)])
async def test_a_send_without_an_answer_is_a_moment_before_or_after_its_effect(
    tmp_path: Path, moment: Moment, there: int
) -> None:
    async with open_chaos("telegram", None, 6, 0.0) as scene:
        scene.ask(5, "What is a heron?")
        reaching = asyncio.create_task(reach(moment, scene, tmp_path, 5, Random(1), seconds=20))
        sending = asyncio.create_task(send(scene, "A bird."))

        assert await reaching
        assert len(scene.screen(5)) == there
        assert scene.faults.injected.total() == 1
        sending.cancel()


async def test_what_does_not_come_is_given_up(tmp_path: Path) -> None:
    async with asked(tmp_path) as (_, path, _replies), open_chaos("telegram", None, 6, 0.0) as scene:
        assert not await reach(Moment.BEFORE_FINAL, scene, path, 5, Random(1), seconds=0.05)
        assert scene.faults.injected[Trouble.HANG] == 0


async def send(scene: ChaosScene, text: str) -> None:
    address = scene.address
    url = f"{address.options['base_url']}/bot{address.token}/sendMessage"
    async with aiohttp.ClientSession() as session:
        await session.post(url, data={"chat_id": "1006", "text": text})
