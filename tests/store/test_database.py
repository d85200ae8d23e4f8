"""What happens at the edges of SQLite: locks, kills, files that are no database."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from clawdbot.chat import Conversation, State
from clawdbot.errors import StoreError
from clawdbot.store import Answer, database, open_store
from clawdbot.store.database import Database, open_database
from clawdbot.testing.clock import ManualClock

ADD = "INSERT INTO event (platform, id, at) VALUES ('discord', ?, 0)"
COUNT = "SELECT count(*) FROM event"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clawdbot.sqlite3"


@pytest.fixture
async def opened(path: Path) -> AsyncIterator[Database]:
    async with open_database(path, patience=10) as opened:
        yield opened


@pytest.fixture
def diary(path: Path) -> Path:
    """A file that is no database."""
    path.write_text("Dear diary, " * 100)
    return path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another program in the middle of a write."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def test_a_transaction_is_whole_also_when_nobody_waits_for_it_any_more(opened: Database) -> None:
    """Stop cancels whoever waits, wherever the work is; the next one finds the way free."""

    def work(connection: sqlite3.Connection) -> None:
        connection.execute(ADD, ("1",))
        connection.execute(ADD, ("2",))

    task = asyncio.create_task(opened.transaction(work))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert await opened.write(ADD, "3") == 1
    assert [row["id"] for row in await opened.read("SELECT id FROM event")] == ["1", "2", "3"]


async def test_transactions_of_two_tasks_do_not_mix(opened: Database) -> None:
    """One that fails takes back its own rows alone."""

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute(ADD, ("1",))
        raise LookupError

    results = await asyncio.gather(opened.transaction(fail), opened.write(ADD, "2"), return_exceptions=True)
    assert [type(result) for result in results] == [LookupError, int]
    assert [row["id"] for row in await opened.read("SELECT id FROM event")] == ["2"]


async def test_transactions_that_wait_together_share_a_commit(opened: Database) -> None:
    """A commit costs more than the rest; a fault in one of them still takes back its own rows alone."""
    inside, go_on = threading.Event(), threading.Event()

    def hold(connection: sqlite3.Connection) -> None:
        inside.set()
        go_on.wait(timeout=10)

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute(ADD, ("wrong",))
        raise LookupError

    changes: list[int] = []
    works = [
        lambda connection, number=number: changes.append(connection.execute(ADD, (f"{number}",)).rowcount)
        for number in range(5)
    ]
    holding = asyncio.create_task(opened.transaction(hold))
    await asyncio.to_thread(inside.wait, 10)
    together = asyncio.gather(*map(opened.transaction, [*works[:3], fail, *works[3:]]), return_exceptions=True)
    await asyncio.sleep(0)
    go_on.set()

    assert [type(one) for one in await together] == [*[type(None)] * 3, LookupError, *[type(None)] * 2]
    assert len(changes) == 3 + 5, "the three before the fault were done with it first, then each alone"
    assert [row["id"] for row in await opened.read("SELECT id FROM event")] == ["0", "1", "2", "3", "4"]
    await holding


async def test_a_read_does_not_wait_for_an_open_transaction(opened: Database) -> None:
    """It sees what is committed."""
    inside, go_on = threading.Event(), threading.Event()

    def work(connection: sqlite3.Connection) -> None:
        connection.execute(ADD, ("1",))
        inside.set()
        go_on.wait(timeout=10)

    writing = asyncio.create_task(opened.transaction(work))
    await asyncio.to_thread(inside.wait, 10)
    assert (await opened.read(COUNT))[0][0] == 0
    go_on.set()
    await writing
    assert (await opened.read(COUNT))[0][0] == 1


async def test_a_transaction_needs_no_turn_of_the_loop(opened: Database) -> None:
    """However many statements it has, it is one errand to the thread: a busy loop must not hold all others up."""
    done = threading.Event()

    def work(connection: sqlite3.Connection) -> int:
        for number in range(5):
            connection.execute(ADD, (f"{number}",))
        done.set()
        return 5

    writing = asyncio.create_task(opened.transaction(work))
    await asyncio.sleep(0)
    assert done.wait(timeout=10), "while the loop stands still"
    assert await writing == 5


async def test_a_read_does_not_wait_for_another_programs_lock(opened: Database, path: Path) -> None:
    """While a write waits for a backup to end, histories are still read."""
    with locked(path):
        writing = asyncio.create_task(opened.write(ADD, "1"))
        await opened.read(COUNT)
        assert not writing.done()
    assert await writing == 1


async def test_a_locked_database_is_said_to_be_locked(path: Path) -> None:
    """In a sentence with the file's name, and nothing is written."""
    async with open_database(path, patience=0.01) as opened:
        with locked(path), pytest.raises(StoreError, match=rf"{path.name} is locked by another program"):
            await opened.write(ADD, "1")
        assert (await opened.read(COUNT))[0][0] == 0


