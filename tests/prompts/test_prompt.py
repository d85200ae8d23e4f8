"""Prompts fit, begin with the system prompt, break at turn borders, and keep their beginning as long as possible."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as some

from clawdbot.engine.protocol import Role, Tokenizer
from clawdbot.errors import PromptTooLong
from clawdbot.prompts.prompt import KEEP, Prompt, Room, assemble, compose, exchanges_to_drop, room
from clawdbot.store import Turn
from clawdbot.testing.engine import CharacterTokenizer
from clawdbot.testing.rig import turns


class MannerlyTokenizer(CharacterTokenizer):
    """A template that says more around the first exchange than around later ones, as some do."""

    async def pieces(self, roles: Sequence[Role], images: int = 0) -> list[list[int]]:
        first, second, *others = await super().pieces(roles, images)
        return [first, [-9] * 20 * ("assistant" in roles) + second, *others]


def history(*lengths: int, first_id: int = 2) -> list[Turn]:
    """Exchanges whose turns have so many tokens: questions and answers in turn."""
    roles: tuple[Role, Role] = ("user", "assistant")
    return [Turn(first_id + number, roles[number % 2], "x" * length, None) for number, length in enumerate(lengths)]


def composed(
    past: Sequence[Turn], question: str, within: Room, system: str = "", tokenizer: Tokenizer | None = None
) -> Prompt:
    return asyncio.run(compose(tokenizer or CharacterTokenizer(), system, past, question, within))


def test_a_prompt_is_the_turns_in_the_models_template() -> None:
    made = composed(history(3, 4), "Why?", Room(100, 100), system="Be brief.")

    assert turns(made.tokens) == [
        ("system", "Be brief."),
        ("user", "xxx"),
        ("assistant", "xxxx"),
        ("user", "Why?"),
        ("assistant", ""),
    ]
    assert made.question == [ord(character) for character in "Why?"]
    assert made.first_turn is None


def test_known_tokens_are_used_as_they_are() -> None:
    """The text of an answer, tokenized again, can give other tokens: the cached beginning would not fit any more."""
    past = [
        Turn(2, "user", "Hi", [7, 8]),
        Turn(3, "assistant", "Hello", [9]),
    ]

    assert turns(composed(past, "?", Room(100, 100)).tokens)[:2] == [("user", "\x07\x08"), ("assistant", "\x09")]


@pytest.mark.parametrize("system", ["", "Be brief."])
def test_a_question_without_text_is_a_turn_of_its_own(system: str) -> None:
    made = composed([], "", Room(100, 100), system)

    assert turns(made.tokens)[-2:] == [("user", ""), ("assistant", "")]
    assert made.question == []


@pytest.mark.parametrize(
    ("context", "answer", "share", "expected"),
    [
        (8192, 1024, 0.75, Room(7168, 5376)),
        (8192, 1024, 1.0, Room(7168, 7168)),
        (1000, 5000, 0.5, Room(500, 250)),
    ],
)
def test_the_answer_has_its_room_but_never_more_than_half(
    context: int, answer: int, share: float, expected: Room
) -> None:
    assert room(context, answer, share) == expected


def test_too_long_a_question_names_its_tokens_and_the_room() -> None:
    """The room for the question alone: what system prompt and template take is not the asker's affair."""
    with pytest.raises(PromptTooLong) as caught:
        composed(history(5, 5), "x" * 100, Room(64, 64), system="Be brief.")

    # 64 tokens, less 9 of the system prompt and 8 of the template.
    assert (caught.value.tokens, caught.value.limit) == (100, 47)


def test_a_system_prompt_that_fills_the_context_leaves_no_room() -> None:
    with pytest.raises(PromptTooLong) as caught:
        composed([], "Hi", Room(10, 10), system="x" * 50)

    assert caught.value.limit == 0


def test_a_question_may_need_all_the_room_of_the_history() -> None:
    made = composed(history(20, 20), "x" * 59, Room(64, 64))

    assert turns(made.tokens) == [("user", "x" * 59), ("assistant", "")]
    assert made.first_turn == 4


def test_a_long_question_halves_what_it_leaves_room_for() -> None:
    """And not just as much as it needs: the next one would need a bit more."""
    past = history(*[8] * 20)  # ten exchanges of 22 tokens with their template
    made = composed(past, "q" * 100, Room(300, 300))

    left = 300 - 105
    kept = len(made.tokens) - 105
    assert KEEP * left - 22 < kept <= KEEP * left


