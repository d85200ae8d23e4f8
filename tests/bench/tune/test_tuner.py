"""Candidates are measured one after the other, within the time, on engines that write by a script."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from math import inf
from typing import Any

import pytest

from clawdbot.bench.engine.arrivals import Streams
from clawdbot.bench.records import Candidate
from clawdbot.bench.tune.traffic import Scene
from clawdbot.bench.tune.tuner import Tuner
from clawdbot.engine.admission import Policy
from clawdbot.engine.progress import Progress, silent
from clawdbot.engine.protocol import Engine, Request
from clawdbot.errors import EngineUnavailable
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.engine import INFO, Script, ScriptedEngine

Through = Callable[[Awaitable[Any]], Awaitable[Any]]

SCENE = Scene("test", Streams(1, 5, 10), probe=100, long=400, short=(4, 6), answer=2)
START = 40.0
"""Seconds that an engine takes to start."""
RUN = 30.0
"""Seconds that no run of the trace exceeds here."""


def candidate(long: int, at_once: int = 1) -> Candidate:
    return Candidate(
        max_num_batched_tokens=128, long_prefill_token_threshold=long, max_long_prefills=at_once, profile="balanced"
    )


def rules(candidate: Candidate) -> Policy:
    return Policy(concurrent=8, max_long_prefills=candidate.max_long_prefills, patience=30.0)


def paced(request: Request) -> Script:
    """Reads 200 tokens a second and writes ten."""
    return Script(["x"] * request.sampling.max_tokens, first=len(request.prompt) / 200, gap=0.1)


class Engines:
    """Starts engines and keeps what it was asked for."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.started: list[Candidate] = []
        self.broken: Candidate | None = None
        self.engines: list[ScriptedEngine] = []

    @asynccontextmanager
    async def open(self, candidate: Candidate) -> AsyncIterator[Engine]:
        self.started.append(candidate)
        await self._clock.sleep(START)
        if candidate == self.broken:
            raise EngineUnavailable("There is not enough memory.", "Buy some.")
        engine = ScriptedEngine(paced, self._clock, replace(INFO, step_budget=64, long_prefill=64))
        self.engines.append(engine)
        yield engine


@pytest.fixture
def engines(clock: ManualClock) -> Engines:
    return Engines(clock)


