"""An engine that sleeps instead of being closed, where it can: it gives its memory back and is soon there again."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager

from clawdbot.clock import first_of
from clawdbot.engine.host import OpenedEngine, OpenEngine, Sleeper
from clawdbot.engine.protocol import Chunk, EngineInfo, Request, Tokenizer
from clawdbot.errors import EngineDead

log = logging.getLogger(__name__)


@asynccontextmanager
async def sleeping(open_engine: OpenEngine) -> AsyncIterator[OpenEngine]:
    """The same as ``open_engine``, for a host that closes an engine when nobody needs it.

    At the end of its block an engine that can sleeps, and the next block wakes it. It is closed when it is dead, when
    the block is left by an error or a cancellation, and at the end of this one.
    """
    bed = _Bed(open_engine)
    try:
        yield bed.opened
    finally:
        await bed.clear()


class Spell:
    """The time from one sleep to the next: another engine, for all who remember what an engine has read."""

    def __init__(self, engine: OpenedEngine) -> None:
        self._engine = engine

    @property
    def info(self) -> EngineInfo:
        """See `Engine.info`."""
        return self._engine.info

    @property
    def tokenizer(self) -> Tokenizer:
        """See `Engine.tokenizer`."""
        return self._engine.tokenizer

    def generate(self, request: Request) -> AsyncGenerator[Chunk, None]:
        """See `Engine.generate`."""
        return self._engine.generate(request)

    async def died(self) -> None:
        """See `OpenedEngine.died`."""
        await self._engine.died()


class _Bed:
    """Holds the engine while nobody has it open."""

    def __init__(self, open_engine: OpenEngine) -> None:
        self._open = open_engine
        self._stack = AsyncExitStack()
        """What closes the engine."""
        self._asleep: Sleeper | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[OpenedEngine]:
        keep = False
        try:
            engine = await self._wake()
            if engine is None:
                engine = await self._stack.enter_async_context(self._open())
            yield Spell(engine)
            keep = await self._put_to_bed(engine)
        finally:
            if not keep:
                await self.clear()

    async def clear(self) -> None:
        """Close the engine, if there is one."""
        self._asleep = None
        stack, self._stack = self._stack, AsyncExitStack()
        await stack.aclose()

    async def _wake(self) -> OpenedEngine | None:
        """The engine that sleeps here; None when there is none any more."""
        sleeper, self._asleep = self._asleep, None
        if sleeper is not None:
            try:
                await _unless_it_dies(sleeper, sleeper.wake())
            except EngineDead:
                log.warning("the engine died in its sleep; it is started again")
                await self.clear()
                return None
        return sleeper

    async def _put_to_bed(self, engine: OpenedEngine) -> bool:
        """Whether it sleeps now."""
        if not (isinstance(engine, Sleeper) and engine.can_sleep):
            return False
        try:
            await _unless_it_dies(engine, engine.sleep())
        except EngineDead:
            return False
        self._asleep = engine
        return True


async def _unless_it_dies(engine: Sleeper, work: Awaitable[None]) -> None:
    """Wait for ``work`` of ``engine``, which may give no answer when it dies over it. Raises `EngineDead` then."""
    working = asyncio.ensure_future(work)
    await first_of(working, engine.died())
    if not working.done():
        raise EngineDead("The engine died while it fell asleep or woke.")
    await working
