"""A whole bot in virtual time whose model says again what it was asked, with its tokenizer overheard."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from clawdbot.app import App, open_app, serve
from clawdbot.chat import Event
from clawdbot.clock import Clock
from clawdbot.engine.protocol import Chunk, EngineInfo, Opening, Request, Role, Said, Usage
from clawdbot.errors import PromptTooLong
from clawdbot.settings.config import Allowed, AnswerSettings, Persona, Quota, SessionSettings, Settings, StoreSettings
from clawdbot.testing.engine import INFO
from clawdbot.testing.memory import MemoryReply
from clawdbot.testing.rig import MemoryPlatform
from clawdbot.testing.virtual_time import Player, VirtualClock, VirtualLoop

from .people import ADA, ADMIN, BOB
from .voices import Voice

GROUP, OPEN = -50, -60
"""Two groups: in the one those may talk who may anywhere, in the other everybody."""
CONTEXT = 32_768
PIECES = 4
"""An answer comes in so many."""
FIRST, GAP = 0.3, 0.6
"""Virtual seconds to the first of them, and between them."""


class Overheard:
    """A `Tokenizer` that notes each text of which a control token came."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self.leaks: list[str] = []

    @property
    def fingerprint(self) -> str:
        """See `Tokenizer.fingerprint`."""
        return self._voice.tokenizer.fingerprint

    @property
    def opening(self) -> Opening:
        """See `Tokenizer.opening`."""
        return self._voice.tokenizer.opening

    async def encode(self, text: str) -> list[int]:
        """See `Tokenizer.encode`."""
        tokens = await self._voice.tokenizer.encode(text)
        if self._voice.steered(tokens):
            self.leaks.append(text)
        return tokens

    async def pieces(self, roles: Sequence[Role], images: int = 0) -> list[list[int]]:
        """See `Tokenizer.pieces`."""
        return await self._voice.tokenizer.pieces(roles, images)

    async def disarmed(self, turns: Sequence[Said]) -> list[Said]:
        """See `Tokenizer.disarmed`."""
        return await self._voice.tokenizer.disarmed(turns)


class Echo:
    """An engine that answers with the question, so that whatever is said is drawn and split, too."""

    def __init__(self, voice: Voice, clock: Clock) -> None:
        self.tokenizer = Overheard(voice)
        self.prompts: list[list[int]] = []
        """All that it was given to read."""
        self._voice = voice
        self._clock = clock

    @property
    def info(self) -> EngineInfo:
        """See `Engine.info`."""
        return replace(INFO, context=CONTEXT)

    async def died(self) -> None:
        """See `OpenedEngine.died`."""
        await asyncio.Event().wait()

    async def generate(self, request: Request) -> AsyncGenerator[Chunk, None]:
        """See `Engine.generate`."""
        if len(request.prompt) >= CONTEXT:
            raise PromptTooLong(len(request.prompt), CONTEXT - 1)
        self.prompts.append(request.prompt)
        asked, count = self._clock.now(), 0
        await self._clock.sleep(FIRST)
        text = await self._voice.asked(request.prompt)
        size = max(1, -(-len(text) // PIECES))
        for start in range(0, len(text), size):
            piece = text[start : start + size]
            tokens = await self._voice.tokenizer.encode(piece)
            count += len(tokens)
            yield Chunk(piece, tokens)
            await self._clock.sleep(GAP)
        now = self._clock.now()
        yield Chunk("", [], "stop", Usage(asked, asked, asked + FIRST, now, len(request.prompt), 0, count))


class Stage:
    """The bot at work, and the platform on which people talk to it."""

    def __init__(self, clock: VirtualClock, engine: Echo, platform: MemoryPlatform, settings: Settings) -> None:
        self.clock = clock
        self.engine = engine
        self.platform = platform
        self.database = settings.store.path
        self.app: App | None = None
        self._settings = settings
        self._life: asyncio.Task[None] | None = None
        self._told: list[tuple[Event, MemoryReply, asyncio.Future[None]]] = []
        """What was delivered since the last rest, and whether the bot has taken it in."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop), "virtual time needs its own loop"
        self._player = Player(clock, loop, self._flush)

    async def start(self) -> None:
        """Start the bot, on the database of its last life if there was one; returns when it listens."""
        self._life = life = asyncio.create_task(self._live())
        online = asyncio.create_task(self.platform.online.wait())
        await asyncio.wait((life, online), return_when=asyncio.FIRST_COMPLETED)
        online.cancel()
        if life.done():
            life.result()

    def tell(self, event: Event, reply: MemoryReply) -> None:
        """Deliver an event."""
        self._told.append((event, reply, asyncio.ensure_future(self.platform.tell(event, reply))))

    async def crash(self) -> None:
        """Kill the bot and start it again; what it had not confirmed is delivered again, as platforms do."""
        await self.kill()
        left = [(event, reply) for event, reply, taken in self._told if not _is_confirmed(taken)]
        self._told.clear()
        await self.start()
        for event, reply in left:
            self.tell(event, reply)

    async def kill(self) -> None:
        """End it at this moment."""
        assert self._life is not None, "it does not run"
        self._life.cancel()
        await asyncio.wait((self._life,))

    async def rest(self) -> None:
        """Let as much time pass as it takes until the bot has nothing to do."""
        assert self.app is not None
        await self._player.play(self.app.sessions.idle())
        self._told.clear()

    async def wait(self, seconds: float) -> None:
        """Let so much time pass."""
        await self._player.play(self.clock.sleep(seconds))

    async def _live(self) -> None:
        @asynccontextmanager
        async def opened() -> AsyncIterator[Echo]:
            yield self.engine

        async with open_app(self._settings, opened, self.clock, lambda fact: None) as app:
            self.app = app
            try:
                await serve(app, {"memory": self.platform}, self.clock, asyncio.Event(), 0.0)
            finally:
                self.app = None

    async def _flush(self) -> None:
        if self.app is not None:
            store = self.app.store
            await asyncio.gather(store.history("nobody's", ""), store.first_refusal("nobody's", 0))
        await self.engine.tokenizer.encode("")
        await asyncio.to_thread(int)


def _is_confirmed(taken: asyncio.Future[None]) -> bool:
    return taken.done() and not taken.cancelled() and taken.exception() is None


@asynccontextmanager
async def staged(folder: Path, voice: Voice, sessions: SessionSettings, quota: Quota) -> AsyncIterator[Stage]:
    """A bot with its database in ``folder``; leaving the block ends it. Needs a `VirtualLoop`."""
    # One thread for all that is done elsewhere: so it can be told when all of it is done.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    clock = VirtualClock()
    engine, platform = Echo(voice, clock), MemoryPlatform(clock)
    settings = Settings(
        answers=AnswerSettings(system_prompt=""),
        sessions=sessions,
        quota=quota,
        personas={"tutor": Persona(system_prompt="Teach.")},
        access={
            "memory": Allowed(users=frozenset({ADA, BOB}), admins=frozenset({ADMIN}), chats=frozenset({OPEN})),
        },
        store=StoreSettings(path=folder / "clawdbot.sqlite3"),
    )
    stage = Stage(clock, engine, platform, settings)
    await stage.start()
    try:
        yield stage
    finally:
        await stage.kill()
        voice.close()
