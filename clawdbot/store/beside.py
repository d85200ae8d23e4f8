"""Reads a database from outside, also while a bot is using it: nothing is written, no lock is taken for long."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from clawdbot.errors import StoreError
from clawdbot.people.access import Ruling
from clawdbot.store.database import STEPS, lock_of, translated

PATIENCE = 5.0
"""Seconds to wait for another program's lock."""
WITH_RULINGS = STEPS.index("access.sql") + 1
"""The version that brought rulings and codes."""
WITH_MOVES = STEPS.index("moved.sql") + 1
"""The version that brought chats that have another number now."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a database says about itself."""

    version: int
    """How many of `STEPS` it has had; the next start does the others."""
    rulings: Mapping[tuple[str, Ruling], int]
    """How many people were let in or kept out while the bot ran, by platform."""
    codes: int
    """Codes that would still let somebody in."""
    moved: Mapping[tuple[str, int], int] = field(default_factory=dict)
    """What number a chat has now, by platform and the number that it had."""


def facts(path: Path, now: float) -> Facts:
    """Look into the database at ``path``; ``now`` in seconds since the epoch. Raises `StoreError`."""
    with reading(path) as connection:
        ((version,),) = connection.execute("PRAGMA user_version")
        if version > len(STEPS):
            raise StoreError(f"The database {path} was written by a newer version of this program.")
        if version < WITH_RULINGS:
            return Facts(version, {}, 0)
        rulings = Counter(
            (str(at), Ruling(kind)) for at, kind in connection.execute("SELECT platform, ruling FROM ruling")
        )
        ((codes,),) = connection.execute("SELECT count(*) FROM pairing WHERE expires > ?", (now,))
        return Facts(version, rulings, codes, _moved(connection) if version >= WITH_MOVES else {})


def _moved(connection: sqlite3.Connection) -> dict[tuple[str, int], int]:
    return {
        (str(at), int(chat)): int(now) for at, chat, now in connection.execute("SELECT platform, chat, now FROM moved")
    }


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that cannot write. Raises `StoreError`, also for what SQLite raises in the block."""
    if not path.is_file():
        raise StoreError(f"There is no database at {path}.")
    with (
        translated(path),
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", timeout=PATIENCE, uri=True)) as connection,
    ):
        yield connection


def holder(path: Path) -> int | None:
    """The process of the bot that uses the database at ``path``; None when this user sees none.

    Trying the lock would tell as much, and keep out a bot that starts at that moment.
    """
    lock = str(lock_of(path).absolute().resolve())
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if any(file.path == lock for file in process.open_files()):
                return int(process.pid)
    return None
