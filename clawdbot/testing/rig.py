"""A whole bot for tests: store, sessions and delivery are real; people, platform, model and time are scripted."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from math import inf
from mimetypes import guess_type
from pathlib import Path
from typing import TypeVar

from clawdbot.app import App, open_app, serve
from clawdbot.attached import Attachment
from clawdbot.chat import Conversation, Deleted, Event, Frame, Limits, Message, Person, Pressed, Quoted, Receive
from clawdbot.clock import Clock
from clawdbot.engine.protocol import Request, Role
from clawdbot.engine.settings import EngineSettings
from clawdbot.latency.observed import Fact
from clawdbot.latency.timing import Timing
from clawdbot.menu import Suggest, nothing
from clawdbot.settings.config import Allowed, AnswerSettings, Quota, SessionSettings, Settings, StoreSettings
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.engine import Script
from clawdbot.testing.engines import ScriptedEngines
from clawdbot.testing.memory import MemoryPost, MemoryReply, limits

T = TypeVar("T")

ADA, BOB, EVE, ADMIN = Person(1, "Ada"), Person(2, "Bob"), Person(3, "Eve"), Person(9, "the admin")
"""Ada and Bob may talk to the bot, Eve may not."""

# Steps of the longest chain of database, engine and platform that one event sets off, with some to spare.
CHAIN = 12
# How often `until` looks again before it gives up.
ROUNDS = 400

DAY = 86_400.0


def turns(prompt: Sequence[int]) -> list[tuple[Role, str]]:
    """What a prompt of `CharacterTokenizer` says, turn by turn; the last one is still empty."""
    roles: dict[int, Role] = {-2: "system", -3: "user", -4: "assistant"}
    said: list[tuple[Role, str]] = []
    for token in prompt:
        if token in roles:
            said.append((roles[token], ""))
        elif token >= 0:
            role, text = said[-1]
            said[-1] = (role, text + chr(token))
    return said


def question(prompt: Sequence[int]) -> str:
    """The question that a prompt of `CharacterTokenizer` asks; what it ends with if it is only read ahead."""
    *before, (role, text) = turns(prompt)
    return before[-1][1] if role == "assistant" else text


def echo(request: Request) -> Script:
    """The script of a model that repeats the question, at once."""
    return Script(["You said: ", question(request.prompt)])


def slow(request: Request) -> Script:
    """The script of a model that needs a second for its first word and for every other one."""
    return Script(["One ", "two ", "three ", "four."], first=1.0, gap=1.0)


def silent(request: Request) -> Script:
    """The script of a model that reads its prompt for ever."""
    return Script(["?"], first=inf)


def attachment(name: str, data: bytes) -> Attachment:
    """A file as a platform announces it."""
    return Attachment(name, guess_type(name)[0] or "", len(data), name)


class PlatformPost(MemoryPost):
    """A message whose ref no other message of the platform has."""

    @property
    def ref(self) -> str:
        return f"{self._reply.ref}:{self._part}"


class PlatformReply(MemoryReply):
    """A reply among others on its platform."""

    async def send(self, frame: Frame, key: str) -> PlatformPost:
        return PlatformPost(self, await self.show("send", len(self.screen.frames), frame, key))

    def post(self, ref: str) -> PlatformPost:
        return PlatformPost(self, int(ref.rpartition(":")[2]))


class MemoryPlatform:
    """A platform whose people talk to the bot; each of their messages gets a `Reply` of its own.

    It outlives the bots that serve it, and is their `Adapter`.
    """

    def __init__(self, clock: Clock) -> None:
        self.replies: dict[str, PlatformReply] = {}
        """What stands below each message, by its id."""
        self.contents: dict[str, bytes] = {}
        """What was attached, by its name."""
        self.online = asyncio.Event()
        """Whether a bot listens."""
        self._clock = clock
        self._receive: Receive | None = None
        self.suggest: Suggest = nothing
        """What the bot offers while an argument is typed."""

    async def run(self, receive: Receive) -> None:
        self._receive = receive
        self.online.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.online.clear()
            self._receive = None

    def suggest_by(self, suggest: Suggest) -> None:
        """See `clawdbot.abilities.Suggests`."""
        self.suggest = suggest

    def reply(self, ref: str) -> PlatformReply:
        if ref not in self.replies:
            raise ValueError(f"There is no reply {ref!r}.")
        return self.replies[ref]

    def say(
        self,
        text: str,
        by: Person = ADA,
        *,
        chat: int = 1,
        private: bool = True,
        id: str = "",
        age: float | None = None,
        allowed: Limits | None = None,
        remembers: bool = True,
        files: Mapping[str, bytes] | None = None,
        beside: tuple[str, ...] = (),
        album: str = "",
        quoted: Quoted | None = None,
    ) -> PlatformReply:
        """Somebody says ``text``; what the bot does about it shows in the reply. The same ``id`` is the same message.

        ``age``: seconds since it was posted, None when the platform does not say. ``remembers`` is about the reply.
        ``files``: what is attached, by name; the platform tells its type by how the name ends.
        """
        id = id or f"m{len(self.replies) + 1}"
        here = allowed or limits(name=f"chat {chat}")
        reply = self.replies.setdefault(id, PlatformReply(self._clock, here, ref=id, remembers=remembers))
        where = Conversation("memory", chat, private=private)
        sent_at = None if age is None else self._clock.wall() - age
        attached = tuple(attachment(name, data) for name, data in (files or {}).items())
        reply.contents = self.contents
        self.contents.update(files or {})
        self.tell(Message(id, where, by, text, self._clock.now(), sent_at, quoted, attached, beside, album), reply)
        return reply

    def press(self, control: str, answer: PlatformReply, by: Person = ADA, *, chat: int = 1) -> None:
        """Somebody uses a control below the last message of an answer."""
        post = answer.post(str(len(answer.screen.frames) - 1))
        self.tell(Pressed(Conversation("memory", chat), by, control, post.ref), answer)

    def delete(self, question: PlatformReply, *, chat: int = 1) -> None:
        """Somebody removes the message that is answered there."""
        self.tell(Deleted(Conversation("memory", chat), question.ref), question)

    def tell(self, event: Event, reply: MemoryReply) -> Awaitable[None]:
        """Hand over an event of any kind; what comes back is done when the bot has taken it in."""
        assert self._receive is not None, "nobody serves this platform"
        return self._receive(event, reply)


class Rig(ScriptedEngines):
    """A bot with all that it needs, and the engines of its default model.

    `running` may be entered again: that is a restart on the same database.
    """

    def __init__(
        self,
        folder: Path,
        script: Callable[[Request], Script] = echo,
        *,
        clock: ManualClock,
        sessions: SessionSettings | None = None,
        answers: AnswerSettings | None = None,
        quota: Quota | None = None,
        engine: EngineSettings | None = None,
    ) -> None:
        """``script`` makes the answers; the database lies in ``folder``."""
        super().__init__(script, clock)
        self.clock = clock
        self.platform = MemoryPlatform(clock)
        self.others: dict[str, ScriptedEngines] = {}
        """Those of its further models, by what people call them."""
        self.facts: list[Fact] = []
        """What the core told whoever watches it."""
        self.timings: list[Timing] = []
        """Those of them that are answers."""
        self.database = folder / "clawdbot.sqlite3"
        self.settings = Settings(
            engine=engine or EngineSettings(),
            answers=answers or AnswerSettings(system_prompt=""),
            sessions=sessions or SessionSettings(),
            access={"memory": Allowed(users=frozenset({ADA.id, BOB.id}), admins=frozenset({ADMIN.id}))},
            quota=quota or Quota(),
            store=StoreSettings(path=self.database),
        )
        """Those of the next run."""
        self._app: App | None = None
        self._life: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    @property
    def app(self) -> App:
        """The parts of the bot that runs."""
        assert self._app is not None, "it does not run"
        return self._app

    @property
    def screens(self) -> dict[str, list[str]]:
        """The texts that stand below each message, by its id."""
        return {id: reply.screen.texts for id, reply in self.platform.replies.items()}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        """The bot at work, as a task. Leaving the block without `stop` is a crash."""
        self._stop.clear()
        self._life = life = asyncio.create_task(self._live())
        online = asyncio.create_task(self.platform.online.wait())
        try:
            await asyncio.wait((life, online), return_when=asyncio.FIRST_COMPLETED)
            yield life
        finally:
            online.cancel()
            life.cancel()
            await self.play(asyncio.wait((life,)))

    async def stop(self) -> None:
        """Tell the bot to end, and let as much time pass as it takes. Raises what it fails with."""
        assert self._life is not None, "it does not run"
        self._stop.set()
        await self.play(self._life)

    @contextmanager
    def refusing(self, writes: str) -> Iterator[None]:
        """Let the database refuse some writes, such as "INSERT ON event", as if the disk were full."""
        self.execute(f"CREATE TRIGGER fault BEFORE {writes} BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
        yield
        self.execute("DROP TRIGGER fault")

    def execute(self, sql: str) -> None:
        """Change the database from outside."""
        with closing(sqlite3.connect(self.database, isolation_level=None)) as other:
            other.execute(sql)

    async def settle(self) -> None:
        """Let happen what needs no time to pass; whatever the database was asked before is done."""
        await self.clock.settle()
        if self._app is not None:
            # Each connection works on one thing after the other, so these come last.
            await self._app.store.history("nobody's", "")
        if self._app is not None:
            await self._app.store.reset("nobody's")

    async def until(self, condition: Callable[[], bool]) -> None:
        """Let happen what needs no time to pass until ``condition`` holds."""
        for _ in range(ROUNDS):
            if condition():
                return
            await self.settle()
        raise AssertionError(f"It needs more than that; on the screens: {self.screens}")

    async def rest(self) -> None:
        """Let happen whatever needs no time to pass."""
        for _ in range(CHAIN):
            await self.settle()

    async def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass, with a rest whenever somebody wakes."""
        await self.rest()
        end = self.clock.now() + seconds
        while (now := self.clock.now()) < end:
            await self.clock.advance(min(self.clock.wakes_at, end) - now)
            await self.rest()

    async def idle(self) -> None:
        """Let as much time pass as it takes until the bot has nothing to do."""
        await self.play(self.app.sessions.idle())

    async def play(self, work: Awaitable[T]) -> T:
        """Let as much time pass as ``work`` takes, a day at most."""
        task = asyncio.ensure_future(work)
        end = self.clock.now() + DAY
        await self.rest()
        while not task.done():
            async with asyncio.timeout(10):
                while not task.done() and self.clock.wakes_at >= end:
                    await self.rest()  # what goes on may be longer than a rest, and wait for the clock only then
            if not task.done():
                await self.advance(self.clock.wakes_at - self.clock.now())
        return await task

    async def _live(self) -> None:
        others = {name: engines.opened for name, engines in self.others.items()}
        async with open_app(self.settings, self.opened, self.clock, self._observe, others) as app:
            self._app = app
            try:
                adapters = {"memory": self.platform}
                await serve(app, adapters, self.clock, self._stop, self.settings.sessions.drain)
            finally:
                self._app = None

    def _observe(self, fact: Fact) -> None:
        self.facts.append(fact)
        if isinstance(fact, Timing):
            self.timings.append(fact)
