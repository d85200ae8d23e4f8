"""The whole bot with its real adapters and a scripted engine, as bench chaos runs it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from clawdbot import plugins
from clawdbot.app import open_app, serve
from clawdbot.bench.chaos.plan import Asked
from clawdbot.bench.scenes import Address
from clawdbot.bench.trace import asked
from clawdbot.clock import SystemClock
from clawdbot.engine.host import OpenEngine
from clawdbot.engine.protocol import Request
from clawdbot.settings.config import AdapterTable, Allowed, AnswerSettings, SessionSettings, Settings, StoreSettings
from clawdbot.testing.engine import Script, ScriptedEngine

OPTIONS: Mapping[str, Mapping[str, object]] = {
    "discord": {"call_timeout": 1.0, "identify_delay": 0.05},
    "telegram": {"call_timeout": 1.0, "poll_timeout": 5},
}
"""Times of the adapters, scaled down."""


@dataclass(frozen=True, slots=True)
class Orders:
    """What a bot needs to know: by platform its address and who may talk, its database, the answers to give."""

    addresses: Mapping[str, Address]
    allowed: Mapping[str, Allowed]
    database: Path
    answer: Callable[[int], Asked]
    """The question with this number, with its answer. Can be pickled."""

    def settings(self) -> Settings:
        """The bot's settings."""
        tables = {
            name: AdapterTable("the bench", {**OPTIONS[name], **address.options}, SecretStr(address.token))
            for name, address in self.addresses.items()
        }
        return Settings(
            answers=AnswerSettings(system_prompt=""),
            sessions=SessionSettings(concurrent=256, waiting=1024, share=64),
            access=self.allowed,
            store=StoreSettings(path=self.database),
            adapters=tables,
        )

    def engine(self) -> ScriptedEngine:
        """An engine that gives the answers."""

        def script(request: Request) -> Script:
            return self.answer(asked(request.prompt)).script

        return ScriptedEngine(script, SystemClock())


@asynccontextmanager
async def serving(orders: Orders, open_engine: OpenEngine) -> AsyncIterator[None]:
    """Run the bot as ``clawdbot run`` does until the end of the block."""
    clock, stop, settings = SystemClock(), asyncio.Event(), orders.settings()
    adapters = plugins.build(settings, plugins.installed())
    async with open_app(settings, open_engine, clock, lambda timing: None) as app:
        task = asyncio.create_task(serve(app, adapters, clock, stop, settings.sessions.drain))
        try:
            yield
        finally:
            stop.set()
            await task
