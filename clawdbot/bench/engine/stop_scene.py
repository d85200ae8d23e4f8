"""People who ask and stop, and an engine that is watched: what ``clawdbot bench stop`` measures with."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Literal

from clawdbot.answers.notices import key_of
from clawdbot.bench.measures import letters
from clawdbot.chat import Conversation, Message, Person, Pressed, State
from clawdbot.clock import Clock
from clawdbot.engine.host import OpenedEngine
from clawdbot.engine.protocol import Chunk, EngineInfo, Request, Tokenizer
from clawdbot.sessions.sessions import Sessions
from clawdbot.testing.memory import Seen
from clawdbot.testing.rig import MemoryPlatform
from clawdbot.words import STOPPED_MARK

Moment = Literal["queued", "reading", "writing"]
MOMENTS: tuple[Moment, ...] = ("queued", "reading", "writing")
"""In the bot's own line, its prompt being read by the engine, with words on their way."""

LOOK = 0.005
"""Seconds between two looks at what the bot does; no time that is measured depends on them."""
PATIENCE = 300.0
"""Seconds after which something that should happen will not."""
LATEST_WORD = 24
"""An answer is stopped after so many chunks at most."""
LONG = 0.4
"""A long prompt's part of the context."""
NUMBER_TOKENS = 5
"""About so many tokens has a number of four digits, with every tokenizer that is measured."""
PEOPLE = range(1, 10_000)


@dataclass(slots=True)
class Heard:
    """One request that the engine has got; times are seconds of `Clock.now`."""

    asked_at: float
    text: str = ""
    chunks: int = 0
    closed_at: float | None = None
    """When its generator was closed: vLLM has taken the request out and told its core to abort it."""


