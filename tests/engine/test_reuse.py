"""How much of a prompt has to be read."""

from array import array

from hypothesis import given
from hypothesis import strategies as st

from clawdbot.engine.reuse import Reuse, common_prefix

tokens = st.lists(st.integers(0, 3), max_size=12)


@given(tokens, tokens)
def test_the_common_prefix_is_the_longest(one: list[int], other: list[int]) -> None:
    """Both begin with it and go on differently, or one of them ends."""
    length = common_prefix(array("i", one), array("i", other))

    assert one[:length] == other[:length]
    assert one[length : length + 1] != other[length : length + 1] or length == min(len(one), len(other))


def test_a_follow_up_costs_only_what_is_new() -> None:
    """The last prompt and its answer have been read and written."""
    reuse = Reuse()
    reuse.remember("a", [1, 2, 3], [4, 5])

    assert reuse.uncached("a", [1, 2, 3, 4, 5, 6, 7]) == 2


def test_another_conversation_has_read_nothing() -> None:
    """A prefix belongs to its conversation."""
    reuse = Reuse()
    reuse.remember("a", [1, 2, 3], [])

    assert reuse.uncached("b", [1, 2, 3]) == 3


def test_a_trimmed_prompt_costs_all_after_the_trim() -> None:
    """Its beginning is the system prompt alone."""
    reuse = Reuse()
    reuse.remember("a", [9, 1, 2, 3], [4])

    assert reuse.uncached("a", [9, 3, 4, 5]) == 3


def test_a_new_engine_has_read_nothing() -> None:
    """Its cache is empty."""
    reuse = Reuse()
    reuse.remember("a", [1, 2], [])
    reuse.forget()

    assert reuse.uncached("a", [1, 2]) == 2


def test_it_remembers_only_so_many() -> None:
    """The least recently used conversation is forgotten."""
    reuse = Reuse(conversations=2)
    for name in "abc":
        reuse.remember(name, [1, 2], [])

    assert [reuse.uncached(name, [1, 2]) for name in "abc"] == [2, 0, 0]
