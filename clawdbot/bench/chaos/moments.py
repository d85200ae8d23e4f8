"""Moments of an answer at which the bot is killed, found from outside: on the screen and in the database."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from random import Random

from clawdbot.bench.chaos.scenes import ChaosScene
from clawdbot.bench.scenes import SENDS
from clawdbot.bench.trace import asked
from clawdbot.testing.faults import Fault, Trouble

LOOK = 0.01
"""Seconds between two looks."""
SILENCE = 30.0
"""Seconds for which a call that the bot is killed in is not answered: longer than the bot lives."""
LATER = 0.25
"""Within so many seconds after a moment was found the bot is killed."""


_ROWS = """
SELECT question, answer IS NOT NULL AND state NOT IN ('asked', 'streaming'), finished_at IS NOT NULL,
       (SELECT count(*) FROM post WHERE post.reply = reply.id)
FROM reply WHERE question LIKE ?
"""


class Moment(StrEnum):
    """When the bot is killed."""

    WAITING = "waiting"
    """The question is stored, nothing is on the screen."""
    SENDING = "sending"
    """A new message is on its way to the platform and has no effect."""
    SENT = "sent"
    """A new message is on the screen, and the bot does not know it yet."""
    BETWEEN_PARTS = "between_parts"
    """Of a long answer one message is there, or two, and the bot is not done with it."""
    BEFORE_FINAL = "before_final"
    """The answer is complete in the database and not on the screen."""


@dataclass(frozen=True, slots=True)
class Row:
    """What the database has about one question."""

    complete: bool
    """Whether the engine's answer is there."""
    delivered: bool
    """Whether it is done with it."""
    posts: int
    """How many messages of the answer it knows."""


def look_up(database: Path, number: int) -> Row | None:
    """What is stored about a question now; None when it is not there."""
    return look_up_all(database, f"%Question {number}:%").get(number)


def look_up_all(database: Path, like: str = "%") -> dict[int, Row]:
    """What is stored about the questions whose text is ``like`` that, by their numbers."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=5)) as found:
        rows = found.execute(_ROWS, (like,)).fetchall()
    return {asked(list(map(ord, text))): Row(bool(complete), bool(done), posts) for text, complete, done, posts in rows}


async def reach(
    moment: Moment, scene: ChaosScene, database: Path, number: int, random: Random, *, seconds: float
) -> bool:
    """Return at ``moment`` in the answer to question ``number``, a long one; False when ``seconds`` passed instead."""
    match moment:
        case Moment.SENDING | Moment.SENT:
            trouble = Trouble.HANG if moment is Moment.SENDING else Trouble.TIMEOUT_AFTER
            return await _in_a_send(scene, trouble, seconds)
        case Moment.WAITING:
            found = await _seen(lambda: look_up(database, number) is not None, seconds)
            await asyncio.sleep(random.uniform(0, LATER))
            return found and not scene.screen(number)
        case Moment.BETWEEN_PARTS:
            messages = random.choice((1, 2))
            found = await _seen(lambda: len(scene.screen(number)) >= messages, seconds)
            await asyncio.sleep(random.uniform(0, LATER))
            row = look_up(database, number)
            return found and row is not None and not row.delivered
        case Moment.BEFORE_FINAL:
            return await _seen(lambda: _undelivered(database, number), seconds)


async def _in_a_send(scene: ChaosScene, trouble: Trouble, seconds: float) -> bool:
    faults = scene.faults
    before, usual = faults.injected[trouble], faults.plan
    faults.plan = lambda call: Fault(trouble, SILENCE) if call in SENDS else usual(call)
    try:
        return await _seen(lambda: faults.injected[trouble] > before, seconds)
    finally:
        faults.plan = usual


def _undelivered(database: Path, number: int) -> bool:
    row = look_up(database, number)
    return row is not None and row.complete and not row.delivered


async def _seen(condition: Callable[[], bool], seconds: float) -> bool:
    """Look until ``condition`` holds; False when ``seconds`` passed instead."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not condition():
        if loop.time() > end:
            return False
        await asyncio.sleep(LOOK)
    return True
