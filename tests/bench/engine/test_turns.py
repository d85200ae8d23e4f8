"""One conversation, its prompts made as the bot makes them."""

from itertools import pairwise

import pytest

from clawdbot.bench.engine.turns import Row, cached_share, converse, slowing
from clawdbot.engine.protocol import Request
from clawdbot.prompts.prompt import Room
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.engine import Script, ScriptedEngine

SYSTEM = "Be kind."


def talkative(request: Request) -> Script:
    return Script(["word "] * request.sampling.max_tokens)


async def test_every_prompt_begins_as_the_last_one_did_until_the_history_is_trimmed(clock: ManualClock) -> None:
    """That is what the prefix cache needs; a trim drops half of the history in one go, so it comes seldom."""
    engine = ScriptedEngine(talkative, clock)

    rows = await converse(engine, clock, system=SYSTEM, within=Room(3000, 1600), turns=20, answer=10, seed=1)

    prompts = [request.prompt for request in engine.requests]
    kept = [later[: len(earlier)] == earlier for earlier, later in pairwise(prompts)]
    assert kept == [not row.trimmed for row in rows[1:]]
    assert 2 <= sum(row.trimmed for row in rows) <= 6
    assert all(len(prompt) <= 3000 for prompt in prompts)


async def test_answers_are_kept_as_the_tokens_that_were_written(clock: ManualClock) -> None:
    engine = ScriptedEngine(talkative, clock)

    await converse(engine, clock, system=SYSTEM, within=Room(3000, 1600), turns=2, answer=3, seed=1)

    written = [ord(character) for character in "word word word "]
    second = engine.requests[1].prompt
    assert any(second[at : at + len(written)] == written for at in range(len(second)))


def row(turn: int, ttft: float, prompt: int = 100, cached: int = 80) -> Row:
    return Row(turn, prompt, cached, trimmed=False, ttft=ttft)


def test_late_turns_are_held_against_early_ones() -> None:
    """The first two find nothing in the cache, so they do not count."""
    rows = [
        row(1, 9.0),
        row(2, 9.0),
        *(row(turn, 1.0) for turn in range(3, 41)),
        *(row(turn, 1.5) for turn in range(41, 61)),
    ]

    assert slowing(rows) == 1.5
    assert slowing(rows[:40]) is None


def test_the_cached_share_is_that_of_all_tokens_not_of_turns() -> None:
    assert cached_share([row(1, 1.0, prompt=100, cached=0), row(2, 1.0, prompt=300, cached=300)]) == pytest.approx(0.75)


def test_the_file_has_milliseconds_under_the_agreed_names() -> None:
    assert row(3, 0.2345678).to_map() == {
        "turn": 3,
        "prompt_tokens": 100,
        "cached_tokens": 80,
        "trimmed": False,
        "ttft": 234.568,
    }
