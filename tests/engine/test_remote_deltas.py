"""What the events of a server's stream mean."""

from typing import Any

import pytest

from clawdbot.engine.protocol import UNOPENED, Opening
from clawdbot.engine.remote.deltas import Delta, Reader, Spent
from clawdbot.engine.remote.faults import Fault

THINKING = Opening("<think>\n", (5, 6), closed_by=9)
"""How some templates begin an answer."""


def said(finish: str | None = None, **delta: str) -> dict[str, Any]:
    """An event of a chat, with a token in it."""
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish, "token_ids": [7]}]}


def text_of(reader: Reader, *events: dict[str, Any]) -> str:
    return "".join(reader.read(event).text for event in events)


def test_a_completion_and_a_chat_say_the_same() -> None:
    completion = {"choices": [{"text": "Hi", "token_ids": [1, 2], "finish_reason": "stop"}]}
    chat = {"choices": [{"delta": {"content": "Hi"}, "token_ids": [1, 2], "finish_reason": "stop"}]}

    assert Reader().read(completion) == Reader().read(chat) == Delta("Hi", (1, 2), "stop")


def test_the_first_event_of_a_chat_is_no_token() -> None:
    """It says who speaks; the time of the first token is not its time."""
    assert Reader().read({"choices": [{"delta": {"role": "assistant", "content": ""}}]}) == Delta()


def test_a_token_that_makes_no_text_yet_is_one() -> None:
    assert Reader().read(said(content="")) == Delta("", (7,))


def test_the_last_event_says_what_it_took() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    metrics = {"queue_time_ms": 1.0, "time_to_first_token_ms": 2.0}

    assert Reader().read({"choices": [], "usage": usage, "metrics": metrics}) == Delta(
        spent=Spent(5, 2, 4, 0.001, 0.002)
    )
    assert Reader().read({"choices": [], "usage": usage | {"prompt_tokens_details": None}}) == Delta(
        spent=Spent(5, 2, None, None, None)
    )


def test_a_thought_that_the_server_took_apart_gets_its_marks_back() -> None:
    """They hide it wherever the text is shown, and tell a template what to leave out."""
    events = said(reasoning="It is "), said(reasoning="a bird."), said(content="A "), said(content="heron.")

    assert text_of(Reader(), *events) == "<think>\nIt is a bird.\n</think>\n\nA heron."


def test_a_thought_that_the_template_opened_is_only_closed() -> None:
    """By the mark that fits; the opening is the answer's already."""
    events = said(reasoning="It is a bird."), said(content="A heron.")

    assert text_of(Reader(Opening("<reasoning>\n")), *events) == "It is a bird.\n</reasoning>\n\nA heron."


def test_a_thought_with_nothing_in_it_is_closed_too() -> None:
    """The model closes at once what the template opened, and its mark is all that the server takes away."""
    assert text_of(Reader(THINKING), said(), said(content="A heron.")) == "\n</think>\n\nA heron."


@pytest.mark.parametrize("thought", [{}, {"reasoning": ""}, {"reasoning": None}], ids=["unsaid", "empty", "null"])
def test_one_that_closes_together_with_the_first_words_is_closed_too(thought: dict[str, str]) -> None:
    """A busy server sends several tokens in one event; only the tokens tell that the mark was among them."""
    choice = {"index": 0, "delta": thought | {"content": "A "}, "finish_reason": None, "token_ids": [9, 7]}

    assert text_of(Reader(THINKING), {"choices": [choice]}, said(content="heron.")) == "\n</think>\n\nA heron."


def test_the_closing_mark_in_the_text_of_an_event_is_not_doubled() -> None:
    choice = {"index": 0, "delta": {"content": "so.</think>A "}, "finish_reason": None, "token_ids": [7, 9, 7]}

    assert text_of(Reader(THINKING), {"choices": [choice]}, said(content="heron.")) == "so.</think>A heron."


@pytest.mark.parametrize("opening", [UNOPENED, THINKING])
def test_a_server_that_takes_nothing_apart_is_believed(opening: Opening) -> None:
    """Its text has the marks already; half a character is no mark."""
    first = {"choices": [{"delta": {"role": "assistant", "content": ""}}]}
    events = first, said(content="It is"), said(content=""), said(content="\n</think>\n\n"), said(content="A heron.")

    assert text_of(Reader(opening), *events) == "It is\n</think>\n\nA heron."


def test_an_answer_that_ends_in_its_thought_stays_in_it() -> None:
    assert text_of(Reader(), said("length", reasoning="It is")) == "<think>\nIt is"


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"choices": [{}]},
        {"choices": [{"text": "Hi"}]},
        {"choices": [{"text": "Hi", "token_ids": 5}]},
        {"choices": [{"delta": {"content": "Hi"}}]},
        {"choices": [{"text": "", "token_ids": [1], "finish_reason": "abort"}]},
        {"choices": [], "usage": {"prompt_tokens": None}},
        ["choices"],
        "Hi",
        None,
    ],
)
def test_what_is_no_event_is_a_fault(event: object) -> None:
    """Nothing else comes out of it, whatever a proxy makes of a stream."""
    with pytest.raises(Fault):
        Reader().read(event)
