"""How much the bot has to do, told to adapters that show it."""

import asyncio
from collections.abc import Collection

from clawdbot.abilities import Load, ShowsLoad
from clawdbot.clock import Clock
from clawdbot.models import Models
from clawdbot.sessions.sessions import Sessions

SETTLED = 1.0
"""Seconds after a change before the load is looked at again: a thousand answers change it all the time."""


class LoadTeller:
    """Looks at the load whenever something has changed it."""

    def __init__(self, sessions: Sessions, models: Models, clock: Clock) -> None:
        self._sessions = sessions
        self._models = models
        self._clock = clock
        self._changed = asyncio.Event()
        sessions.on_change = self._changed.set
        for model in models:
            model.admission.on_change = model.host.on_change = self._changed.set

    @property
    def load(self) -> Load:
        """The load now."""
        answering = sum(model.admission.depth.inside for model in self._models)
        unanswered = sum(not ticket.written for ticket in self._sessions.tickets)
        return Load(self._models.default.host.phase, answering, max(0, unanswered - answering))

    async def run(self, adapters: Collection[ShowsLoad]) -> None:
        """Tell ``adapters`` until cancelled."""
        told: Load | None = None
        while adapters:
            self._changed.clear()
            if (load := self.load) != told:
                told = load
                for adapter in adapters:
                    adapter.show_load(load)
            await self._changed.wait()
            await self._clock.sleep(SETTLED)
