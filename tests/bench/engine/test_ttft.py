from collections.abc import Awaitable, Callable
from typing import Any

from clawdbot.bench.engine.ttft import measure, rows
from clawdbot.latency.timing import summary
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.engine import Script, ScriptedEngine

Through = Callable[[Awaitable[Any]], Awaitable[Any]]


async def test_each_length_is_measured_alone_and_as_often_as_wanted(clock: ManualClock) -> None:
    """Lengths take turns: a machine that grows slower shall do so for all of them."""
    engine = ScriptedEngine(lambda request: Script(["x", "y"]), clock)

    found = await measure(engine, clock, lengths=(10, 20), repeats=3, seed=1)

    assert [len(request.prompt) for request in engine.requests] == [10, 20] * 3
    assert {length: times.n for length, times in found.items()} == {10: 3, 20: 3}


async def test_the_time_is_that_to_the_first_token(clock: ManualClock, through: Through) -> None:
    engine = ScriptedEngine(lambda request: Script(["x"], first=len(request.prompt) / 10), clock)

    found = await through(measure(engine, clock, lengths=(10, 20), repeats=1, seed=1))

    assert {length: times.p50 for length, times in found.items()} == {10: 1.0, 20: 2.0}


def test_a_row_names_model_length_and_mode() -> None:
    assert rows("demo", "off", {100: summary([0.25])}) == [
        {
            "model": "demo",
            "prompt_tokens": 100,
            "mode": "off",
            "ttft": {"p50": 250.0, "p95": 250.0, "p99": 250.0, "max": 250.0, "n": 1},
        }
    ]
