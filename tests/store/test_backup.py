"""A backup is whole, of one moment, private, and takes no other's place."""

import asyncio
import os
import resource
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from clawdbot.errors import StoreError
from clawdbot.store import open_store
from clawdbot.store.backup import Copy, back_up
from clawdbot.store.database import STEPS, open_database
from clawdbot.testing.clock import ManualClock

ADD = "INSERT INTO event (platform, id, at) VALUES ('discord', ?, 0)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clawdbot.sqlite3"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "backup.sqlite3"


def events(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        ((number,),) = connection.execute("SELECT count(*) FROM event")
    return int(number)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_a_backup_is_made_while_the_bot_writes(path: Path, target: Path) -> None:
    """Pairs are written together: whatever moment it is of, no pair is torn."""

    def pair(connection: sqlite3.Connection) -> None:
        number = events(path)
        connection.execute(ADD, (f"{number}",))
        connection.execute(ADD, (f"{number + 1}",))

    async with open_database(path, patience=10) as opened:
        await opened.transaction(pair)
        copying = asyncio.create_task(asyncio.to_thread(back_up, path, target))
        while not copying.done():
            await opened.transaction(pair)
        made = await copying

    assert made == Copy(made.size, len(STEPS))
    assert events(target) % 2 == 0
    assert events(target) >= 2


async def test_a_bot_starts_on_a_backup(path: Path, target: Path, clock: ManualClock) -> None:
    async with open_store(path, clock) as store:
        await store.first_seen("discord", "1")
    back_up(path, target)

    async with open_store(target, clock) as store:
        assert not await store.first_seen("discord", "1")


async def test_a_backup_is_for_its_owner_alone(path: Path, target: Path) -> None:
    async with open_database(path, patience=1):
        pass
    before = os.umask(0)
    try:
        back_up(path, target)
    finally:
        os.umask(before)

    assert mode(target) == 0o600


def test_nothing_is_overwritten(path: Path, target: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE event (id)")
    target.write_text("the last good one")

    with pytest.raises(StoreError, match="exists already"):
        back_up(path, target)
    assert target.read_text() == "the last good one"


async def test_a_backup_that_fails_leaves_nothing(path: Path, target: Path) -> None:
    """What looks like a backup must be one."""
    async with open_database(path, patience=1) as opened:
        await opened.transaction(lambda connection: [connection.execute(ADD, ("x" * 10_000,)), None][1])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(StoreError, match=target.name):
            back_up(path, target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert not [file for file in path.parent.iterdir() if file.name.startswith(target.name)]


def test_a_backup_needs_a_database_and_a_folder(path: Path, target: Path) -> None:
    with pytest.raises(StoreError, match="no database"):
        back_up(path, target)
    path.write_text("Dear diary, " * 100)
    with pytest.raises(StoreError, match="no SQLite database"):
        back_up(path, target)
    assert not target.exists()
    with pytest.raises(StoreError, match="cannot be made"):
        back_up(path, target.parent / "none" / "backup")
