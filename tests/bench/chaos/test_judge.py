"""Every judgement of bench chaos can fail: screens that are lost, doubled, wrong or unmarked are called so."""

import pytest

from clawdbot import words
from clawdbot.bench.chaos.judge import Shown, Truth, Verdict, judge

TRUTH = Truth("Herons7w1 are7w2 birds7w3.\n\nThey7w4 stand7w5 in7w6 water7w7.")
FIRST, SECOND = "Herons7w1 are7w2 birds7w3.", "They7w4 stand7w5 in7w6 water7w7."


def final(*texts: str) -> list[Shown]:
    return [Shown(text, growing=False) for text in texts]


def growing(text: str) -> Shown:
    return Shown(text, growing=True)


@pytest.mark.parametrize("screen", [final(TRUTH.text), final(FIRST, SECOND), final(FIRST, SECOND, words.WITHDRAWN)])
def test_a_whole_answer_is_right_in_one_message_or_in_several(screen: list[Shown]) -> None:
    assert judge(TRUTH, screen) == Verdict()


def test_repaired_code_blocks_are_the_same_text() -> None:
    truth = Truth("Look7w1:\n\n```python\none7w2()\ntwo7w3()\n```")

    assert judge(truth, final("Look7w1:\n```python\none7w2()\n```", "```python\ntwo7w3()\n```")) == Verdict()


@pytest.mark.parametrize("screen", [[], [growing(words.LOADING)]])
def test_an_answer_of_which_nothing_lasting_is_there_is_lost(screen: list[Shown]) -> None:
    assert judge(TRUTH, screen) == Verdict(lost=True)


@pytest.mark.parametrize("notice", [words.FAILED, words.INTERRUPTED_MARK])
def test_a_notice_that_there_is_no_answer_is_honest(notice: str) -> None:
    assert judge(TRUTH, final(notice)) == Verdict(cut_short=True)


def test_a_mark_without_room_stands_in_a_message_of_its_own() -> None:
    """Below the text that it is about; above it says nothing."""
    assert judge(TRUTH, final(FIRST, words.INTERRUPTED_MARK)) == Verdict(cut_short=True)
    assert judge(TRUTH, final(words.INTERRUPTED_MARK, FIRST)) == Verdict(unmarked=True)


@pytest.mark.parametrize(
    "screen",
    [
        final(FIRST, FIRST, SECOND),
        final(FIRST, SECOND, SECOND),
        final("Herons7w1", FIRST, SECOND),
        [growing("Herons7w1 are7w2"), *final(FIRST, SECOND)],
        [growing(words.LOADING), *final(FIRST, SECOND)],
        final(FIRST, f"birds7w3. {SECOND}"),
    ],
)
def test_a_part_that_is_there_twice_is_counted(screen: list[Shown]) -> None:
    """Also one that shows another state of the same part, or its border elsewhere: texts need not be the same."""
    assert judge(TRUTH, screen) == Verdict(copies=1)


@pytest.mark.parametrize("left", [growing(f"{FIRST} They7w4"), *final(f"{FIRST} They7w4")])
def test_a_copy_that_was_left_behind_counts_once_wherever_its_border_was(left: Shown) -> None:
    """The last part of a growing answer is cut elsewhere when there is more of it."""
    assert judge(TRUTH, [left, *final(FIRST, SECOND)]) == Verdict(copies=1)


@pytest.mark.parametrize(
    "screen",
    [
        final(SECOND),
        final(SECOND, FIRST),
        final(FIRST, "They7w4 stand7w5 on7w6 water7w7."),
        final(FIRST, SECOND, "Herons8w1"),
        final("Herons7w1 are7w2", SECOND),
        final(words.LOADING),
    ],
)
def test_a_gap_a_wrong_order_and_a_foreign_text_are_wrong(screen: list[Shown]) -> None:
    assert judge(TRUTH, screen).wrong_text


@pytest.mark.parametrize("screen", [final(FIRST), final("Herons7w1 are"), [*final(FIRST), growing(SECOND)]])
def test_a_part_of_an_answer_that_looks_whole_and_a_whole_one_that_looks_unfinished_are_unmarked(
    screen: list[Shown],
) -> None:
    assert judge(TRUTH, screen) == Verdict(unmarked=True)


def test_a_stop_button_that_stays_on_an_earlier_message_is_unmarked() -> None:
    assert judge(TRUTH, [growing(FIRST), *final(SECOND)]) == Verdict(unmarked=True)


@pytest.mark.parametrize("mark", [words.INTERRUPTED_MARK, words.STOPPED_MARK])
def test_a_marked_part_of_an_answer_is_honest(mark: str) -> None:
    assert judge(TRUTH, final(f"{FIRST}\n\n{mark}")) == Verdict(cut_short=True)


def test_an_answer_whose_engine_failed_needs_a_mark_however_much_of_it_there_is() -> None:
    failed = Truth(TRUTH.text, whole=False)

    bare, marked = judge(failed, final(TRUTH.text)), judge(failed, final(f"{TRUTH.text}\n\n{words.INTERRUPTED_MARK}"))

    assert (bare.unmarked, marked) == (True, Verdict(cut_short=True))
