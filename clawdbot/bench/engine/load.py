"""``clawdbot bench load``: mixed traffic on a real engine, the same arrivals under every policy.

Chats whose answers grow all the time, long prompts and short ones meet in one engine. No two prompts begin alike, so
the prefix cache, which is on, spares none of them: what is compared is reading.
"""

import asyncio
import itertools
import statistics
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from clawdbot.bench.engine.arrivals import Arrival, Traffic, prompt
from clawdbot.bench.engine.hearing import Heard, exactly, hear
from clawdbot.clock import Clock
from clawdbot.engine.admission import Admission
from clawdbot.engine.protocol import Engine, EngineInfo, Request
from clawdbot.latency.timing import Summary, summary

Door = Callable[[str, int], AbstractAsyncContextManager[Callable[[], None]]]
"""Lets a user's prompt of so many tokens into the engine; the block gets what to call at the first token."""


@asynccontextmanager
async def open_door(user: str, tokens: int) -> AsyncIterator[Callable[[], None]]:
    """A `Door` that lets everybody in at once, as vLLM alone does."""
    yield lambda: None


def guarded(admission: Admission, info: EngineInfo) -> Door:
    """A `Door` with the bot's own admission before it."""

    @asynccontextmanager
    async def enter(user: str, tokens: int) -> AsyncIterator[Callable[[], None]]:
        async with admission.place(user, tokens, long=info.is_long(tokens), tell=lambda standing: None) as place:
            yield place.started

    return enter


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run of a trace under one policy; times in seconds."""

    short_ttft: Summary
    """From the arrival by the trace to the first chunk, the wait for a place in the engine included."""
    long_ttft: Summary
    token_gap: Summary
    """Between two chunks of the same answer of a streaming chat, while the trace ran."""
    throughput: float
    """Tokens of all answers a second, from the beginning of the trace to the last token of its last answer."""
    work: float
    """The same with the tokens of the trace's prompts."""
    seconds: float
    """How long the trace ran."""

    def to_map(self) -> dict[str, object]:
        """As it stands in the JSON file."""
        maps = {name: getattr(self, name).to_map() for name in ("short_ttft", "long_ttft", "token_gap")}
        speeds = {"throughput_tok_s": self.throughput, "work_tok_s": self.work, "seconds": self.seconds}
        return {**maps, **{name: round(value, 2) for name, value in speeds.items()}}


def median(outcomes: Sequence[Outcome]) -> Outcome:
    """Of each figure the median of some runs."""
    return Outcome(
        short_ttft=median_summary([one.short_ttft for one in outcomes]),
        long_ttft=median_summary([one.long_ttft for one in outcomes]),
        token_gap=median_summary([one.token_gap for one in outcomes]),
        throughput=statistics.median(one.throughput for one in outcomes),
        work=statistics.median(one.work for one in outcomes),
        seconds=statistics.median(one.seconds for one in outcomes),
    )


def median_summary(summaries: Sequence[Summary]) -> Summary:
    """Of each percentile the median; ``n`` is that of the smallest run."""
    return Summary(
        p50=statistics.median(one.p50 for one in summaries),
        p95=statistics.median(one.p95 for one in summaries),
        p99=statistics.median(one.p99 for one in summaries),
        max=statistics.median(one.max for one in summaries),
        n=min(one.n for one in summaries),
    )


async def play(engine: Engine, door: Door, traffic: Traffic, run: str, clock: Clock) -> Outcome:
    """Let everything of ``traffic`` arrive in its time; ``run`` makes prompts and ids different from other runs."""
    player = _Player(engine, door, traffic, run, clock)
    return await player.play()


class _Player:
    """One run of a trace."""

    def __init__(self, engine: Engine, door: Door, traffic: Traffic, run: str, clock: Clock) -> None:
        self._engine = engine
        self._door = door
        self._traffic = traffic
        self._run = run
        self._clock = clock
        self._streamed: list[Heard] = []
        self._answered: list[tuple[Arrival, Heard]] = []

    async def play(self) -> Outcome:
        async with asyncio.TaskGroup() as group:
            begun = [asyncio.Event() for _ in range(self._traffic.streams.chats)]
            streams = [group.create_task(self._stream(chat, event)) for chat, event in enumerate(begun)]
            for event in begun:
                await event.wait()
            start = self._clock.now()
            async with asyncio.TaskGroup() as arriving:
                for number, arrival in enumerate(self._traffic.arrivals):
                    arriving.create_task(self._arrive(number, arrival, start + arrival.at))
            end = self._clock.now()
            for stream in streams:
                stream.cancel()
        return measure(self._streamed, self._answered, start, end)

    async def _stream(self, chat: int, begun: asyncio.Event) -> None:
        wanted = self._traffic.streams
        for number in itertools.count():
            heard = Heard(self._clock.now())
            self._streamed.append(heard)
            await self._hear(f"stream-{chat}", number, wanted.tokens, wanted.answer, heard, begun.set)

    async def _arrive(self, number: int, arrival: Arrival, at: float) -> None:
        await self._clock.sleep(at - self._clock.now())
        heard = Heard(at)
        self._answered.append((arrival, heard))
        await self._hear(f"{arrival.kind}-{number}", 0, arrival.tokens, arrival.answer, heard, lambda: None)

    async def _hear(
        self, user: str, number: int, tokens: int, answer: int, heard: Heard, at_first: Callable[[], None]
    ) -> None:
        name = f"{self._run}/{user}/{number}"
        words = prompt(self._traffic.seed, name, tokens=tokens)

        async with self._door(user, tokens) as started:

            def begin() -> None:
                started()
                at_first()

            await hear(self._engine, Request(name, words, exactly(answer)), heard, self._clock, begin)


def measure(streamed: Sequence[Heard], answered: Sequence[tuple[Arrival, Heard]], start: float, end: float) -> Outcome:
    """What a run from ``start`` to ``end`` came to (pure)."""
    everything = [*streamed, *(heard for _, heard in answered)]
    written = sum(heard.written(start, end) for heard in everything)
    read = sum(arrival.tokens for arrival, _ in answered)
    ttft: Mapping[str, list[float | None]] = {"short": [], "long": []}
    for arrival, heard in answered:
        ttft[arrival.kind].append(heard.ttft)
    return Outcome(
        short_ttft=summary(ttft["short"]),
        long_ttft=summary(ttft["long"]),
        token_gap=summary(gap for heard in streamed for gap in heard.gaps(start, end)),
        throughput=written / (end - start),
        work=(written + read) / (end - start),
        seconds=end - start,
    )
