import pytest

from clawdbot.bench.engine.hearing import Heard, exactly, hear
from clawdbot.engine.protocol import Chunk, Request
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.engine import Script, ScriptedEngine


def heard(*times: float, asked: float = 0.0, tokens: int = 1) -> Heard:
    return Heard(asked, [(at, Chunk("x" * tokens, [7] * tokens)) for at in times])


def test_the_time_to_first_token_counts_from_the_arrival() -> None:
    assert heard(3.5, 4.0, asked=1.0).ttft == 2.5


def test_who_never_heard_anything_has_no_time_to_first_token() -> None:
    assert heard().ttft is None


def test_a_gap_counts_when_any_part_of_it_lies_in_the_time_that_is_looked_at() -> None:
    """A stall that begins before the end is one that a reader saw."""
    times = heard(0.0, 1.0, 3.0, 6.0, 10.0, 15.0)

    assert list(times.gaps(since=1.0, until=7.0)) == [2.0, 3.0, 4.0]


def test_tokens_count_that_came_in_the_time_that_is_looked_at() -> None:
    assert heard(1.0, 2.0, 3.0, tokens=2).written(since=1.0, until=3.0) == 4


async def test_all_that_the_engine_says_is_heard(clock: ManualClock) -> None:
    engine = ScriptedEngine(lambda request: Script(["One", " two"]), clock)
    begun: list[int] = []
    found = Heard(clock.now())

    await hear(engine, Request("r", [1], exactly(2)), found, clock, lambda: begun.append(len(found.chunks)))

    assert found.text == "One two"
    assert "".join(map(chr, found.tokens)) == "One two"
    assert found.usage is not None
    assert found.usage.output_tokens == 2
    assert begun == [0], "told once, before anything is noted"


@pytest.mark.parametrize("tokens", [1, 8])
def test_an_answer_of_a_known_length_may_not_end_before_it(tokens: int) -> None:
    sampling = exactly(tokens)

    assert (sampling.min_tokens, sampling.max_tokens, sampling.temperature) == (tokens, tokens, 0.0)