class Watched:
    """An engine that notes what is asked of it and when it is told to stop."""

    def __init__(self, engine: OpenedEngine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._heard: dict[str, Heard] = {}

    @property
    def info(self) -> EngineInfo:
        """See `Engine.info`."""
        return self._engine.info

    @property
    def tokenizer(self) -> Tokenizer:
        """See `Engine.tokenizer`."""
        return self._engine.tokenizer

    @property
    def writing(self) -> int:
        """How many answers are being written."""
        return sum(heard.chunks > 0 and heard.closed_at is None for heard in self._heard.values())

    def of(self, key: str) -> Heard | None:
        """What was heard of the answer that is called ``key``; None while the engine was not asked."""
        return next((heard for name, heard in self._heard.items() if name.startswith(f"{key}-")), None)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["Watched"]:
        """What an `EngineHost` opens."""
        yield self

    async def died(self) -> None:
        """See `OpenedEngine.died`."""
        await self._engine.died()

    async def generate(self, request: Request) -> AsyncGenerator[Chunk, None]:
        """See `Engine.generate`."""
        heard = self._heard[request.id] = Heard(self._clock.now())
        try:
            async with aclosing(self._engine.generate(request)) as chunks:
                async for chunk in chunks:
                    heard.text += chunk.text
                    heard.chunks += 1
                    yield chunk
        finally:
            heard.closed_at = self._clock.now()


class Question:
    """Something that somebody asks, in a private chat of their own."""

    def __init__(self, platform: MemoryPlatform, text: str, person: int) -> None:
        self._platform = platform
        self._by = Person(person, f"person {person}")
        self._place = Conversation("memory", person, private=True)
        self._reply = platform.say(text, self._by, chat=person)
        self.key = key_of(Message(self._reply.ref, self._place, self._by, text, 0.0))

    @property
    def looks(self) -> Sequence[Seen]:
        """All that was seen of the answer."""
        return self._reply.screen.history

    def is_over(self) -> bool:
        """Whether the answer's last form is on the screen."""
        return bool(self.looks) and self.looks[-1].state.lasting

    def press(self) -> "Question | None":
        """Stop the answer by its button, or else by a command, whose own answer comes back."""
        if not self.looks:
            return Question(self._platform, "/stop", self._by.id)
        post = self._reply.post(str(len(self._reply.screen.frames) - 1))
        self._platform.tell(Pressed(self._place, self._by, "stop", post.ref), self._reply)
        return None


@dataclass(frozen=True, slots=True)
class Stopped:
    """One stop; times in seconds."""

    moment: Moment
    seconds: float
    """From the press to the engine's abort; of one in line to its mark on the screen, for it never saw the engine."""
    after: int
    """Looks behind the press with text that was not written before it, and looks that change what is marked."""
    caught_up: bool
    """Whether the mark came with text that was written before the press and not shown yet."""


def judged(looks: Sequence[Seen], seen: int, written: str) -> tuple[int, bool]:
    """`Stopped.after` and `Stopped.caught_up` of an answer's looks.

    ``seen`` of them were there when the press was acknowledged, and the engine had ``written`` so much.
    """
    shown = [letters(look.text.removesuffix(STOPPED_MARK)) for look in looks if look.state is not State.WAITING]
    before = sum(look.state is not State.WAITING for look in looks[:seen])
    first_mark = next(number for number, look in enumerate(looks) if look.state is State.STOPPED)
    unwritten = sum(text not in letters(written) for text in shown[before:])
    changed = sum(look.text != looks[first_mark].text for look in looks[first_mark + 1 :])
    caught_up = shown[-1] != (shown[before - 1] if before else "")
    return unwritten + changed, caught_up


class Scene:
    """A bot under load, and whoever stops answers there."""

    def __init__(
        self, sessions: Sessions, platform: MemoryPlatform, watched: Watched, clock: Clock, random: Random
    ) -> None:
        self._sessions = sessions
        self._platform = platform
        self._watched = watched
        self._clock = clock
        self._random = random
        self._people = iter(PEOPLE)
        self._streaming: set[int] = set()
        """Whoever keeps the engine busy."""
        self._reading = 0.0
        """Seconds that a long prompt takes to be read under this load."""

    @asynccontextmanager
    async def streaming(self, chats: int) -> AsyncIterator[None]:
        """In so many chats an answer grows all the time, for the time of the block."""
        streams = [asyncio.create_task(self._stream(next(self._people))) for _ in range(chats)]
        try:
            await self._until(lambda: self._watched.writing >= chats)
            yield
        finally:
            for stream in streams:
                stream.cancel()
            await asyncio.gather(*streams, return_exceptions=True)
            self._streaming.clear()
            await self._rest()

    async def at_rest(self, used: Callable[[], int]) -> int:
        """Blocks in use when nothing is under way. The gauge follows the engine's steps, so it gets a last one."""
        question = self._ask("Hello")
        await self._until(question.is_over)
        await self._rest()
        return used()

    async def learn(self) -> None:
        """Find out how long a long prompt is read."""
        heard = await self._entered(self._ask_long())
        await self._until(lambda: heard.chunks > 0)
        self._reading = self._clock.now() - heard.asked_at
        await self._rest()

    async def stop(self, moment: Moment) -> Stopped:
        """Stop an answer. ``moment`` is when that is meant to be; what it was is in the result."""
        while True:
            stopped = await self._press(await self._ripe(moment))
            await self._rest()
            if stopped is not None:
                return stopped

    async def _ripe(self, moment: Moment) -> Question:
        """A question that can be stopped now, at a time that chance has chosen."""
        if moment == "writing":
            question = self._ask(f"Tell me a long story about the number {self._random.randint(1000, 9999)}.")
            heard, words = await self._entered(question), self._random.randint(1, LATEST_WORD)
            await self._until(lambda: heard.chunks >= words or heard.closed_at is not None)
            return question
        if moment == "queued":
            await self._entered(self._ask_long())  # one is read at a time: the next has to wait
        question = self._ask_long()
        if moment == "reading":
            await self._entered(question)
        await self._clock.sleep(self._random.uniform(0.0, 0.8) * self._reading)
        return question

    async def _press(self, question: Question) -> Stopped | None:
        """Stop the answer to ``question``; None when it was over before that."""
        heard = self._watched.of(question.key)
        moment: Moment = "queued" if heard is None else "writing" if heard.chunks else "reading"
        pressed_at = self._clock.now()
        command = question.press()
        if command is not None:
            await self._until(command.is_over)
        seen, written = len(question.looks), heard.text if heard else ""
        await self._until(question.is_over)
        if not any(look.state is State.STOPPED for look in question.looks):
            return None
        ended = next(look.at for look in question.looks if look.state is State.STOPPED)
        if heard is not None:
            assert heard.closed_at is not None, "its answer is over"
            ended = heard.closed_at
        return Stopped(moment, ended - pressed_at, *judged(question.looks, seen, written))

    async def _rest(self) -> None:
        """Let all be over that is asked beside the streams."""
        for ticket in self._sessions.tickets:
            if ticket.asker not in self._streaming:
                ticket.stop()
        await self._until(lambda: all(ticket.asker in self._streaming for ticket in self._sessions.tickets))

    async def _stream(self, person: int) -> None:
        self._streaming.add(person)
        for number in itertools.count():
            question = Question(self._platform, f"Write a long story, number {number} of {person}.", person)
            await self._until(question.is_over)

    def _ask(self, text: str) -> Question:
        return Question(self._platform, text, next(self._people))

    def _ask_long(self) -> Question:
        count = int(LONG * self._watched.info.context / NUMBER_TOKENS)
        numbers = self._random.choices(range(1000, 10_000), k=count)
        return self._ask(f"Which is the largest? {' '.join(map(str, numbers))}")

    async def _entered(self, question: Question) -> Heard:
        """What the engine has heard of ``question``, as soon as it has."""
        await self._until(lambda: self._watched.of(question.key) is not None)
        heard = self._watched.of(question.key)
        assert heard is not None
        return heard

    async def _until(self, condition: Callable[[], bool]) -> None:
        end = self._clock.now() + PATIENCE
        while not condition():
            if self._clock.now() > end:
                raise TimeoutError("The bot does not do what it should.")
            await self._clock.sleep(LOOK)
