"""Reads what was said while nobody listened, from the channels themselves."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

import discord

from clawdbot.clock import Clock
from clawdbot.errors import DeliveryError, Limited, Unreachable, Unsure
from clawdbot_discord.backlog import Backlog, Gap

log = logging.getLogger(__name__)

PAGE = 100
"""Messages that one call brings; Discord gives no more."""
MOST_MESSAGES = 1000
"""So many missed messages of a channel are read; whoever asked before so many others has gone on."""
READERS = 2
"""So many calls are under way at a time: at a round trip of 80 ms they leave half of the bot's rate to answers."""
WAITING = 10_000
"""So many gaps wait to be read: 50 channels in each of 200 guilds."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds before a call that went wrong is tried again; doubled each time."""

Fetch = Callable[[Gap], Awaitable[list[discord.Message]]]
"""Brings the oldest `PAGE` messages of a gap, the oldest first. Raises `DeliveryError`."""
Take = Callable[[discord.Message], Awaitable[None]]


class Missed:
    """Gaps that wait to be read, and their readers."""

    def __init__(self, backlog: Backlog, clock: Clock, fetch: Fetch, take: Take) -> None:
        """``take`` is given every message; ``backlog`` is told how far each gap was read."""
        self._backlog = backlog
        self._clock = clock
        self._fetch = fetch
        self._take = take
        self._gaps: asyncio.Queue[Gap] = asyncio.Queue(WAITING)

    def add(self, gaps: Iterable[Gap]) -> None:
        """Let ``gaps`` be read too."""
        for gap in gaps:
            try:
                self._gaps.put_nowait(gap)
            except asyncio.QueueFull:
                log.warning("Discord: too many channels to look at; what was missed in %d is left out", gap.channel)
                self._backlog.close(gap)

    async def run(self) -> None:
        """Read gaps as they come, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(READERS):
                group.create_task(self._read_on())

    async def _read_on(self) -> None:
        while True:
            gap = await self._gaps.get()
            try:
                await self._read(gap)
            except DeliveryError as error:
                log.warning("Discord: what was missed in %d cannot be read: %s", gap.channel, error)
            self._backlog.close(gap)

    async def _read(self, gap: Gap) -> None:
        for _ in range(MOST_MESSAGES // PAGE):
            page = await self._page(gap)
            for message in page:
                await self._take(message)
            if len(page) < PAGE:
                return
            gap = replace(gap, after=page[-1].id)
            self._backlog.shorten(gap)
        log.warning("Discord: more than %d messages were missed in %d; the rest is left", MOST_MESSAGES, gap.channel)

    async def _page(self, gap: Gap) -> list[discord.Message]:
        pause = FIRST_PAUSE
        while True:
            try:
                return await self._fetch(gap)
            except Limited as refusal:
                await self._clock.sleep(refusal.retry_after)
            except (Unreachable, Unsure) as error:
                log.info("Discord: reading what was missed in %d is tried again: %s", gap.channel, error)
                await self._clock.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
