"""Opens the store, and removes what is too old as long as it is open."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path

from clawdbot.clock import Clock
from clawdbot.errors import StoreError
from clawdbot.people.quota import DAY
from clawdbot.store.database import Database, open_database
from clawdbot.store.store import Store

log = logging.getLogger(__name__)

_PRUNE = (
    "DELETE FROM event WHERE at < ?",
    "DELETE FROM timing WHERE at < ?",
    "DELETE FROM audit WHERE at < ?",
    "DELETE FROM revision WHERE at < ?",
    "DELETE FROM post WHERE reply IN (SELECT id FROM reply WHERE finished_at < ?)",
)
_PRUNE_TEXTS = (
    *(
        f"DELETE FROM {noted} WHERE reply IN (SELECT id FROM reply WHERE finished_at < ?)"
        for noted in ("former", "piece", "revision", "post", "timing")
    ),
    "DELETE FROM reply WHERE finished_at < ?",
)


@dataclass(frozen=True, slots=True)
class Keeping:
    """How long things are kept, in days; infinity is for ever."""

    notes: float = 30.0
    """Timings, events, the audit and the refs of finished posts."""
    texts: float = inf
    """Questions and answers, with all that was noted of them."""


KEEPING = Keeping()


@asynccontextmanager
async def open_store(
    path: Path, clock: Clock, *, patience: float = 5.0, keeping: Keeping = KEEPING, idle_reset: float = inf
) -> AsyncIterator[Store]:
    """Open the database at ``path``, made or brought up to date if need be, and close it at the end of the block.

    ``patience``: how many seconds to wait for another program's lock. What is older than ``keeping`` wants goes at
    once and then once a day. ``idle_reset``: seconds after its last exchange when a conversation begins anew.
    Raises `StoreError`.
    """
    async with open_database(path, patience) as database:
        await _prune(database, clock.wall(), keeping)
        tidying = asyncio.create_task(_prune_daily(database, clock, keeping), name="prune")
        try:
            yield Store(database, clock, idle_reset)
        finally:
            tidying.cancel()
            await asyncio.wait({tidying})


async def _prune(database: Database, now: float, keeping: Keeping) -> None:
    def delete(connection: sqlite3.Connection) -> None:
        for statements, days in ((_PRUNE, keeping.notes), (_PRUNE_TEXTS, keeping.texts)):
            for statement in statements:
                connection.execute(statement, (now - days * DAY,))

    await database.transaction(delete)


async def _prune_daily(database: Database, clock: Clock, keeping: Keeping) -> None:
    while True:
        await clock.sleep(DAY)
        try:
            await _prune(database, clock.wall(), keeping)
        except StoreError:
            log.exception("what is too old could not be removed; that is tried again tomorrow")
