"""How much of a prompt has to be read."""

from array import array
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawdbot.engine.reuse import Reuse, common_prefix
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.engine import INFO, Script, ScriptedEngine


def engine_with(cache: int) -> ScriptedEngine:
    """An engine whose prefix cache holds so many tokens, two in a block."""
    info = replace(INFO, cache_tokens=cache, cache_block=2)
    return ScriptedEngine(lambda request: Script([]), ManualClock(), info)


@pytest.fixture
def engine() -> ScriptedEngine:
    return engine_with(100)


tokens = st.lists(st.integers(0, 3), max_size=12)


@given(tokens, tokens)
def test_the_common_prefix_is_the_longest(one: list[int], other: list[int]) -> None:
    """Both begin with it and go on differently, or one of them ends."""
    length = common_prefix(array("i", one), array("i", other))

    assert one[:length] == other[:length]
    assert one[length : length + 1] != other[length : length + 1] or length == min(len(one), len(other))


def test_a_follow_up_costs_only_what_is_new(engine: ScriptedEngine) -> None:
    """The last prompt and its answer have been read and written."""
    reuse = Reuse()
    before = reuse.uncached(engine, "a", [1, 2, 3])
    reuse.remember(engine, "a", [1, 2, 3], [4, 5])

    assert (before, reuse.uncached(engine, "a", [1, 2, 3, 4, 5, 6, 7])) == (3, 2)


def test_what_every_prompt_begins_with_is_read_once_for_all(engine: ScriptedEngine) -> None:
    """Before anybody asks, or with the first question; of it the cache keeps whole blocks, here of two tokens."""
    reuse = Reuse()
    reuse.share(engine, [9, 9])
    ahead = reuse.uncached(engine, "a", [9, 9, 1])
    reuse.remember(engine, "a", [9, 9, 9, 1, 1, 1], [2])

    assert (ahead, reuse.uncached(engine, "b", [9, 9, 9, 3, 3, 3])) == (1, 4)


def test_a_trimmed_prompt_costs_all_after_the_trim(engine: ScriptedEngine) -> None:
    """Its beginning is the system prompt alone."""
    reuse = Reuse()
    reuse.uncached(engine, "a", [9, 1, 2, 3])
    reuse.remember(engine, "a", [9, 1, 2, 3], [4])

    assert reuse.uncached(engine, "a", [9, 3, 4, 5]) == 3


def test_a_new_engine_has_read_nothing(engine: ScriptedEngine) -> None:
    """Its cache is empty; what the old one still tells of its last answers does not fill it."""
    reuse, new = Reuse(), engine_with(100)
    reuse.share(engine, [1])
    reuse.remember(engine, "a", [1, 2], [])
    first = reuse.uncached(new, "a", [1, 2])
    reuse.remember(engine, "a", [1, 2], [])

    assert (first, reuse.uncached(new, "a", [1, 2])) == (2, 2)


def test_what_came_later_takes_the_room_of_what_is_older() -> None:
    """The cache gives up what was used least lately, of a prompt its end first."""
    reuse, engine = Reuse(), engine_with(10)
    for name, length in (("a", 6), ("b", 4), ("c", 3)):
        reuse.uncached(engine, name, [1] * length)
        reuse.remember(engine, name, [1] * length, [])

    assert [reuse.uncached(engine, name, [1] * 6) for name in "abc"] == [6 - (10 - 4 - 3), 2, 3]


def test_an_engine_without_a_prefix_cache_reads_everything_every_time() -> None:
    reuse, engine = Reuse(), engine_with(0)
    reuse.uncached(engine, "a", [1, 2])
    reuse.remember(engine, "a", [1, 2], [])

    assert reuse.uncached(engine, "a", [1, 2]) == 2


def test_it_remembers_only_so_many(engine: ScriptedEngine) -> None:
    """The least recently used conversation is forgotten."""
    reuse = Reuse(conversations=2)
    prompts = {"a": [1, 2], "b": [3, 4], "c": [5, 6]}
    for name, prompt in prompts.items():
        reuse.uncached(engine, name, prompt)
        reuse.remember(engine, name, prompt, [])

    assert [reuse.uncached(engine, name, prompt) for name, prompt in prompts.items()] == [2, 0, 0]
