"""How updates come in: nothing is confirmed to Telegram before it is durable here."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
from telegram import Update
from telegram.error import NetworkError
from telegram.request import HTTPXRequest

from clawdbot.clock import Clock
from clawdbot_telegram.sift import sifted

Take = Callable[[Update, float], Awaitable[None] | None]
"""Hands an update over at once, with its time of receipt; what it returns is done when the update is durable."""


class Inbox(asyncio.Queue[object]):
    """The queue that the library's `Updater` puts updates into. It keeps none: each is handed over as it comes.

    Updates of one poll do not wait for each other; `settled` waits for all of them.
    """

    def __init__(self, take: Take) -> None:
        super().__init__()
        self._take = take
        self._open: set[asyncio.Future[None]] = set()
        self._cut_off = False
        """Whether the core, about to end, has cancelled the taking of an update."""
        self.received_at = 0.0
        """When the last poll's answer came, seconds of `Clock.now`."""

    async def put(self, item: object) -> None:
        if isinstance(item, Update):
            durable = self._take(item, self.received_at)
            if durable is not None:
                waiting = asyncio.ensure_future(durable)
                self._open.add(waiting)
                waiting.add_done_callback(self._close)

    async def settled(self) -> None:
        """Return when everything that was put so far is durable. Raises `NetworkError` when it never will be."""
        if self._open:
            await asyncio.wait(self._open)
        if self._cut_off:
            raise NetworkError("an update was not stored and has to come again")

    def _close(self, waiting: asyncio.Future[None]) -> None:
        self._open.discard(waiting)
        self._cut_off |= waiting.cancelled()


class PollRequest(HTTPXRequest):
    """Carries `getUpdates`. Each poll confirms the updates of the one before, so it waits until they are durable."""

    def __init__(self, inbox: Inbox, clock: Clock, **options: Any) -> None:
        super().__init__(**options)
        self._inbox = inbox
        self._clock = clock
        self.alive_at = clock.now()
        """When a poll last went out and ended, in whatever way, or may go out again; seconds of `Clock.now`."""
        self.failing = False
        """Whether the last poll brought no updates but an error."""
        self.unauthorized = asyncio.Event()
        """Set when Telegram refused the token; the library's loop has ended then."""

    async def do_request(self, *args: Any, **options: Any) -> tuple[int, bytes]:
        await self._inbox.settled()
        try:
            status, body = await super().do_request(*args, **options)
        except NetworkError as error:
            self.failing = True
            # Without a free connection nothing went out. A pool that never recovers would look like a long quiet night.
            if not isinstance(error.__cause__, httpx.PoolTimeout):
                self.alive_at = self._clock.now()
            raise
        self.alive_at = self._inbox.received_at = self._clock.now()
        self.failing = status != 200
        match status:
            case 200:
                body = sifted(body)
            case 401 | 404:
                self.unauthorized.set()
            case 429:
                # The library's loop waits so long before the next poll: that is no sign of its death.
                self.alive_at += wait_of(body)
        return status, body


def wait_of(body: bytes) -> float:
    """The seconds that a refusal asks for; 0 when it does not say."""
    try:
        return float(json.loads(body)["parameters"]["retry_after"])
    except (LookupError, TypeError, ValueError):
        return 0.0
