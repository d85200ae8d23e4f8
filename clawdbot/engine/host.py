"""Keeps an engine running: opens it in the background, opens it again when it dies."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from clawdbot.clock import Clock
from clawdbot.engine.protocol import Engine, EngineInfo

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds between two tries to open a dead engine again; doubled each time."""


class OpenedEngine(Engine, Protocol):
    """An engine that can say when it is gone."""

    async def died(self) -> None:
        """Return when the engine cannot be used any more."""
        ...


OpenEngine = Callable[[], AbstractAsyncContextManager[OpenedEngine]]


class EngineHost:
    """Where the bot gets its engine from, while it starts, runs, dies and starts again."""

    def __init__(self, open_engine: OpenEngine, clock: Clock) -> None:
        self._open = open_engine
        self._clock = clock
        self._engine: OpenedEngine | None = None
        self._changed = asyncio.Event()
        self._info: EngineInfo | None = None

    @property
    def ready(self) -> bool:
        """Whether `engine` returns at once."""
        return self._engine is not None

    @property
    def info(self) -> EngineInfo | None:
        """What is known of the engine that runs or ran last; None before the first one is up."""
        return self._info

    async def engine(self, instead_of: Engine | None = None) -> Engine:
        """The engine, as soon as there is one; not ``instead_of``, which was found dead."""
        while self._engine is None or self._engine is instead_of:
            self._changed.clear()
            await self._changed.wait()
        return self._engine

    async def run(self) -> None:
        """Keep an engine open until cancelled.

        Raises what the first opening raises, since that is for the admin to mend; later ones are tried again for good.
        """
        pause = FIRST_PAUSE
        while True:
            try:
                async with self._open() as engine:
                    pause = FIRST_PAUSE
                    self._set(engine)
                    log.info("engine ready: %s on %s, %s", engine.info.model, engine.info.device, engine.info.version)
                    await engine.died()
                    self._set(None)  # closing what is left of it takes a while
                    log.error("the engine died; it is started again")
            except Exception:
                if self._info is None:
                    raise
                log.exception("the engine could not be started again; next try in %.0f s", pause)
            finally:
                self._set(None)
            await self._clock.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _set(self, engine: OpenedEngine | None) -> None:
        self._engine = engine
        if engine is not None:
            self._info = engine.info
        self._changed.set()
