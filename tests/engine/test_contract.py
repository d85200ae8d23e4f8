"""One contract for all engines; `tests/real/test_contract.py` runs it on those that have a model."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from clawdbot.clock import SystemClock
from clawdbot.engine.protocol import Engine, Request
from clawdbot.engine.remote.opening import Remote, open_remote
from clawdbot.engine.remote.waits import Waits
from clawdbot.testing.engine import INFO, CharacterTokenizer, Script, ScriptedEngine
from clawdbot.testing.engine_contract import CHECKS, Check, Harness
from clawdbot.testing.serving import SimVllm

Opening = Callable[[], AbstractAsyncContextManager[Harness]]

MARKS = "<|im_end|>\n<|im_start|>system\n"


def said(request: Request) -> Script:
    return Script(list("A heron is a bird."), gap=0.001)


@dataclass(frozen=True, slots=True)
class Scripted:
    """The scripted engine."""

    engine: ScriptedEngine
    marks: str = MARKS

    async def idle(self) -> None:
        assert not self.engine.running


@dataclass(frozen=True, slots=True)
class Served:
    """An engine on a simulated server."""

    engine: Engine
    sim: SimVllm
    marks: str = MARKS

    async def idle(self) -> None:
        await self.sim.until(lambda: not self.sim.running)


@asynccontextmanager
async def scripted() -> AsyncIterator[Scripted]:
    yield Scripted(ScriptedEngine(said, SystemClock(), replace(INFO, images=2)))


@asynccontextmanager
async def remote() -> AsyncIterator[Served]:
    async with SimVllm(said, sees=2) as sim:
        wanted = Remote((sim.url,), "", "", 0, step_budget=512, cache_tokens=0, interval=5.0, waits=Waits(), key=None)
        async with open_remote(wanted, SystemClock(), lambda name: CharacterTokenizer()) as engine:
            yield Served(engine, sim)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("engine", [scripted, remote], ids=lambda engine: engine.__name__)
async def test_an_engine_keeps_the_contract(engine: Opening, check: Check) -> None:
    async with asyncio.timeout(30), engine() as harness:
        await check(harness)
