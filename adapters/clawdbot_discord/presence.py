"""The line below the bot's name: what the bot is doing, for everybody who can see it."""

import asyncio
from collections.abc import Awaitable, Callable
from math import inf

from clawdbot.abilities import Load, Phase
from clawdbot.clock import Clock
from clawdbot.errors import DeliveryError

EVERY = 20.0
"""Seconds between two changes; Discord takes five in that time, and nobody reads faster."""

_ENGINE = {
    Phase.LOADING: "loading the model",
    Phase.RESTARTING: "restarting the model",
    Phase.DOWN: "the model cannot be started",
    Phase.ASLEEP: "asleep until somebody asks",
    Phase.WAKING: "waking up",
}


def line(load: Load) -> str:
    """What everybody reads: "3 answering, 2 waiting", "ready", "loading the model"."""
    busy = f"{load.answering:,} answering" if load.answering else ""
    waiting = f"{load.waiting:,} waiting" if load.waiting else ""
    said = (_ENGINE.get(load.engine, ""), busy, waiting)
    return ", ".join(filter(None, said)) or "ready"


Show = Callable[[str], Awaitable[None]]
"""Tells Discord; raises `DeliveryError` when that is not possible now."""


class Presence:
    """What is shown and what should be; it outlives the sessions."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wanted = ""
        self._shown = ""
        self._changed_at = -inf
        self._news = asyncio.Event()

    def want(self, load: Load) -> None:
        """Show ``load`` as soon as it may be shown; the latest one counts."""
        self._wanted = line(load)
        self._news.set()

    def begin(self) -> None:
        """Note that nobody knows what is shown: a new session shows nothing, and one that is back may have lost it."""
        self._shown = ""
        self._news.set()

    async def run(self, show: Show) -> None:
        """Keep what one session shows up to date, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            if self._wanted == self._shown:
                continue
            if (early := self._changed_at + EVERY - self._clock.now()) > 0:
                await self._clock.sleep(early)
            if self._wanted != self._shown:
                self._changed_at = self._clock.now()
                await self._try(show, self._wanted)

    async def _try(self, show: Show, wanted: str) -> None:
        try:
            await show(wanted)
        except DeliveryError:
            self._shown = ""  # the connection has just gone; the next one begins anew
        else:
            self._shown = wanted
