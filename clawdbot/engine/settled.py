"""How the interpreter works while engines are up: it looks for garbage seldom, and threads take turns quickly."""

import gc
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from clawdbot.engine.host import OpenedEngine, OpenEngine

THRESHOLDS = (50_000, 20, 20)
"""New containers that nobody has freed, before the young ones are looked at; how often that, before older ones are.

A thousand answers keep some 60,000 containers; looking at them holds the loop for 30 ms. With the usual 700 that
happened every second; cycles, the only garbage that needs it, are few.
"""
SWITCH = 0.0005
"""Seconds that the event loop keeps Python's lock while the database's threads wait for it.

With the usual 5 ms a statement, which needs it twice, takes 10 ms while the loop is busy, and a thousand answers have
more of them than that leaves time for.
"""


class Settled:
    """Looks after the interpreter for all engines of a process, from the first that is up to the last."""

    def __init__(self) -> None:
        self._up = 0
        self._usual = gc.get_threshold()
        self._turn = sys.getswitchinterval()

    def around(self, open_engine: OpenEngine) -> OpenEngine:
        """The same, but as long as an engine is up what starts have loaded is not looked through for garbage.

        Otherwise every full collection would hold the event loop for as long as it takes to look at all those modules.
        And threads take turns every `SWITCH` seconds.
        """

        @asynccontextmanager
        async def open_and_settle() -> AsyncIterator[OpenedEngine]:
            async with open_engine() as engine:
                self._settle()
                try:
                    yield engine
                finally:
                    self._unsettle()

        return open_and_settle

    def _settle(self) -> None:
        if not self._up:
            self._usual, self._turn = gc.get_threshold(), sys.getswitchinterval()
        self._up += 1
        gc.freeze()
        gc.set_threshold(*THRESHOLDS)
        sys.setswitchinterval(SWITCH)

    def _unsettle(self) -> None:
        self._up -= 1
        if not self._up:
            sys.setswitchinterval(self._turn)
            gc.set_threshold(*self._usual)
            gc.unfreeze()
