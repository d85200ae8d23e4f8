"""The engines of one model, one after the other, as a test wants them to start, fail and answer."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from clawdbot.clock import Clock
from clawdbot.engine.protocol import Request
from clawdbot.errors import ClawdBotError
from clawdbot.testing.engine import INFO, CharacterTokenizer, Script, ScriptedEngine


class ScriptedEngines:
    """Whatever is opened of one model."""

    def __init__(self, script: Callable[[Request], Script], clock: Clock) -> None:
        """``script`` makes the answers."""
        self.script = script
        self._time = clock
        self.engines: list[ScriptedEngine] = []
        """Those that were started, the running one last."""
        self.loaded = asyncio.Event()
        """Whether engines start at once; clear it to let one load for long."""
        self.loaded.set()
        self.trouble: ClawdBotError | None = None
        """What starting one fails with; None when it works."""
        self.engines_sleep = False
        """Whether engines that are started can sleep; those that cannot are closed instead."""
        self.engines_think = False
        """Whether the chat template of engines that are started opens a thought."""
        self.tokenizer: CharacterTokenizer | None = None
        """That of engines that are started; None is the usual one."""
        self.info = INFO
        """What the engines to be started say of themselves."""

    @property
    def engine(self) -> ScriptedEngine:
        """The engine that was started last."""
        return self.engines[-1]

    @property
    def requests(self) -> list[Request]:
        """All that any engine was asked."""
        return [request for engine in self.engines for request in engine.requests]

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[ScriptedEngine]:
        """What an `EngineHost` opens."""
        await self.loaded.wait()
        if self.trouble is not None:
            raise self.trouble
        tokenizer = self.tokenizer or CharacterTokenizer(thinks=self.engines_think)
        engine = ScriptedEngine(self.script, self._time, self.info, can_sleep=self.engines_sleep, tokenizer=tokenizer)
        self.engines.append(engine)
        yield engine
