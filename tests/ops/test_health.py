"""The endpoints, asked over HTTP of a whole bot."""

import asyncio
import errno
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
from pydantic import SecretStr

from clawdbot.app import App, open_app, serve
from clawdbot.chat import Adapter, Receive, Reply
from clawdbot.clock import SystemClock
from clawdbot.errors import AdapterError, ConfigError
from clawdbot.ops.watch import Watch
from clawdbot.settings.config import OpsSettings, Settings, StoreSettings
from clawdbot.testing.engine import ScriptedEngine, opened
from clawdbot.testing.rig import echo

TOKEN = "a-token-of-the-owner"


class Platform:
    """An adapter that says whether it is connected."""

    def __init__(self) -> None:
        self.connected = True
        self.running = asyncio.Event()
        self.fails = False

    async def run(self, receive: Receive) -> None:
        self.running.set()
        if self.fails:
            raise AdapterError("no network")
        await asyncio.Event().wait()

    def reply(self, ref: str) -> Reply:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Bot:
    """A bot that is being watched."""

    app: App
    address: str
    http: aiohttp.ClientSession
    loaded: asyncio.Event
    """Set it to let the engine be there."""

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        async with self.http.get(self.address + path, headers=headers) as answer:
            return answer.status, await answer.text()

    async def becomes(self, status: int) -> str:
        """What ``/readyz`` says once it answers with ``status``."""
        async with asyncio.timeout(10):
            while True:
                found, told = await self.get("/readyz")
                if found == status:
                    return told


NewBot = Callable[..., AbstractAsyncContextManager[Bot]]


@pytest.fixture
def bot(tmp_path: Path) -> NewBot:
    """Runs a bot with adapters and a token; its engine comes when it is told to."""

    @asynccontextmanager
    async def bot(adapters: dict[str, Adapter] | None = None, token: SecretStr | None = None) -> AsyncIterator[Bot]:
        clock, loaded, stop = SystemClock(), asyncio.Event(), asyncio.Event()
        watch = Watch(OpsSettings(port=0, token=token), clock)

        @asynccontextmanager
        async def engine() -> AsyncIterator[ScriptedEngine]:
            await loaded.wait()
            async with opened(ScriptedEngine(echo, clock)) as ready:
                yield ready

        kept = Settings(store=StoreSettings(path=tmp_path / "clawdbot.sqlite3"))
        async with (
            open_app(kept, engine, clock, watch.observe) as app,
            watch.open(app, adapters or {}) as address,
            aiohttp.ClientSession() as http,
        ):
            serving = asyncio.create_task(serve(app, adapters, clock, stop, 0.0)) if adapters else None
            yield Bot(app, address, http, loaded)
            stop.set()
            if serving:
                await serving

    return bot


async def test_it_is_alive_before_it_is_ready(bot: NewBot) -> None:
    """An engine takes a minute to start; a container that is killed for that would never get there."""
    async with bot() as started:
        assert await started.get("/healthz") == (200, "alive\n")
        status, told = await started.get("/readyz")
        assert status == 503
        assert "The engine is starting." in told


async def test_it_is_ready_when_the_engine_is_there_and_platforms_are_connected(bot: NewBot) -> None:
    async with bot({"here": Platform()}) as started:
        started.loaded.set()
        told = await started.becomes(200)
        assert '"models": {"demo": "ready"}' in told
        assert '"platforms": {"here": true}' in told


async def test_it_is_not_ready_while_a_platform_is_away(bot: NewBot) -> None:
    away, failing = Platform(), Platform()
    away.connected, failing.fails = False, True
    async with bot({"away": away, "failing": failing}) as started:
        started.loaded.set()
        await failing.running.wait()
        async with asyncio.timeout(10):
            await started.app.host.engine()
        told = await started.becomes(503)
        assert "away is not connected." in told
        assert "failing is not connected." in told


async def test_metrics_are_told_with_what_is_logged(bot: NewBot) -> None:
    async with bot() as started:
        logging.getLogger("clawdbot.somewhere").error("something broke")
        status, told = await started.get("/metrics")
        assert status == 200
        assert 'clawdbot_errors_total{kind="",module="clawdbot.somewhere"} 1.0' in told
        assert 'clawdbot_queue_depth{model="demo"} 0.0' in told


async def test_on_loopback_another_name_is_refused_for_all_but_life(bot: NewBot) -> None:
    async with bot() as started:
        assert (await started.get("/metrics", Host="evil.example"))[0] == 403
        assert (await started.get("/healthz", Host="evil.example"))[0] == 200


async def test_with_a_token_it_is_asked_for_everywhere_but_for_life(bot: NewBot) -> None:
    async with bot(token=SecretStr(TOKEN)) as started:
        assert (await started.get("/healthz"))[0] == 200
        assert [(await started.get(path))[0] for path in ("/readyz", "/metrics")] == [401, 401]
        assert (await started.get("/metrics", Authorization=f"Bearer {TOKEN}"))[0] == 200


async def test_a_port_that_is_taken_is_named(bot: NewBot) -> None:
    async with bot() as started:
        port = int(started.address.rpartition(":")[2])
        watch = Watch(OpsSettings(port=port), SystemClock())
        with pytest.raises(ConfigError, match=rf"port = {port}: .*{os.strerror(errno.EADDRINUSE)}.*another port"):
            async with watch.open(started.app, {}):
                pass
