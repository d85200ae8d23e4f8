from collections import Counter
from random import Random

import pytest

from clawdbot.bench.chaos.plan import LENGTHS, TROUBLES, FaultDraw, Length, draw_question
from clawdbot.bench.measures import letters
from clawdbot.bench.trace import asked
from clawdbot.delivery.split import Splitter
from clawdbot.testing.faults import Trouble


def test_the_same_seed_draws_the_same() -> None:
    drawn = [draw_question(Random(4), 7, 2000) for _ in range(2)]

    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("length", LENGTHS)
def test_no_word_occurs_twice(length: Length) -> None:
    """A judge finds the one place of any message in the answer."""
    answer = draw_question(Random(1), 7, 2000, length=length, failing=0.0).answer
    words = [word for word in answer.replace("(", " ").replace(")", " ").replace(",", " ").split() if "7w" in word]

    assert len(set(words)) == len(words) > 1


@pytest.mark.parametrize("length", ["long", "code"])
def test_a_long_answer_needs_three_messages(length: Length) -> None:
    answer = draw_question(Random(2), 7, 2000, length=length, failing=0.0).answer

    parts = Splitter(lambda text: len(text) <= 2000, 2000).parts(answer)

    assert len(parts) == 3
    assert letters("".join(parts)) == letters(answer)


def test_a_question_is_found_again_in_a_prompt() -> None:
    question = draw_question(Random(3), 42, 2000)

    assert asked([-1, -3, *map(ord, question.text), -5]) == 42


def test_an_answer_that_fails_breaks_off_and_says_so() -> None:
    question = draw_question(Random(3), 42, 2000, failing=1.0)

    assert (question.script.fails, question.whole) == (True, False)


def test_so_many_calls_fail_in_all_ways() -> None:
    draw = FaultDraw(Random(5), 0.1, ["send"])

    faults = [fault for _ in range(10_000) if (fault := draw("send"))]

    assert 900 < len(faults) < 1100
    assert Counter(fault.trouble for fault in faults).keys() == set(TROUBLES)
    waits = [fault.seconds for fault in faults if fault.trouble is Trouble.LIMITED]
    assert (min(waits) >= 1, max(waits) <= 300, max(waits) > 250) == (True, True, True)


def test_other_calls_do_not_fail() -> None:
    draw = FaultDraw(Random(5), 1.0, ["send"])

    assert draw("login") is None
