"""The lives of a bot in virtual time, from one kill to the next.

A kill is what the platform and the disk see of one: at some moment no call has an effect any more, and the next life
begins with the database as it was then.
"""

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from clawdbot.app import App, open_app, serve
from clawdbot.bench.chaos.line import Line
from clawdbot.bench.chaos.plan import Asked
from clawdbot.bench.chaos.platform import Platform
from clawdbot.bench.trace import asked
from clawdbot.engine.protocol import Request
from clawdbot.settings.config import Allowed, AnswerSettings, SessionSettings, Settings, StoreSettings
from clawdbot.testing.engine import Script, ScriptedEngine, opened
from clawdbot.testing.virtual_time import Player, VirtualClock, VirtualLoop

QUEUE = 10
"""Questions that may wait in one conversation: nobody is refused."""
CLEARED = 60.0
"""Real seconds in which a dead life has to be cleared away."""


class Lives:
    """The bot, from one kill to the next."""

    def __init__(
        self,
        platforms: Sequence[Platform],
        clock: VirtualClock,
        loop: VirtualLoop,
        questions: Mapping[int, Asked],
        folder: Path,
    ) -> None:
        self.player = Player(clock, loop, self._flush)
        self.kills = 0
        self._platforms = platforms
        self._clock = clock
        self._questions = questions
        self._folder = folder
        self._app: App | None = None
        self._lines: dict[str, Line] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the bot on the database of its last life; returns when it listens on every platform."""
        async with self.player.paused():
            self._lines = {platform.kind.flavour: Line(platform) for platform in self._platforms}
            self._task = task = asyncio.create_task(self._live())
            listening = asyncio.gather(*(line.online.wait() for line in self._lines.values()))
            await asyncio.wait((task, listening), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                listening.cancel()
                task.result()

    async def kill(self) -> None:
        """End the bot as a kill does: at once, with nothing said to anybody."""
        async with self.player.paused():
            before, self.kills = self._database, self.kills + 1
            with closing(sqlite3.connect(before)) as source, closing(sqlite3.connect(self._database)) as copy:
                source.backup(copy)
            for line in self._lines.values():
                line.cut()
            await self.end()
            before.unlink()

    async def end(self) -> None:
        """Clear away what is left of this life."""
        if self._task is not None:
            self._task.cancel()
            async with asyncio.timeout(CLEARED):
                await asyncio.wait({self._task})

    async def idle(self) -> None:
        """Return when the bot has nothing to do."""
        if self._app is not None:
            await self._app.sessions.idle()

    async def _flush(self) -> None:
        if self._app is not None:
            store = self._app.store
            await asyncio.gather(store.history("nobody's", ""), store.first_refusal("nobody's", 0))

    @property
    def _database(self) -> Path:
        return self._folder / f"life-{self.kills}.sqlite3"

    async def _live(self) -> None:
        engine = ScriptedEngine(self._script, self._clock)
        settings = self._settings()
        async with open_app(settings, lambda: opened(engine), self._clock, lambda timing: None) as app:
            self._app = app
            try:
                await serve(app, self._lines, self._clock, asyncio.Event(), settings.sessions.drain)
            finally:
                self._app = None

    def _script(self, request: Request) -> Script:
        return self._questions[asked(request.prompt)].script

    def _settings(self) -> Settings:
        everybody = frozenset(range(1, len(self._questions) + 1))
        return Settings(
            answers=AnswerSettings(system_prompt=""),
            sessions=SessionSettings(concurrent=256, waiting=1024, queue=QUEUE),
            access={platform.kind.flavour: Allowed(users=everybody) for platform in self._platforms},
            store=StoreSettings(path=self._database),
        )
