"""An engine that writes what a script says, at the pace that it says."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import ceil

from clawdbot.clock import Clock
from clawdbot.engine.protocol import Chunk, EngineInfo, Opening, Request, Role, Said, Usage
from clawdbot.errors import EngineDead, GenerationFailed, PromptTooLong

INFO = EngineInfo(
    model="scripted",
    device="none",
    version="script 1",
    context=8192,
    chunked_prefill=True,
    step_budget=2048,
    long_prefill=1024,
    cache_tokens=65_536,
    cache_block=128,
)

CHARACTERS = "characters"
"""The fingerprint of `CharacterTokenizer`."""
IMAGE_TOKENS = 500
"""What a picture takes of the context besides its mark."""
TEXTLESS = 0
"""The token that makes no text, as half a character does."""


@dataclass(frozen=True, slots=True)
class Script:
    """One answer: its tokens and when they come."""

    tokens: Sequence[str]
    """An empty one makes no text; it is `TEXTLESS`."""
    first: float = 0.0
    """Seconds to the first token."""
    gap: float = 0.0
    """Seconds between tokens."""
    fails: bool = False
    """Whether it ends in `GenerationFailed` after the last token."""


class CharacterTokenizer:
    """One token for each character; special tokens are negative.

    ``thinks``: whether its template opens a thought for every answer, as those of some models do.
    """

    def __init__(self, *, thinks: bool = False) -> None:
        tag = "<think>\n" if thinks else ""
        self._opening = Opening(tag, [ord(character) for character in tag])

    @property
    def fingerprint(self) -> str:
        """See `Tokenizer.fingerprint`."""
        return CHARACTERS

    @property
    def opening(self) -> Opening:
        """See `Tokenizer.opening`."""
        return self._opening

    async def encode(self, text: str) -> list[int]:
        """See `Tokenizer.encode`."""
        return [ord(character) for character in text]

    async def pieces(self, roles: Sequence[Role], images: int = 0) -> list[list[int]]:
        """See `Tokenizer.pieces`: -1 opens a turn, followed by -2, -3 or -4 for its role; -5 closes it.

        -6 is an image.
        """
        role_token = {"system": -2, "user": -3, "assistant": -4}
        opened = [[-1, role_token[role]] for role in roles] + [[-1, role_token["assistant"]]]
        opened[len(roles) - 1] += [-6] * images
        return [opening if number == 0 else [-5, *opening] for number, opening in enumerate(opened)]

    async def disarmed(self, turns: Sequence[Said]) -> list[Said]:
        """See `Tokenizer.disarmed`: no character is a special token."""
        return list(turns)


class ScriptedEngine:
    """An `Engine` without a model: ``script`` makes the answer from the request.

    ``requests`` are those that it was asked; ``running`` and ``aborted`` hold ids. `die` is what happens when the core
    process is killed. ``step``: seconds of one step, at whose end all come that are due, those of one answer together,
    as vLLM's do; 0 lets each token come alone at its own time. With ``can_sleep`` it is a `Sleeper`, and ``naps``
    counts how often it slept.
    """

    def __init__(
        self,
        script: Callable[[Request], Script],
        clock: Clock,
        info: EngineInfo = INFO,
        *,
        step: float = 0.0,
        can_sleep: bool = False,
        tokenizer: CharacterTokenizer | None = None,
    ) -> None:
        self._script = script
        self._clock = clock
        self._info = info
        self._step = step
        self._steps: dict[int, asyncio.Event] = {}
        """The ends of the steps that somebody waits for, by their numbers."""
        self._tokenizer = tokenizer or CharacterTokenizer()
        self._dead = asyncio.Event()
        self.can_sleep = can_sleep
        self.asleep = False
        self.naps = 0
        self._waiting: set[asyncio.Task[object]] = set()
        """Whoever waits for the next token of an answer."""
        self.requests: list[Request] = []
        self.asked_at: dict[str, float] = {}
        """When each request came, seconds of `Clock.now`, by id."""
        self.running: set[str] = set()
        self.aborted: set[str] = set()

    @property
    def info(self) -> EngineInfo:
        """See `Engine.info`."""
        return self._info

    @property
    def tokenizer(self) -> CharacterTokenizer:
        """See `Engine.tokenizer`."""
        return self._tokenizer

    def die(self) -> None:
        """End all that runs with `EngineDead`."""
        self._dead.set()
        for task in self._waiting:
            task.cancel()

    async def died(self) -> None:
        """See `OpenedEngine.died`."""
        await self._dead.wait()

    async def sleep(self) -> None:
        """See `Sleeper.sleep`."""
        assert not self.running, "it is at work"
        if self._dead.is_set():
            raise EngineDead("The scripted engine is dead.")
        self.asleep = True
        self.naps += 1

    async def wake(self) -> None:
        """See `Sleeper.wake`."""
        if self._dead.is_set():
            raise EngineDead("The scripted engine died in its sleep.")
        self.asleep = False

    async def generate(self, request: Request) -> AsyncGenerator[Chunk, None]:
        """See `Engine.generate`."""
        tokens = len(request.prompt) + IMAGE_TOKENS * len(request.images)
        if tokens >= self._info.context:
            raise PromptTooLong(tokens, self._info.context - 1)
        assert not self.asleep, "vLLM would let the request wait for ever"
        asked = self._clock.now()
        self.requests.append(request)
        self.asked_at[request.id] = asked
        self.running.add(request.id)
        finished = False
        try:
            async for chunk in self._write(request, asked):
                finished = chunk.finish is not None
                yield chunk
        finally:
            self.running.discard(request.id)
            if not finished:
                self.aborted.add(request.id)

    async def _write(self, request: Request, asked: float) -> AsyncGenerator[Chunk, None]:
        script = self._script(request)
        first = asked + script.first
        held: list[str] = []
        for number, token in enumerate(script.tokens):
            if not held:
                # Counted from the start, so that late wake-ups do not add up.
                await self._until(first + number * script.gap)
            held.append(token)
            if not (self._step and self._clock.now() >= first + (number + 1) * script.gap):
                yield _chunk(held)
                held = []
        if held:
            yield _chunk(held)
        if script.fails:
            raise GenerationFailed("The script says so.")
        # Stamps lie where the script puts them: they are the engine's, not the reader's.
        last = first + max(0, len(script.tokens) - 1) * script.gap
        read = len(request.prompt) + IMAGE_TOKENS * len(request.images)
        usage = Usage(asked, asked, first, last, read, 0, len(script.tokens))
        yield Chunk("", [], "stop", usage)

    async def _until(self, when: float) -> None:
        """Sleep until then, at a price that thousands of tokens a second can pay: no task for each."""
        task = asyncio.current_task()
        assert task is not None
        self._waiting.add(task)
        try:
            if not self._dead.is_set():
                await (self._end_of_step(when) if self._step else self._clock.sleep(when - self._clock.now()))
        except asyncio.CancelledError:
            # As with asyncio.timeout: what `die` cancelled goes on with an error, what others cancelled is cancelled.
            if not self._dead.is_set() or task.uncancel() > 0:
                raise
        finally:
            self._waiting.discard(task)
        if self._dead.is_set():
            raise EngineDead("The scripted engine was told to die.")

    async def _end_of_step(self, when: float) -> None:
        """Wait for the first end of a step at ``when`` or later, with one alarm for all who do."""
        number = ceil(when / self._step)
        if number not in self._steps:
            self._steps[number] = asyncio.Event()
            self._clock.alarm(number * self._step - self._clock.now(), lambda: self._steps.pop(number).set())
        await self._steps[number].wait()


def _chunk(tokens: Sequence[str]) -> Chunk:
    ids = [piece for token in tokens for piece in ([ord(character) for character in token] or [TEXTLESS])]
    return Chunk("".join(tokens), ids)


@asynccontextmanager
async def opened(engine: ScriptedEngine) -> AsyncIterator[ScriptedEngine]:
    """What an `EngineHost` opens when the engine is there already."""
    yield engine