async def test_a_full_disk_is_said_to_be_full(opened: Database) -> None:
    """Nothing of the transaction is left, and the store serves on when there is room again."""
    pages = (await opened.read("PRAGMA page_count"))[0][0]
    await opened.transaction(lambda connection: connection.execute(f"PRAGMA max_page_count = {pages}").fetchall())
    rows = [(f"{number:0100}",) for number in range(200)]
    with pytest.raises(StoreError, match="the disk is full"):
        await opened.transaction(lambda connection: connection.executemany(ADD, rows))
    assert (await opened.read(COUNT))[0][0] == 0
    assert await opened.write(ADD, "1") == 1


async def test_a_file_that_is_no_database_is_refused(diary: Path) -> None:
    """A wrong path in the configuration must not cost a file."""
    with pytest.raises(StoreError, match="is no SQLite database"):
        async with open_database(diary, patience=1):
            pass


async def test_a_path_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    """Such as a folder."""
    with pytest.raises(StoreError, match=rf"{tmp_path.name} cannot be opened"):
        async with open_database(tmp_path, patience=1):
            pass


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """A file lies where the folder should."""
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"a.sqlite3 cannot be made"):
        async with open_database(tmp_path / "file" / "state" / "a.sqlite3", patience=1):
            pass


async def test_only_the_owner_may_read_it(opened: Database, path: Path) -> None:
    """It holds what people said to the bot; so do the files that SQLite lays beside it."""
    await opened.write(ADD, "1")
    assert {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {
        path.name: 0o600,
        f"{path.name}-wal": 0o600,
        f"{path.name}-shm": 0o600,
        f"{path.name}.lock": 0o600,
    }


async def test_a_newer_database_is_left_alone(path: Path) -> None:
    """A step back to an older version must not write what it does not understand."""
    async with open_database(path, patience=1) as opened:
        await opened.transaction(lambda connection: connection.execute("PRAGMA user_version = 999"))
    with pytest.raises(StoreError, match="newer version"):
        async with open_database(path, patience=1):
            pass


async def test_an_older_database_is_brought_up_to_date(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the steps that it has not had, and its rows stay."""
    async with open_database(path, patience=1) as opened:
        await opened.write(ADD, "1")
    step = tmp_path / "step.sql"
    step.write_text("ALTER TABLE event ADD COLUMN kind TEXT NOT NULL DEFAULT 'command';")
    monkeypatch.setattr(database, "STEPS", (*database.STEPS, str(step)))
    async with open_database(path, patience=1) as opened:
        rows = await opened.read("SELECT id, kind FROM event")
        version = (await opened.read("PRAGMA user_version"))[0][0]
    assert [tuple(row) for row in rows] == [("1", "command")]
    assert version == len(database.STEPS)


async def test_a_database_of_the_first_version_goes_on(
    path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pending questions, messages and answers are taken up as that version would have done."""
    asked = (
        "INSERT INTO reply (conversation, platform, chat, topic, private, guild, message_id, author, author_name,"
        " question, received_at, reply_ref, state, answer, model)"
        " VALUES ('discord:5:0', 'discord', 5, 0, 0, 9, ?, 4242, 'Ann', 'Why?', 1e9, 'there', ?, ?, 'small')"
    )
    with monkeypatch.context() as past:
        past.setattr(database, "STEPS", ("schema.sql",))
        async with open_database(path, patience=1) as opened:
            await opened.write(asked, "1", "asked", None)
            await opened.write(asked, "2", "final", "Because.")
            await opened.write("INSERT INTO post (reply, part, ref) VALUES (2, 0, 'post')")
    async with open_store(path, clock) as store:
        first, second = await store.unfinished()
        await store.draft(first.reply, Answer("Be", State.STREAMING, "small"), 1)
        (drafted, _) = await store.unfinished()
    assert (first.posts, first.answer) == ([], None)
    assert (second.posts, second.answer) == (["post"], Answer("Because.", State.FINAL, "small"))
    assert (drafted.posts, drafted.answer) == ([None], Answer("Be", State.STREAMING, "small"))


async def test_conversations_of_an_older_database_go_on(
    path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bot that is updated keeps its conversations: under their keys, with their tokens and where they begin."""
    said = (
        "INSERT INTO reply (conversation, platform, chat, topic, private, guild, message_id, author, author_name,"
        " question, received_at, reply_ref, state, answer, model, question_tokens, finished_at)"
        " VALUES ('telegram:-5:3', 'telegram', -5, 3, 0, 0, ?, 4242, 'Ann', 'Why?', 1e9, 'there', 'final', 'Because.',"
        " 'small', x'07000000', 2e9)"
    )
    with monkeypatch.context() as past:
        past.setattr(database, "STEPS", ("schema.sql", "continued.sql", "held.sql", "access.sql"))
        async with open_database(path, patience=1) as opened:
            for number in "12":
                await opened.write(said, number)
            await opened.write("INSERT INTO conversation (key, first_turn) VALUES ('telegram:-5:3', 4)")
            await opened.write("INSERT INTO post (reply, part, ref) VALUES (2, 0, '77')")
    topic = Conversation("telegram", -5, topic=3)
    async with open_store(path, clock) as store:
        same, other = await store.history(topic.key, "small"), await store.history(topic.key, "large")
        found = await store.of_post(topic, "77")

    assert [(turn.id, turn.tokens) for turn in same] == [(4, [7]), (5, None)]
    assert [(turn.text, turn.tokens) for turn in other] == [("Ann: Why?", None), ("Because.", None)]
    assert found is not None
    assert found.question.message.conversation == topic


async def test_two_bots_on_one_database_are_kept_apart(path: Path) -> None:
    """Each would answer what the other has left unfinished; the second is told what to do."""
    async with open_database(path, patience=1):
        with pytest.raises(StoreError, match=rf"{path.name} is in use by another bot .* file of its own"):
            async with open_database(path, patience=1):
                pass
    async with open_database(path, patience=1) as opened:
        assert await opened.write(ADD, "1") == 1


async def test_a_lock_that_cannot_be_made_is_named(path: Path) -> None:
    """A folder lies in its place."""
    path.with_name(f"{path.name}.lock").mkdir()
    with pytest.raises(StoreError, match=rf"{path.name}.lock cannot be made"):
        async with open_database(path, patience=1):
            pass


async def test_reads_cannot_write(opened: Database) -> None:
    """A write that slipped into a read would miss the lock that keeps transactions apart."""
    with pytest.raises(StoreError, match="may not be written"):
        await opened.read("INSERT INTO event (platform, id, at) VALUES ('discord', '1', 0)")


KILLED = """
import asyncio, sqlite3, sys, time
from pathlib import Path
from clawdbot.chat import Conversation, Message, Person, State
from clawdbot.clock import SystemClock
from clawdbot.latency.timing import Timing
from clawdbot.store import Answer, Question, open_store

class Stall:
    '''A value that SQLite asks for in the middle of the transaction, and never gets.'''

def stall(value):
    print("inside", flush=True)
    time.sleep(600)

async def main():
    sqlite3.register_adapter(Stall, stall)
    async with open_store(Path(sys.argv[1]), SystemClock()) as store:
        message = Message("1", Conversation("console", 1), Person(1, "Ann"), "Why?", 0.0)
        reply = (await store.ask(Question(message, "ref"))).reply
        timing = Timing("console", "console:1:0", 0.0, None, *[0.1] * 8, 1, 1, 1, Stall())
        await store.finish(reply, Answer("Because.", State.FINAL, "small"), timing)

asyncio.run(main())
"""


async def test_a_kill_in_the_middle_leaves_no_half_written_answer(path: Path) -> None:
    """The answer is in the transaction, the process dies: the question is there, whole and pending."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, str(path), stdout=subprocess.PIPE)
    assert process.stdout is not None
    inside = await process.stdout.readline()
    process.kill()
    await process.wait()
    async with open_database(path, patience=1) as opened:
        rows = await opened.read("SELECT question, answer, state, finished_at FROM reply")
        timings = await opened.read("SELECT * FROM timing")
    assert inside == b"inside\n"
    assert [tuple(row) for row in rows] == [("Why?", None, "asked", None)]
    assert timings == []
