"""An engine that consists of vLLM servers elsewhere."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from clawdbot.clock import Clock, first_of
from clawdbot.engine.protocol import Chunk, EngineInfo, Finish, Request, Tokenizer, Usage
from clawdbot.engine.remote import calls
from clawdbot.engine.remote.calls import Call
from clawdbot.engine.remote.deltas import Delta, Spent
from clawdbot.engine.remote.faults import Blame, Fault
from clawdbot.engine.remote.pool import Pool
from clawdbot.engine.remote.refusals import refusal
from clawdbot.engine.remote.server import Server
from clawdbot.errors import EngineDead, GenerationFailed, PromptTooLong

log = logging.getLogger(__name__)


class RemoteEngine:
    """An `Engine` on the servers of a `Pool`; made by `open_remote`.

    It is dead, for good, when a check has found none of them: whoever opens the next one waits until one is back.
    """

    def __init__(
        self,
        servers: Sequence[Server],
        pool: Pool,
        model: str,
        *,
        tokenizer: Tokenizer,
        info: EngineInfo,
        clock: Clock,
        interval: float,
    ) -> None:
        """``interval``: seconds between two checks of each server. Takes the ``servers`` over."""
        self._servers = servers
        self._pool = pool
        self._model = model
        self._tokenizer = tokenizer
        self._info = info
        self._clock = clock
        self._interval = interval
        self._suspected = asyncio.Event()
        """There is a server to be looked at before its time."""
        self._changed = asyncio.Event()
        """A server came or went."""
        self._dead = asyncio.Event()
        self._closing = False

    @property
    def info(self) -> EngineInfo:
        """What is known of the servers."""
        return self._info

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer, in this process."""
        return self._tokenizer

    async def generate(self, request: Request) -> AsyncGenerator[Chunk, None]:
        """See `Engine.generate`. Before the first token a failure is another server's chance, after it the end."""
        room = self._info.context - len(request.prompt)
        if room < 1:
            raise PromptTooLong(len(request.prompt), self._info.context - 1)
        call = await self._call(request, min(request.sampling.max_tokens, room))
        tried: list[int] = []
        while True:
            number = await self._choose(request.conversation, tried)
            arriving = Arriving(self._clock, len(request.prompt))
            try:
                async with self._occupied(number):
                    async with aclosing(self._servers[number].stream(call)) as deltas:
                        async for delta in deltas:
                            if (chunk := arriving.take(delta)) is not None:
                                yield chunk
                    yield arriving.close()
            except Fault as fault:
                self._note(number, fault)
                tried.append(number)
                # Once more than there are: a connection may have been closed just when it was used again.
                if arriving.begun or fault.blame is Blame.REQUEST or len(tried) > len(self._servers):
                    if request.images and not arriving.begun and fault.refuses:
                        raise refusal(str(fault)) from fault
                    raise GenerationFailed(f"{self._servers[number].url} did not finish an answer: {fault}") from fault
            else:
                return

    async def _call(self, request: Request, most: int) -> Call:
        """What every server that is tried is sent."""
        if not request.images:
            return calls.written(self._model, request, most)
        turns = await self._tokenizer.disarmed(request.turns)
        return await asyncio.to_thread(calls.shown, self._model, request, turns, most, self._tokenizer.opening)

    async def died(self) -> None:
        """Return when no server is left."""
        await self._dead.wait()

    async def watch(self) -> None:
        """Look after the servers until cancelled: all of them at every interval, whoever has failed at once."""
        while not self._dead.is_set():
            self._suspected.clear()
            suspects = self._pool.suspects
            await asyncio.gather(*(self._check(number) for number in suspects or range(len(self._servers))))
            if not self._pool.suspects:
                await first_of(self._clock.sleep(self._interval), self._suspected.wait())

    async def close(self) -> None:
        """Close the connections that nobody uses; an answer that is still being written keeps its own until its end.

        Whoever waits for a server to come back is told that this engine is dead, since nobody looks for one any more.
        """
        self._closing = True
        self._dead.set()
        self._changed.set()
        if not self._pool.running:
            await self._disconnect()

    async def _disconnect(self) -> None:
        await asyncio.gather(*(server.close() for server in self._servers))

    async def _choose(self, conversation: str, tried: Sequence[int]) -> int:
        """A server, best of all one that was not ``tried`` yet. Raises `EngineDead` when there is none."""
        while not self._dead.is_set():
            number = self._pool.choose(conversation, avoid=tried)
            if number is None and not self._pool.suspects:
                number = self._pool.choose(conversation)
            if number is not None:
                return number
            self._changed.clear()
            await self._changed.wait()
        raise EngineDead("None of the engine's servers can be reached.")

    @asynccontextmanager
    async def _occupied(self, number: int) -> AsyncIterator[None]:
        self._pool.begin(number)
        try:
            yield
        finally:
            self._pool.end(number)
            if self._closing and not self._pool.running:
                await self._disconnect()

    def _note(self, number: int, fault: Fault) -> None:
        """A request has failed."""
        log.warning("%s: %s", self._servers[number].url, fault)
        if fault.blame is Blame.SERVER:
            self._pool.failed(number)
            self._suspected.set()

    async def _check(self, number: int) -> None:
        server, reason = self._servers[number], ""
        try:
            await server.check(self._model)
        except Fault as fault:
            reason = str(fault)
        if self._pool.checked(number, not reason):
            log.log(logging.WARNING if reason else logging.INFO, "%s: %s", server.url, reason or "it is there")
            if self._pool.lost:
                self._dead.set()
            self._changed.set()


@dataclass(slots=True)
class Arriving:
    """What is known of an answer while it comes. Times are seconds of `Clock.now`."""

    clock: Clock
    prompt_tokens: int
    first: float | None = None
    """When its first token was here."""
    last: float = 0.0
    written: int = 0
    finish: Finish | None = None
    spent: Spent | None = None

    @property
    def begun(self) -> bool:
        """Whether there is a token: from then on nobody else can give this answer."""
        return self.first is not None

    def take(self, delta: Delta) -> Chunk | None:
        """Count what came; what of it is to be told, if anything."""
        self.finish, self.spent = delta.finish or self.finish, delta.spent or self.spent
        tokens = list(delta.tokens)
        if tokens:
            self.last = self.clock.now()
            self.first = self.last if self.first is None else self.first
            self.written += len(tokens)
        if delta.finish == "stop" and tokens:
            tokens.pop()  # the end-of-turn token: the chat template writes its own
        return Chunk(delta.text, tokens) if delta.text or tokens else None

    def close(self) -> Chunk:
        """The last chunk. Raises `Fault` when the answer broke off."""
        if self.finish is None or self.first is None:
            raise Fault("the stream ended before the answer did")
        spent = self.spent or Spent(self.prompt_tokens, self.written, None, None, None)
        scheduled = None if spent.prefill is None else self.first - spent.prefill
        queued = None if scheduled is None or spent.queue is None else scheduled - spent.queue
        usage = Usage(
            queued=queued,
            scheduled=scheduled,
            first_token=self.first,
            last_token=self.last,
            prompt_tokens=spent.prompt_tokens,
            cached_tokens=spent.cached_tokens,
            output_tokens=spent.output_tokens,
        )
        return Chunk("", [], self.finish, usage)