class Said:
    """Progress as it was told."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, float | None]] = []

    def __call__(self, step: str, share: float | None) -> None:
        self.steps.append((step, share))


def tuner(clock: ManualClock, limit: float = 3600.0, progress: Progress = silent) -> Tuner:
    return Tuner(SCENE, 1, limit, clock, progress)


def nothing() -> None:
    """Keep nothing."""


async def test_every_candidate_meets_the_same_arrivals(clock: ManualClock, through: Through, engines: Engines) -> None:
    tuning = tuner(clock)

    await through(tuning.measure([candidate(64), candidate(32)], engines.open, rules, nothing))

    assert tuning.traffic is not None
    assert [one.candidate for one in tuning.measurements] == [candidate(64), candidate(32)]
    kinds = [arrival.kind for arrival in tuning.traffic.arrivals]
    for one in tuning.measurements:
        assert (one.short_ttft.n, one.long_ttft.n) == (kinds.count("short"), kinds.count("long"))


async def test_the_trace_fits_the_speed_that_was_measured_first(
    clock: ManualClock, through: Through, engines: Engines
) -> None:
    tuning = tuner(clock)

    await through(tuning.measure([candidate(64), candidate(32)], engines.open, rules, nothing))

    assert tuning.speed == pytest.approx(200, rel=0.01)
    asked = [[one.id for one in engine.requests] for engine in engines.engines]
    probes = [[name for name in names if name.startswith("probe/long")] for names in asked]
    assert [len(found) for found in probes] == [2, 0], "only the first engine is probed"


async def test_neighbours_with_the_same_engine_share_its_start(
    clock: ManualClock, through: Through, engines: Engines
) -> None:
    """How many long prompts are read at once is decided before the engine."""
    tuning = tuner(clock)

    await through(tuning.measure([candidate(64), candidate(64, at_once=2)], engines.open, rules, nothing))

    assert engines.started == [candidate(64)]
    assert [one.candidate.max_long_prefills for one in tuning.measurements] == [1, 2]


async def test_what_would_not_be_finished_in_time_is_not_begun(
    clock: ManualClock, through: Through, engines: Engines
) -> None:
    wanted = [candidate(64), candidate(32), candidate(16), candidate(8)]
    tuning = tuner(clock, limit=2.5 * (START + RUN))
    began = clock.now()

    await through(tuning.measure(wanted, engines.open, rules, nothing))

    assert [one.candidate for one in tuning.measurements] == wanted[:2]
    assert [(one.candidate, one.reason) for one in tuning.left_out] == [(one, "no time left") for one in wanted[2:]]
    assert clock.now() - began <= 2.5 * (START + RUN)


async def test_one_that_needs_no_start_may_still_have_time(
    clock: ManualClock, through: Through, engines: Engines
) -> None:
    tuning = tuner(clock, limit=START + 2.2 * RUN)

    await through(
        tuning.measure([candidate(64), candidate(64, at_once=2), candidate(32)], engines.open, rules, nothing)
    )

    assert len(tuning.measurements) == 2
    assert [one.candidate for one in tuning.left_out] == [candidate(32)]


async def test_the_first_is_measured_however_short_the_time(
    clock: ManualClock, through: Through, engines: Engines
) -> None:
    tuning = tuner(clock, limit=0.0)

    wanted = [candidate(64), candidate(64, at_once=2), candidate(32)]

    await through(tuning.measure(wanted, engines.open, rules, nothing))

    assert [one.candidate for one in tuning.measurements] == wanted[:1]
    assert [one.candidate for one in tuning.left_out] == wanted[1:]


async def test_an_engine_that_does_not_start_is_left_out_with_the_reason(
    clock: ManualClock, through: Through, engines: Engines
) -> None:
    engines.broken = candidate(32)
    tuning = tuner(clock)

    await through(tuning.measure([candidate(64), candidate(32), candidate(16)], engines.open, rules, nothing))

    assert [one.candidate for one in tuning.measurements] == [candidate(64), candidate(16)]
    assert [one.reason for one in tuning.left_out] == ["does not run: There is not enough memory."]


@pytest.mark.parametrize("first_lost", [1, 2])
async def test_an_engine_that_dies_of_the_traffic_is_left_out(
    clock: ManualClock, through: Through, engines: Engines, first_lost: int
) -> None:
    """Such as one whose steps are too large for the memory; what was measured on it counts."""
    wanted = [candidate(64), candidate(32), candidate(32, at_once=2), candidate(16)]
    tuning, killer = tuner(clock), wanted[first_lost]

    def deadly(one: Candidate) -> Policy:
        if one == killer:
            engines.engines[-1].die()
        return rules(one)

    await through(tuning.measure(wanted, engines.open, deadly, nothing))

    assert [one.candidate for one in tuning.measurements] == [*wanted[:first_lost], wanted[3]]
    assert [one.candidate for one in tuning.left_out] == wanted[first_lost:3]
    assert {one.reason for one in tuning.left_out} == {"does not run: The engine fails under this traffic."}


async def test_nothing_is_recommended_when_not_even_the_default_starts(
    clock: ManualClock, through: Through, engines: Engines
) -> None:
    engines.broken = candidate(64)

    with pytest.raises(EngineUnavailable, match="not enough memory"):
        await through(tuner(clock).measure([candidate(64), candidate(32)], engines.open, rules, nothing))


async def test_every_measurement_can_be_kept_at_once(clock: ManualClock, through: Through, engines: Engines) -> None:
    """Whoever presses Ctrl-C has what was measured until then."""
    tuning = tuner(clock)
    kept: list[int] = []

    await through(
        tuning.measure(
            [candidate(64), candidate(32)], engines.open, rules, lambda: kept.append(len(tuning.measurements))
        )
    )

    assert kept == [1, 2]


async def test_the_bar_grows_while_a_trace_runs(clock: ManualClock, through: Through, engines: Engines) -> None:
    said = Said()

    await through(tuner(clock, progress=said).measure([candidate(64)], engines.open, rules, nothing))

    await clock.settle()
    steps = list(dict.fromkeys(step for step, _ in said.steps))
    shares = [share for step, share in said.steps if step == steps[-1] and share is not None]
    assert steps == ["128/64: the engine starts", "how fast prompts are read", "128/64: mixed traffic"]
    assert shares == sorted(shares)
    assert (shares[0], len(shares) > 20, shares[-1] > 0.9) == (0.0, True, True)
    assert clock.wakes_at == inf, "it goes on when the trace is over"
