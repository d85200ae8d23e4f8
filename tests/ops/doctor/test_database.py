"""The database, looked at beside a bot that may be using it."""

import os
import shutil
import sqlite3
from collections import namedtuple
from contextlib import closing
from pathlib import Path

import pytest

from clawdbot.errors import StoreError
from clawdbot.ops.doctor.database import COMFORTABLE, LEAST, database, disk, in_use
from clawdbot.ops.doctor.finding import Level
from clawdbot.people.access import Ruling
from clawdbot.store import beside
from clawdbot.store.database import STEPS, open_database

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A database that was closed in order."""
    path = tmp_path / "a folder?" / "clawdbot.sqlite3"
    async with open_database(path, patience=1):
        pass
    return path


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_database_is_read(path: Path) -> None:
    assert database("database", path, 0.0).level is Level.OK


def test_one_that_is_not_there_yet_is_no_fault(tmp_path: Path) -> None:
    assert database("database", tmp_path / "deep" / "down.sqlite3", 0.0).level is Level.OK


def test_one_that_would_lie_below_a_file_fails(tmp_path: Path) -> None:
    """A folder was meant, and a file of that name is there."""
    (tmp_path / "data").write_text("no folder")

    found = database("database", tmp_path / "data" / "bot.sqlite3", 0.0)
    assert found.level is Level.FAIL
    assert f"{tmp_path / 'data'} is no folder" in found.text


def test_one_of_an_earlier_release_is_told(path: Path) -> None:
    execute(path, "PRAGMA user_version = 1")

    found = database("database", path, 0.0)
    assert found.level is Level.WARN
    assert f"version 1 of {len(STEPS)}" in found.text
    assert "clawdbot backup" in found.remedy


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: execute(path, "PRAGMA user_version = 999"),
        lambda path: path.write_text("Dear diary, " * 100),
    ],
    ids=["newer", "no database"],
)
def test_one_that_cannot_be_used_fails(path: Path, spoil: object) -> None:
    assert callable(spoil)
    spoil(path)

    found = database("database", path, 0.0)
    assert found.level is Level.FAIL
    assert found.remedy


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_one_that_may_not_be_written_fails(path: Path) -> None:
    path.chmod(0o400)

    assert database("database", path, 0.0).level is Level.FAIL


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_one_in_a_folder_that_may_not_be_written_fails(path: Path) -> None:
    """SQLite makes files of its own beside it."""
    path.parent.chmod(0o500)

    found = database("database", path, 0.0)
    assert found.level is Level.FAIL
    assert "owns the folder" in found.remedy


async def test_it_is_read_while_a_bot_uses_it_and_the_bot_is_found(path: Path) -> None:
    """The lock is not touched: a bot that starts at that moment must get it."""
    assert beside.holder(path) is None
    async with open_database(path, patience=1) as opened:
        await opened.write("INSERT INTO ruling VALUES ('discord', 5, 'allowed')")
        found = beside.facts(path, 0.0)
        holder = beside.holder(path)

    assert (found.rulings, holder) == ({("discord", Ruling.ALLOWED): 1}, os.getpid())
    assert in_use("bot", path, holder).level is Level.WARN
    assert in_use("bot", path, None).level is Level.OK


async def test_looking_writes_nothing(path: Path) -> None:
    with beside.reading(path) as connection, pytest.raises(sqlite3.OperationalError):
        connection.execute("DELETE FROM reply")
    with pytest.raises(StoreError):
        beside.facts(path.with_name("none.sqlite3"), 0.0)


def test_codes_count_until_they_expire(path: Path) -> None:
    execute(path, "INSERT INTO pairing VALUES (x'00', 'discord', 1, 100.0), (x'01', 'discord', 1, 200.0)")

    assert [beside.facts(path, now).codes for now in (50.0, 150.0, 250.0)] == [2, 1, 0]


def test_chats_that_have_another_number_are_known(path: Path) -> None:
    """To a database of an earlier release, too: it has none."""
    execute(path, "INSERT INTO moved VALUES ('telegram', -1, -101)")
    found = beside.facts(path, 0.0).moved
    execute(path, f"PRAGMA user_version = {beside.WITH_RULINGS}", "DROP TABLE moved")

    assert (found, beside.facts(path, 0.0).moved) == ({("telegram", -1): -101}, {})


@pytest.mark.parametrize(
    ("free", "level"), [(COMFORTABLE, Level.OK), (COMFORTABLE - 1, Level.WARN), (LEAST - 1, Level.FAIL)]
)
def test_the_disk_has_room(path: Path, free: int, level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(0, 0, free))

    assert disk("disk", path).level is level
