"""Opens the store, and removes what is too old as long as it is open."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path

from clawdbot.clock import Clock
from clawdbot.errors import StoreError
from clawdbot.quota import DAY
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


@asynccontextmanager
async def open_store(
    path: Path, clock: Clock, *, patience: float = 5.0, keep_days: float = 30.0, idle_reset: float = inf
) -> AsyncIterator[Store]:
    """Open the database at ``path``, made or brought up to date if need be, and close it at the end of the block.

    ``patience``: how many seconds to wait for another program's lock. ``keep_days``: how long timings, events, the
    audit and the refs of finished posts are kept (infinity is for ever); questions and answers stay. What is older
    goes at once and then once a day. ``idle_reset``: seconds after its last exchange when a conversation begins anew.
    Raises `StoreError`.
    """
    async with open_database(path, patience) as database:
        await _prune(database, clock.wall() - keep_days * DAY)
        tidying = asyncio.create_task(_prune_daily(database, clock, keep_days), name="prune")
        try:
            yield Store(database, clock, idle_reset)
        finally:
            tidying.cancel()
            await asyncio.wait({tidying})


async def _prune(database: Database, before: float) -> None:
    def delete(connection: sqlite3.Connection) -> None:
        for statement in _PRUNE:
            connection.execute(statement, (before,))

    await database.transaction(delete)


async def _prune_daily(database: Database, clock: Clock, keep_days: float) -> None:
    while True:
        await clock.sleep(DAY)
        try:
            await _prune(database, clock.wall() - keep_days * DAY)
        except StoreError:
            log.exception("what is too old could not be removed; that is tried again tomorrow")
