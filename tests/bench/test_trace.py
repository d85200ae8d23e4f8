import pytest

from clawdbot.bench.trace import Trace, asked, draw
from clawdbot.testing.engine import CharacterTokenizer


def trace(seed: int = 1, tokens: int = 50) -> Trace:
    return draw(chats=3, rounds=2, spread=2.0, tokens=tokens, first=0.2, rate=40.0, seed=seed)


def test_a_seed_draws_the_same_trace_again() -> None:
    assert trace(5) == trace(5) != trace(6)


def test_every_round_asks_in_all_chats_within_the_spread() -> None:
    times = [question.at for question in trace().questions]

    assert len(times) == 6
    assert all(0 <= at <= 2 for at in times[:3])
    assert max(times[3:]) - min(times[3:]) <= 2


def test_a_round_begins_when_the_answers_of_the_one_before_are_written() -> None:
    times = [question.at for question in trace().questions]

    assert min(times[3:]) > max(times[:3]) + 0.2 + 50 / 40


@pytest.mark.parametrize("tokens", [3, 4, 50, 400])
def test_answers_have_as_many_tokens_as_asked_for(tokens: int) -> None:
    assert {len(question.tokens) for question in trace(tokens=tokens).questions} == {tokens}


async def test_the_engine_finds_the_question_in_its_prompt() -> None:
    question = trace().questions[4]
    prompt = await CharacterTokenizer().encode(f"Question 1: an older one? Yes. {question.text}")

    assert asked([-1, -2, *prompt, -5]) == question.number


def test_a_prompt_without_a_question_of_the_trace_is_no_answer_to_give() -> None:
    with pytest.raises(LookupError, match="no question"):
        asked([ord(character) for character in "Hello"])
