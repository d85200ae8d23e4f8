"""The real vLLM with the demo model, started once for all tests here."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

import pytest
import pytest_asyncio

from clawdbot.clock import SystemClock
from clawdbot.delivery.markdown import showable
from clawdbot.engine import models
from clawdbot.engine.protocol import Chunk, EngineInfo, Request, Tokenizer
from clawdbot.engine.vllm import VllmEngine, open_vllm


@dataclass(slots=True)
class Heard:
    """What the engine said to one request."""

    request: Request
    text: str = ""
    showable_at: float | None = None
    """When the text first had two visible characters, seconds of `Clock.now`."""
    last_at: float = 0.0
    chunks: list[Chunk] = field(default_factory=list)


class Overheard:
    """The real engine, and everything that it says with the time when it does."""

    def __init__(self, engine: VllmEngine) -> None:
        self._engine = engine
        self._clock = SystemClock()
        self.heard: list[Heard] = []

    @property
    def info(self) -> EngineInfo:
        return self._engine.info

    @property
    def tokenizer(self) -> Tokenizer:
        return self._engine.tokenizer

    async def died(self) -> None:
        await self._engine.died()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["Overheard"]:
        """What an `EngineHost` opens: the engine that all tests share."""
        yield self

    async def generate(self, request: Request) -> AsyncGenerator[Chunk, None]:
        heard = Heard(request)
        self.heard.append(heard)
        async with aclosing(self._engine.generate(request)) as chunks:
            async for chunk in chunks:
                heard.last_at = self._clock.now()
                heard.text += chunk.text
                heard.chunks.append(chunk)
                if heard.showable_at is None and showable(heard.text) >= 2:
                    heard.showable_at = heard.last_at
                yield chunk


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def vllm() -> AsyncIterator[VllmEngine]:
    """An engine belongs to the event loop that it was made in, so fixture and tests share the session's."""
    async with open_vllm(models.resolve("demo"), "auto", {}) as engine:
        yield engine


@pytest.fixture
def overheard(vllm: VllmEngine) -> Overheard:
    """The engine, overheard from the beginning of the test."""
    return Overheard(vllm)
