"""``clawdbot bench ttft``: time to the first token by the length of the prompt, one prompt at a time."""

from collections.abc import Mapping, Sequence

from clawdbot.bench.engine.arrivals import prompt
from clawdbot.bench.engine.hearing import Heard, exactly, hear
from clawdbot.clock import Clock
from clawdbot.engine.protocol import Engine, Request
from clawdbot.latency.timing import Summary, summary

LENGTHS = (100, 500, 1000, 1500, 2000)
"""Tokens of the prompts."""
ANSWER = 4
"""Tokens written for each, since a request with nothing but a first token is no answer."""


async def measure(
    engine: Engine, clock: Clock, *, lengths: Sequence[int] = LENGTHS, repeats: int, seed: int
) -> Mapping[int, Summary]:
    """Seconds to the first token, by prompt length; every prompt is new to the engine and nothing else runs.

    Lengths take turns, so that a machine that grows slower does so for all of them.
    """
    found: dict[int, list[float | None]] = {length: [] for length in lengths}
    for number in range(repeats):
        for length in lengths:
            name = f"ttft/{length}/{number}"
            request = Request(name, prompt(seed, name, tokens=length), exactly(ANSWER))
            heard = Heard(clock.now())
            await hear(engine, request, heard, clock)
            found[length].append(heard.ttft)
    return {length: summary(times) for length, times in found.items()}


def rows(model: str, mode: str, found: Mapping[int, Summary]) -> list[dict[str, object]]:
    """The figures as they stand in the JSON file."""
    return [
        {"model": model, "prompt_tokens": length, "mode": mode, "ttft": times.to_map()}
        for length, times in found.items()
    ]
