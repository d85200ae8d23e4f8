"""Measuring one candidate of `clawdbot tune` after the other, as long as the time lasts."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import groupby

from clawdbot.bench.engine import load as loading
from clawdbot.bench.engine.arrivals import Traffic
from clawdbot.bench.engine.load import Outcome
from clawdbot.bench.records import Candidate, LeftOut, Measurement
from clawdbot.bench.tune.traffic import SECONDS, Scene, draw, probe, speed
from clawdbot.clock import Clock
from clawdbot.engine.admission import Admission, Policy
from clawdbot.engine.progress import Progress
from clawdbot.engine.protocol import Engine
from clawdbot.errors import EngineError, EngineUnavailable

Open = Callable[[Candidate], AbstractAsyncContextManager[Engine]]
"""Starts an engine as a candidate wants it. Raises `EngineUnavailable`."""

REMEDY = "Its log above names the cause; too little memory is the usual one."

TICK = 0.5
"""Seconds between two states of the bar."""

Rules = Callable[[Candidate], Policy]
"""What is let into a candidate's engine together."""


class Tuner:
    """Measures candidates with one trace, which is made when the first engine is there.

    No candidate is begun that would not be finished within ``limit`` seconds of the beginning, by what the others
    took; the first one is measured in any case.
    """

    def __init__(self, scene: Scene, seed: int, limit: float, clock: Clock, progress: Progress) -> None:
        self._scene = scene
        self._seed = seed
        self._clock = clock
        self._progress = progress
        self._end = clock.now() + limit
        self._start = 0.0
        """Seconds that the latest start of an engine took; the first of all may compile what others find."""
        self._play = 0.0
        """Seconds that the slowest run of the trace took."""
        self.device = ""
        """The engine's own name for it; empty before the first has started."""
        self.speed = 0.0
        """Prompt tokens a second, 0 before they were measured."""
        self.traffic: Traffic | None = None
        """What every candidate is measured with, None before the first."""
        self.measurements: list[Measurement] = []
        self.left_out: list[LeftOut] = []

    async def measure(
        self, candidates: Sequence[Candidate], open_engine: Open, rules: Rules, keep: Callable[[], None]
    ) -> None:
        """Measure ``candidates`` in their order; neighbours with the same engine share its start.

        ``keep`` is called after each. One whose engine does not start, or dies of the traffic, is left out, unless it
        is the first: then this raises `EngineUnavailable`.
        """
        for _, group in groupby(candidates, key=_engine_of):
            alike = list(group)
            if not self._fits(self._start):
                self._leave(alike, "no time left")
                continue
            began = self._clock.now()
            self._progress(f"{alike[0]}: the engine starts", None)
            try:
                async with open_engine(alike[0]) as engine:
                    self._start = self._clock.now() - began
                    await self._try(engine, alike, rules, keep)
            except EngineUnavailable as error:
                if not self.measurements:
                    raise
                measured = [one.candidate for one in self.measurements]
                self._leave([one for one in alike if one not in measured], f"does not run: {error.reason}")

    def _fits(self, start: float) -> bool:
        return not self.measurements or self._clock.now() + start + self._play <= self._end

    def _leave(self, candidates: Iterable[Candidate], reason: str) -> None:
        self.left_out += [LeftOut(candidate=candidate, reason=reason) for candidate in candidates]

    async def _try(self, engine: Engine, alike: Sequence[Candidate], rules: Rules, keep: Callable[[], None]) -> None:
        if self.traffic is None:
            self.device = engine.info.device
            self.traffic = await self._draw(engine, rules(alike[0]))
        for candidate in alike:
            if not self._fits(0.0):
                self._leave([candidate], "no time left")
                continue
            began = self._clock.now()
            async with self._ticking(f"{candidate}: mixed traffic", max(self._play, SECONDS)):
                outcome = await self._run(engine, rules(candidate), self.traffic, f"{candidate}")
            self._play = max(self._play, self._clock.now() - began)
            self.measurements.append(Measurement.model_validate({"candidate": candidate, **outcome.to_map()}))
            keep()

    async def _draw(self, engine: Engine, rules: Policy) -> Traffic:
        """The trace that fits how fast ``engine`` reads."""
        context = engine.info.context
        first = probe(self._scene, context, self._seed)
        self._progress("how fast prompts are read", None)
        outcome = await self._run(engine, rules, first, "probe")
        self.speed = speed(first, outcome.long_ttft.max)
        return draw(self._scene, self.speed, context, self._seed)

    async def _run(self, engine: Engine, rules: Policy, traffic: Traffic, name: str) -> Outcome:
        door = loading.guarded(Admission(rules, self._clock), engine.info)
        try:
            return await loading.play(engine, door, traffic, name, self._clock)
        except ExceptionGroup as failures:
            _, others = failures.split(EngineError)
            if others is not None:
                raise
            raise EngineUnavailable("The engine fails under this traffic.", REMEDY) from failures

    @asynccontextmanager
    async def _ticking(self, step: str, seconds: float) -> AsyncIterator[None]:
        """Show how much of so many ``seconds`` has passed."""

        async def tick() -> None:
            began = self._clock.now()
            while True:
                self._progress(step, min(1.0, (self._clock.now() - began) / seconds))
                await self._clock.sleep(TICK)

        task = asyncio.create_task(tick())
        try:
            yield
        finally:
            task.cancel()


def _engine_of(candidate: Candidate) -> tuple[object, ...]:
    """What an engine is started with; how many long prompts are let in is decided before it."""
    return (candidate.max_num_batched_tokens, candidate.long_prefill_token_threshold, candidate.profile)
