"""A database of whatever earlier version goes on: what it holds is there, and what is new works."""

import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path

import pytest

from clawdbot import store as package
from clawdbot.chat import State
from clawdbot.store import Answer, Trimming, open_store
from clawdbot.store.backup import back_up
from clawdbot.store.database import STEPS
from clawdbot.testing.clock import ManualClock

EARLIER = range(1, len(STEPS))

ASKED = """
INSERT INTO reply (conversation, platform, chat, topic, private, guild, message_id, author, author_name, question,
                   received_at, reply_ref, state, answer, model, question_tokens, answer_tokens, finished_at)
VALUES ('discord:5:0', 'discord', 5, 0, 0, 9, :id, 4242, 'Ann', 'Why?', 1e9, 'there', :state, :answer, 'small',
        x'07000000', x'08000000', :finished)
"""
ROWS = (
    {"id": "1", "state": "final", "answer": "Because.", "finished": 1e9},
    {"id": "2", "state": "final", "answer": "So.", "finished": None},
    {"id": "3", "state": "asked", "answer": None, "finished": None},
)


@pytest.fixture(params=EARLIER, ids=lambda version: f"{version} of {len(STEPS)}")
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A database as the version left it that had so many of the steps."""
    path = tmp_path / "clawdbot.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as made:
        first, *later = STEPS[: request.param]
        made.executescript(files(package).joinpath(first).read_text("utf-8"))
        made.executemany(ASKED, ROWS)  # in the words of the first version
        for step in later:
            made.executescript(files(package).joinpath(step).read_text("utf-8"))
        made.execute("INSERT INTO post (reply, part, ref) VALUES (2, 0, 'post')")
        made.execute("INSERT INTO event (platform, id, at) VALUES ('discord', 'seen', 4e9)")
        made.execute("INSERT INTO refusal (platform, person) VALUES ('discord', 13)")
        made.execute(f"PRAGMA user_version = {request.param}")
    return path


async def test_what_was_open_is_taken_up(path: Path, clock: ManualClock) -> None:
    async with open_store(path, clock) as store:
        complete, asked = await store.unfinished()

    assert (complete.posts, complete.answer) == (["post"], Answer("So.", State.FINAL, "small", [7], [8]))
    assert (asked.posts, asked.answer) == ([], None)


async def test_what_was_seen_and_refused_is_remembered(path: Path, clock: ManualClock) -> None:
    async with open_store(path, clock) as store:
        assert not await store.first_seen("discord", "seen")
        assert not await store.first_refusal("discord", 13)
        assert await store.first_refusal("discord", 14)


async def test_what_was_said_is_still_thought_of(path: Path, clock: ManualClock) -> None:
    async with open_store(path, clock) as store:
        (question, answer) = await store.history("discord:5:0", "small")

    assert (question.text, answer.text) == ("Ann: Why?", "Because.")


async def test_tokens_of_a_time_that_knew_models_by_name_alone_are_nobodys(path: Path, clock: ManualClock) -> None:
    """Another tokenizer may have the name by now; the text is there, so they are made anew."""
    async with open_store(path, clock) as store:
        turns = await store.history("discord:5:0", "0" * 32)

    assert [(turn.text, turn.tokens) for turn in turns] == [("Ann: Why?", None), ("Because.", None)]


async def test_where_a_conversation_began_it_begins_for_every_model(path: Path, clock: ManualClock) -> None:
    """Nobody noted whether people or a model's room had decided it; from now on each model trims for itself."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO conversation (key, first_turn) VALUES ('discord:5:0', 4)")
    async with open_store(path, clock) as store:
        await store.finish(2, Answer("So.", State.FINAL, "small"))
        await store.finish(3, Answer("Thus.", State.FINAL, "small"), trimming=Trimming("small", 6))
        said = [
            [turn.text for turn in await store.history("discord:5:0", "", model=model) if turn.role == "assistant"]
            for model in ("small", "large")
        ]

    assert said == [["Thus."], ["So.", "Thus."]]


async def test_it_has_the_schema_of_a_new_one(path: Path, clock: ManualClock, tmp_path: Path) -> None:
    """However it came about: the same tables, columns and indexes."""
    new = tmp_path / "new.sqlite3"
    for one in (path, new):
        async with open_store(one, clock):
            pass

    assert schema(path) == schema(new)


async def test_a_backup_can_be_made_before(path: Path, tmp_path: Path, clock: ManualClock) -> None:
    """And the new version starts on that, too."""
    copy = tmp_path / "copy.sqlite3"

    before = back_up(path, copy).version
    assert before < len(STEPS)
    async with open_store(copy, clock) as store:
        assert len(await store.unfinished()) == 2


def schema(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """By table, its columns."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        indexes = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY name").fetchall()
        columns = {
            table: sorted(connection.execute('SELECT name, type, "notnull", pk FROM pragma_table_info(?)', (table,)))
            for table in tables
        }
    return {**columns, "indexes": indexes}
