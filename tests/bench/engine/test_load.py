"""Mixed traffic on scripted engines and a clock that is turned by hand: what is counted is what happened."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clawdbot.bench.engine.arrivals import Arrival, Streams, Traffic
from clawdbot.bench.engine.hearing import Heard
from clawdbot.bench.engine.load import Outcome, guarded, measure, median, open_door, play
from clawdbot.engine.admission import Admission, Policy
from clawdbot.engine.protocol import Chunk, Request
from clawdbot.latency.timing import Summary, summary
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.engine import INFO, Script, ScriptedEngine

Through = Callable[[Awaitable[Any]], Awaitable[Any]]

LONG = INFO.step_budget + 1
TRAFFIC = Traffic(
    "cpu",
    1,
    Streams(chats=2, tokens=5, answer=4),
    (Arrival(0.0, "long", LONG, 1), Arrival(1.0, "long", LONG, 1), Arrival(2.0, "short", 6, 1)),
)


def paced(request: Request) -> Script:
    """Reads a long prompt in four seconds and a short one in one, writes two tokens a second."""
    return Script(["x"] * request.sampling.max_tokens, first=4.0 if len(request.prompt) == LONG else 1.0, gap=0.5)


async def test_everything_arrives_in_its_time_and_is_answered(clock: ManualClock, through: Through) -> None:
    engine = ScriptedEngine(paced, clock)

    outcome: Outcome = await through(play(engine, open_door, TRAFFIC, "run", clock))

    assert outcome.long_ttft == Summary(4.0, 4.0, 4.0, 4.0, 2)
    assert outcome.short_ttft == Summary(1.0, 1.0, 1.0, 1.0, 1)
    assert outcome.token_gap.max == 0.5
    assert outcome.seconds == 5.0
    assert outcome.work == pytest.approx(outcome.throughput + (2 * LONG + 6) / 5.0)


async def test_the_wait_before_admission_is_part_of_the_time_to_first_token(
    clock: ManualClock, through: Through
) -> None:
    """One long prompt is read at a time: the second, which arrives a second later, waits three for the first."""
    engine = ScriptedEngine(paced, clock)
    door = guarded(Admission(Policy(concurrent=8, max_long_prefills=1, patience=30.0), clock), INFO)

    outcome: Outcome = await through(play(engine, door, TRAFFIC, "run", clock))

    assert (outcome.long_ttft.p50, outcome.long_ttft.max) == (5.5, 7.0)
    assert outcome.short_ttft.max == 1.0


async def test_streaming_chats_go_on_until_the_last_answer_is_there(clock: ManualClock, through: Through) -> None:
    engine = ScriptedEngine(paced, clock)

    await through(play(engine, open_door, TRAFFIC, "run", clock))

    streamed = [request for request in engine.requests if len(request.prompt) == 5]
    assert len(streamed) > 2
    assert engine.running == set()


async def test_no_two_prompts_are_the_same(clock: ManualClock, through: Through) -> None:
    engine = ScriptedEngine(paced, clock)

    await through(play(engine, open_door, TRAFFIC, "run 1", clock))
    await through(play(engine, open_door, TRAFFIC, "run 2", clock))

    prompts = [tuple(request.prompt) for request in engine.requests]
    assert len(set(prompts)) == len(prompts)
    assert len({request.id for request in engine.requests}) == len(prompts)


def test_only_what_came_while_the_trace_ran_counts() -> None:
    """Streams begin before it, so that the first prompt meets them, and are cut off at its end."""
    stream = Heard(0.0, [(at, Chunk("x", [7])) for at in (1.0, 2.0, 12.0, 15.0, 21.0, 30.0)])
    short = Heard(11.0, [(13.0, Chunk("x", [7]))])

    outcome = measure([stream], [(Arrival(1.0, "short", 30, 1), short)], start=10.0, end=20.0)

    assert outcome.short_ttft.max == 2.0
    assert outcome.token_gap == summary([10.0, 3.0, 6.0])
    assert outcome.throughput == 0.3
    assert outcome.work == 3.3


def test_the_median_of_runs_is_taken_figure_by_figure() -> None:
    def outcome(short: float, gap: float) -> Outcome:
        return Outcome(summary([short]), summary([1.0]), summary([gap]), short, gap, 120.0)

    middle = median([outcome(1.0, 9.0), outcome(2.0, 7.0), outcome(5.0, 8.0)])

    assert (middle.short_ttft.p95, middle.token_gap.p99) == (2.0, 8.0)
    assert (middle.throughput, middle.work) == (2.0, 8.0)


def test_the_file_has_milliseconds_under_the_agreed_names() -> None:
    found = Outcome(summary([0.5]), summary([7.0]), summary([0.06]), 17.0, 160.0, 120.0).to_map()

    assert found["short_ttft"] == {"p50": 500.0, "p95": 500.0, "p99": 500.0, "max": 500.0, "n": 1}
    assert found.keys() >= {"short_ttft", "long_ttft", "token_gap", "throughput_tok_s"}
