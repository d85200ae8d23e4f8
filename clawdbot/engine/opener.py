"""Which engine the settings ask for, and how it is opened."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from clawdbot.clock import Clock
from clawdbot.config import EngineSettings
from clawdbot.engine import models
from clawdbot.engine.host import OpenedEngine, OpenEngine
from clawdbot.engine.progress import Lines, Progress
from clawdbot.engine.remote.settings import RemoteSettings
from clawdbot.engine.settled import settled
from clawdbot.engine.vllm import open_vllm
from clawdbot.errors import EngineUnavailable
from clawdbot.threads import run_apart


def prepare(settings: EngineSettings, progress: Progress) -> None:
    """Bring what the engine needs on this machine, where there is a place for a bar. Raises `EngineUnavailable`."""
    if settings.kind == "vllm":
        models.resolve(settings.model, progress)


def opener(settings: EngineSettings, clock: Clock) -> OpenEngine:
    """Opens that engine, within the time that the settings give it."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[OpenedEngine]:
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(settings.start_timeout):
                    if settings.kind == "remote":
                        engine = await _remote(settings.remote, clock, stack)
                    else:
                        engine = await _local(settings, stack)
            except TimeoutError as error:
                reason = f"The engine did not start within {settings.start_timeout:g} s."
                raise EngineUnavailable(reason, "Set [engine] start_timeout higher if it needs longer.") from error
            yield engine

    return settled(opened)


async def _local(settings: EngineSettings, stack: AsyncExitStack) -> OpenedEngine:
    model = await run_apart(lambda: models.resolve(settings.model, Lines(sys.stderr)))
    sleeps = settings.sleep_after > 0
    opening = open_vllm(model, settings.device, settings.args, settings.profile, sleeps=sleeps)
    return await stack.enter_async_context(opening)


async def _remote(settings: RemoteSettings, clock: Clock, stack: AsyncExitStack) -> OpenedEngine:
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
    )
    return await stack.enter_async_context(open_remote(remote, clock))