def test_a_template_that_says_more_around_the_first_exchange_fits_too() -> None:
    """Two exchanges of 40 and 14 tokens, for which there is room for 30: when the first goes, the second has 34."""
    made = composed(history(7, 7, 4, 4), "q", Room(36, 36), tokenizer=MannerlyTokenizer())

    assert turns(made.tokens) == [("user", "q"), ("assistant", "")]


def test_nothing_is_dropped_as_long_as_there_is_room() -> None:
    assert exchanges_to_drop([10, 10, 10], 30) == 0


def test_a_full_history_is_halved_in_one_go() -> None:
    """The oldest go first."""
    assert exchanges_to_drop([10, 10, 10, 1], 30) == 2


def test_a_history_without_room_is_dropped_whole() -> None:
    assert exchanges_to_drop([10, 10], 0) == 2


# The machine may be busy with something else.
calm = settings(deadline=None)

lengths = some.lists(some.integers(0, 20), max_size=12).map(lambda found: found[: len(found) // 2 * 2])
systems = some.integers(0, 30).map("s".__mul__)
rooms = some.builds(Room, some.integers(10, 150), some.integers(0, 150))
tokenizers = some.sampled_from([CharacterTokenizer(), MannerlyTokenizer()])


@calm
@given(lengths, some.integers(0, 40), systems, rooms, tokenizers)
def test_a_prompt_always_fits(
    sizes: list[int], asked: int, system: str, within: Room, tokenizer: CharacterTokenizer
) -> None:
    """Whatever the history. What stays of it is its end, whole exchanges, behind the system prompt."""
    past, question = history(*sizes), "q" * asked
    assume(len(composed([], question, Room(1000, 0), system, tokenizer).tokens) <= within.prompt)

    made = composed(past, question, within, system, tokenizer)

    kept = [turn for turn in past if made.first_turn is None or turn.id >= made.first_turn]
    opening = [("system", system)] if system else []
    assert len(made.tokens) <= within.prompt
    assert len(kept) % 2 == 0
    assert turns(made.tokens) == [
        *opening,
        *((turn.role, turn.text) for turn in kept),
        ("user", question),
        ("assistant", ""),
    ]


@calm
@given(lengths, some.integers(0, 40), systems, rooms)
def test_the_beginning_is_there_before_the_question_is(sizes: list[int], asked: int, system: str, within: Room) -> None:
    """So it can be read ahead; with a system prompt it begins as a prompt without any history does."""
    past, question = history(*sizes), "q" * asked
    assume(len(composed([], question, Room(1000, 0), system).tokens) <= within.prompt)

    made, ahead, opening = (
        composed(past, question, within, system),
        composed(past, "", within, system),
        composed([], "", within, system),
    )

    beginning = made.tokens[: made.beginning]
    assert turns(made.tokens[made.beginning - 2 :]) == [("user", question), ("assistant", "")]
    assert beginning[: opening.beginning] == opening.tokens[: opening.beginning]
    if made.first_turn == ahead.first_turn:
        assert beginning == ahead.tokens[: ahead.beginning]


@dataclass(frozen=True, slots=True)
class Exchange:
    """How many tokens a question and its answer have."""

    question: int
    answer: int


exchanges = some.builds(Exchange, some.integers(1, 40), some.integers(1, 60))


@calm
@given(some.lists(exchanges, min_size=1, max_size=40), systems)
def test_prompts_between_two_trims_share_their_beginning(talk: list[Exchange], system: str) -> None:
    """Each begins with the whole one before it and that one's answer; a trim frees room for a while."""
    within = Room(400, 300)
    past: list[Turn] = []
    before: list[int] = []
    for number, each in enumerate(talk):
        made = composed(past, "q" * each.question, within, system)
        if made.first_turn is None:
            assert made.tokens[: len(before)] == before
        else:
            past = [turn for turn in past if turn.id >= made.first_turn]
            held = len(made.tokens) - len(composed([], "q" * each.question, within, system).tokens)
            assert held <= KEEP * within.history
        before = made.tokens + [ord("x")] * each.answer
        past += history(each.question, each.answer, first_id=2 * number + 2)
        past[-2] = Turn(2 * number + 2, "user", "q" * each.question, made.question)


def test_contents_stand_between_the_pieces() -> None:
    assert assemble([[1], [2], [3]], [[10, 11], []]) == [1, 10, 11, 2, 3]


def test_contents_and_pieces_have_to_match() -> None:
    with pytest.raises(ValueError, match="zip"):
        assemble([[1], [2]], [])
