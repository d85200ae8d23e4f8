"""What the start of an engine has loaded stays for good, and the garbage collector need not look at it again."""

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from clawdbot.engine.host import OpenedEngine, OpenEngine

THRESHOLDS = (50_000, 20, 20)
"""New containers that nobody has freed, before the young ones are looked at; how often that, before older ones are.

A thousand answers keep some 60,000 containers; looking at them holds the loop for 30 ms. With the usual 700 that
happened every second; cycles, the only garbage that needs it, are few.
"""


def settled(open_engine: OpenEngine) -> OpenEngine:
    """The same, but as long as an engine is up what its start has loaded is not looked through for garbage.

    Otherwise every full collection would hold the event loop for as long as it takes to look at all those modules.
    """

    @asynccontextmanager
    async def open_and_settle() -> AsyncIterator[OpenedEngine]:
        async with open_engine() as engine:
            usual = gc.get_threshold()
            gc.freeze()
            gc.set_threshold(*THRESHOLDS)
            try:
                yield engine
            finally:
                gc.set_threshold(*usual)
                gc.unfreeze()

    return open_and_settle
