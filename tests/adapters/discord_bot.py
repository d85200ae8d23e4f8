"""A whole bot on a simulated Discord: everything is real but the model, the platform and its people."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from clawdbot.app import App, open_app, serve
from clawdbot.chat import Adapter
from clawdbot.clock import Clock, SystemClock
from clawdbot.engine.protocol import Request
from clawdbot.settings.config import Allowed, AnswerSettings, Settings, StoreSettings
from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.engine import Script, ScriptedEngine
from clawdbot.testing.engines import ScriptedEngines
from clawdbot.testing.rig import echo
from clawdbot_discord import DiscordAdapter, DiscordSettings


def settings_for(sim: SimDiscord, **others: object) -> DiscordSettings:
    """Settings that lead to ``sim`` and make no call that nobody asked for."""
    given = {"api_url": sim.rest_url, "gateway_url": sim.gateway_url, "identify_delay": 0.0, "keep_warm": 0.0}
    return DiscordSettings.model_validate({"token": sim.token, **given, **others})


class DiscordBot:
    """A bot that may run more than once: that is a restart on the same database."""

    def __init__(
        self,
        sim: SimDiscord,
        folder: Path,
        script: Callable[[Request], Script] = echo,
        *,
        beside: Mapping[str, Adapter] | None = None,
        **adapter_settings: object,
    ) -> None:
        """``script`` makes the answers, and may be changed meanwhile; ``beside`` are further platforms."""
        self.sim = sim
        self.script = script
        self.clock: Clock = SystemClock()
        self.engines: list[ScriptedEngine] = []
        self.others: dict[str, ScriptedEngines] = {}
        """Those of further models, by what people call them; `settings` have to name these."""
        self._beside = dict(beside or {})
        self._adapter_settings = adapter_settings
        self.settings = Settings(
            answers=AnswerSettings(system_prompt=""),
            access={
                "discord": Allowed(users=frozenset({sim.user.id}), guilds=frozenset({sim.world.guild})),
                **{name: Allowed(users=frozenset({1})) for name in self._beside},
            },
            store=StoreSettings(path=folder / "clawdbot.sqlite3"),
        )

    @property
    def requests(self) -> list[Request]:
        """All that the model was asked, in every run."""
        return [request for engine in self.engines for request in engine.requests]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[App]:
        """The bot at work; leaving the block is a crash."""
        started: asyncio.Future[App] = asyncio.get_running_loop().create_future()
        life = asyncio.create_task(self._live(started))
        try:
            await asyncio.wait((life, started), return_when=asyncio.FIRST_COMPLETED)
            if life.done():
                life.result()
            yield started.result()
        finally:
            life.cancel()
            await asyncio.wait((life,))

    async def _live(self, started: "asyncio.Future[App]") -> None:
        adapter = DiscordAdapter(settings_for(self.sim, **self._adapter_settings))
        others = {name: engines.opened for name, engines in self.others.items()}
        async with open_app(self.settings, self._open_engine, self.clock, lambda timing: None, others) as app:
            started.set_result(app)
            await serve(app, {"discord": adapter, **self._beside}, self.clock, asyncio.Event(), 0.0)

    @asynccontextmanager
    async def _open_engine(self) -> AsyncIterator[ScriptedEngine]:
        self.engines.append(ScriptedEngine(lambda request: self.script(request), self.clock))
        yield self.engines[-1]
