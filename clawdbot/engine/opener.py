"""Which engines the settings ask for, and how they are opened."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from clawdbot.clock import Clock
from clawdbot.engine import models
from clawdbot.engine.host import OpenedEngine, OpenEngine
from clawdbot.engine.pretrained import load_tokenizer
from clawdbot.engine.progress import Lines, Progress
from clawdbot.engine.remote.settings import RemoteSettings
from clawdbot.engine.settings import EngineSettings
from clawdbot.engine.settled import Settled
from clawdbot.engine.several import table_of
from clawdbot.engine.tokenizer import ChatTokenizer
from clawdbot.engine.vllm import open_vllm
from clawdbot.errors import EngineUnavailable
from clawdbot.settings.config import Settings
from clawdbot.tasks.threads import run_apart


def prepare(settings: EngineSettings, progress: Progress) -> None:
    """Bring what the engine needs on this machine, where there is a place for a bar. Raises `EngineUnavailable`."""
    if settings.kind == "vllm":
        models.resolve(settings.model, progress)


def opener(settings: EngineSettings, clock: Clock) -> OpenEngine:
    """Opens the only engine of this process; see `Openers.opener`."""
    return Openers(clock).opener(settings)


class Openers:
    """Opens all engines of a process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._settled = Settled()
        self._memory = asyncio.Lock()
        """Held by a local engine that starts: vLLM measures the memory that is free then, and takes its share. By one
        that falls asleep or wakes, too: what is measured meanwhile would be wrong."""
        self._library = threading.Lock()
        """Held by a thread that imports the models' libraries or loads by them: a second one finds transformers half
        imported, without what it looks for."""

    def all(self, settings: Settings) -> tuple[OpenEngine, dict[str, OpenEngine]]:
        """What opens the default model's engine, and those of the others by name: as `clawdbot.app.open_app` has it."""
        others = {name: self.opener(engine, table_of(name)) for name, engine in settings.models.items()}
        return self.opener(settings.engine), others

    def opener(self, settings: EngineSettings, at: str = "engine") -> OpenEngine:
        """Opens the engine that the table ``at`` describes, within the time that it is given there."""

        @asynccontextmanager
        async def opened() -> AsyncIterator[OpenedEngine]:
            async with AsyncExitStack() as stack:
                if settings.kind == "remote":
                    engine = await self._open(settings, at, stack)
                else:
                    async with self._memory:
                        engine = await self._open(settings, at, stack)
                yield engine

        return self._settled.around(opened)

    async def _open(self, settings: EngineSettings, at: str, stack: AsyncExitStack) -> OpenedEngine:
        try:
            async with asyncio.timeout(settings.start_timeout):
                if settings.kind == "remote":
                    return await self._remote(settings.remote, at, stack)
                return await self._local(settings, at, stack)
        except TimeoutError as error:
            reason = f"The engine did not start within {settings.start_timeout:g} s."
            raise EngineUnavailable(reason, f"Set [{at}] start_timeout higher if it needs longer.") from error

    async def _local(self, settings: EngineSettings, at: str, stack: AsyncExitStack) -> OpenedEngine:
        model = await run_apart(lambda: models.resolve(settings.model, Lines(sys.stderr)))
        sleeps = settings.sleep_after > 0
        opening = open_vllm(
            model,
            settings.device,
            settings.args,
            settings.profile,
            sleeps=sleeps,
            at=at,
            library=self._library,
            memory=self._memory,
        )
        return await stack.enter_async_context(opening)

    async def _remote(self, settings: RemoteSettings, at: str, stack: AsyncExitStack) -> OpenedEngine:
        try:
            from clawdbot.engine.remote.opening import Remote, open_remote
        except ImportError as error:
            reason = f"The library for engines elsewhere cannot be imported ({error})."
            raise EngineUnavailable(reason, "Install `clawdbot[remote]`.") from error
        remote = Remote(
            endpoints=settings.endpoints,
            model=settings.model,
            tokenizer=settings.tokenizer,
            context=settings.context,
            step_budget=settings.step_budget,
            cache_tokens=settings.cache_tokens,
            interval=settings.health_interval,
            waits=settings.waits,
            key=settings.key,
            images=None if settings.images == "ask" else settings.images,
            at=f"{at}.remote",
        )
        return await stack.enter_async_context(open_remote(remote, self._clock, self._tokenizer))

    def _tokenizer(self, name: str) -> ChatTokenizer:
        """In a thread."""
        with self._library:
            return load_tokenizer(name)
