"""What there is, in the store and on the screens, and what was logged as an error."""

import asyncio
import logging
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from clawdbot.chat import Frame
from clawdbot.people.quota import HOUR
from clawdbot.testing.rig import MemoryPlatform

OTHERS = {
    "conversation": "SELECT key, key, first_turn FROM conversation",
    "trimming": "SELECT conversation || '/' || model, conversation, first_turn FROM trimming",
    "choice": "SELECT conversation || '/' || kind, conversation, name FROM choice",
    "ruling": "SELECT person, person, ruling FROM ruling",
}
"""Tables beside that of replies: the key of a row first, then whose it is."""
ASKED = """
SELECT author, received_at FROM reply WHERE state <> 'failed' AND NOT free
UNION ALL SELECT person, at FROM revision WHERE questions
"""


class Row(NamedTuple):
    """A question with its answer."""

    conversation: str
    author: int
    message: str
    question: str
    state: str
    answer: str | None
    finished_at: float | None
    forgotten_at: float | None


Rows = dict[object, tuple[object, ...]]


@dataclass(frozen=True)
class Look:
    """What there is at some moment."""

    replies: dict[int, Row]
    posts: dict[str, set[int]]
    """By `Post.ref`, the replies that have such a message."""
    pieces: dict[str, set[int]]
    """By the id of a message, the replies whose question it is a piece of."""
    others: dict[str, Rows]
    """The rows of `OTHERS`."""
    screens: dict[str, tuple[Frame, ...]]
    """What stands below each message, by its id."""
    asked: Counter[tuple[int, int]]
    """How much each person has asked in each hour since the epoch, answers that were asked for anew included."""

    @property
    def unfinished(self) -> list[object]:
        """What is under way, in the store or on a screen."""
        rows = [key for key, row in self.replies.items() if row.finished_at is None]
        growing = [id for id, frames in self.screens.items() if any(_grows(frame) for frame in frames)]
        return [*rows, *growing]


def look(database: Path, platform: MemoryPlatform) -> Look:
    """What there is now."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as store:
        columns = ", ".join(Row._fields).replace("message", "message_id")
        replies = {key: Row(*rest) for key, *rest in store.execute(f"SELECT id, {columns} FROM reply")}
        posts: dict[str, set[int]] = {}
        for reply, ref in store.execute("SELECT reply, ref FROM post"):
            posts.setdefault(ref, set()).add(reply)
        pieces: dict[str, set[int]] = {}
        for reply, message in store.execute("SELECT reply, message_id FROM piece"):
            pieces.setdefault(message, set()).add(reply)
        others: dict[str, Rows] = {
            table: {key: tuple(rest) for key, *rest in store.execute(query)} for table, query in OTHERS.items()
        }
        asked = Counter((person, int(at // HOUR)) for person, at in store.execute(ASKED))
    screens = {id: tuple(one.screen.frames) for id, one in platform.replies.items()}
    return Look(replies, posts, pieces, others, screens, asked)


def _grows(frame: Frame) -> bool:
    return frame.last and not frame.state.lasting


class Errors(logging.Handler):
    """All that is logged as an error, and all that asyncio had nobody to tell of."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(logging.Formatter().format(record)[-4000:])

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Hear everything inside the block."""
        root, loop = logging.getLogger(), asyncio.get_running_loop()
        root.addHandler(self)
        loop.set_exception_handler(lambda _, context: self.found.append(repr(context)))
        try:
            yield
        finally:
            loop.set_exception_handler(None)
            root.removeHandler(self)
