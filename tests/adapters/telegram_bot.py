"""A whole bot on a simulated Telegram: everything is real but the model, the platform and its people."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import SecretStr

from clawdbot.app import App, open_app, serve
from clawdbot.clock import SystemClock
from clawdbot.engine.protocol import Request
from clawdbot.settings.config import Allowed, AnswerSettings, Settings, StoreSettings
from clawdbot.testing.engine import Script, ScriptedEngine
from clawdbot.testing.rig import echo
from clawdbot.testing.telegram import SimTelegram
from clawdbot_telegram import TelegramAdapter, TelegramSettings


class TelegramBot:
    """A bot that may run more than once: that is a restart on the same database, and people 1 and 2 may talk to it."""

    def __init__(
        self,
        sim: SimTelegram,
        folder: Path,
        script: Callable[[Request], Script] = echo,
        *,
        max_messages: int = 8,
        chats: Collection[int] = (),
    ) -> None:
        """``script`` makes the answers, and may be changed meanwhile; whoever is in one of ``chats`` may talk there."""
        self.sim = sim
        self.script = script
        self.requests: list[Request] = []
        """All that the model was asked, in every run."""
        self._settings = Settings(
            answers=AnswerSettings(system_prompt="", max_messages=max_messages),
            access={"telegram": Allowed(users=frozenset({1, 2}), chats=frozenset(chats))},
            store=StoreSettings(path=folder / "clawdbot.sqlite3"),
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[App]:
        """The bot at work; leaving the block is a crash."""
        started: asyncio.Future[App] = asyncio.get_running_loop().create_future()
        life = asyncio.create_task(self._live(started))
        try:
            await asyncio.wait((life, started), return_when=asyncio.FIRST_COMPLETED)
            if life.done():
                life.result()
            await self.sim.online()
            yield started.result()
        finally:
            life.cancel()
            await asyncio.wait((life,))

    async def _live(self, started: "asyncio.Future[App]") -> None:
        adapter = TelegramAdapter(TelegramSettings(token=SecretStr(self.sim.token), base_url=self.sim.url))
        clock = SystemClock()
        async with open_app(self._settings, self._open_engine, clock, lambda timing: None) as app:
            started.set_result(app)
            await serve(app, {"telegram": adapter}, clock, asyncio.Event(), 0.0)

    @asynccontextmanager
    async def _open_engine(self) -> AsyncIterator[ScriptedEngine]:
        engine = ScriptedEngine(self._write, SystemClock())
        yield engine

    def _write(self, request: Request) -> Script:
        self.requests.append(request)
        return self.script(request)
