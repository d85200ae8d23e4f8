"""A copy of the database as it is at one moment, made while the bot goes on."""

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from clawdbot.errors import StoreError
from clawdbot.store.beside import reading
from clawdbot.store.database import translated


@dataclass(frozen=True, slots=True)
class Copy:
    """What was made."""

    size: int
    """Bytes."""
    version: int
    """That of the schema."""


def back_up(path: Path, target: Path) -> Copy:
    """Copy the database at ``path`` to ``target``, a file that its owner alone may read; takes as long as the disk.

    All of it is from one moment, between two transactions, and checked. Writers are not kept waiting. Raises
    `StoreError`, also when ``target`` exists: the last good backup must not be lost to a broken database.
    """
    part = target.with_name(f"{target.name}.part")
    with reading(path) as source:
        _reserve(target)
        try:
            _reserve(part)
            version = _copy(source, part)
            part.replace(target)
        except BaseException:
            target.unlink()
            raise
        finally:
            part.unlink(missing_ok=True)
    _to_disk(target.parent)
    return Copy(target.stat().st_size, version)


def _reserve(path: Path) -> None:
    """Make the file, empty, with the permissions of the database."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError as error:
        raise StoreError(f"{path} exists already; nothing is overwritten. Name another file.") from error
    except OSError as error:
        raise StoreError(f"The backup {path} cannot be made ({error.strerror}).") from error


def _copy(source: sqlite3.Connection, part: Path) -> int:
    with translated(part), closing(sqlite3.connect(part)) as copy:
        # All pages in one step: a reader of a database in WAL mode sees one moment, however long it takes.
        source.backup(copy, pages=-1)
        ((said,),) = copy.execute("PRAGMA quick_check(1)")
        if said != "ok":
            raise StoreError(f"The copy is damaged, and so the database may be ({said}).")
        ((version,),) = copy.execute("PRAGMA user_version")
    _to_disk(part)
    return int(version)


def _to_disk(path: Path) -> None:
    """Wait until what was written at ``path`` outlives a power cut."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
