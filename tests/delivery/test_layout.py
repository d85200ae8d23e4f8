"""A finished text as messages and, past their number, a file."""

import pytest

from clawdbot import words
from clawdbot.chat import State
from clawdbot.delivery.layout import REST_NAME, Layout
from clawdbot.testing.memory import limits

SIZE, MOST = 100, 3
STATES = [State.FINAL, State.STOPPED, State.INTERRUPTED]
ENDINGS = {State.FINAL: "", State.STOPPED: words.STOPPED_MARK, State.INTERRUPTED: words.INTERRUPTED_MARK}


@pytest.mark.parametrize("text", ["short", "x" * SIZE, "x" * (SIZE + 1), "word " * 400])
def test_a_reply_of_one_message_is_one(text: str) -> None:
    """What does not fit it is whole in its file; nothing is cut, nothing is told twice."""
    (frame,) = Layout(limits(size=SIZE), 0).final(text, State.NOTICE)
    if len(text) <= SIZE:
        assert (frame.text, frame.files) == (text, ())
    else:
        assert frame.text == words.ATTACHED
        assert [file.data.decode() for file in frame.files] == [text.strip()]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("length", range(260, 320))
def test_text_about_as_long_as_its_messages_is_shown_whole_with_its_mark(length: int, state: State) -> None:
    """Where the mark alone is too much for the last message it has one of its own, and no empty file is attached."""
    text = ("word " * 100)[:length]
    frames = Layout(limits(size=SIZE), MOST).final(text, state)
    files = [file for frame in frames for file in frame.files]
    shown = " ".join(frame.text for frame in frames).removesuffix(ENDINGS[state])
    attached = b"".join(file.data for file in files).decode()
    assert f"{shown} {attached}".replace(words.REST, "").split() == text.split()
    assert [file.name for file in files] == [REST_NAME] * bool(attached)
    assert len(frames) <= MOST + 1
    assert all(len(frame.text) <= SIZE for frame in frames)
    assert frames[-1].text.endswith(ENDINGS[state])


def test_code_that_is_cut_by_the_file_is_closed_before_it() -> None:
    text = "```py\n" + "x = 1\n" * 100 + "```"
    *shown, last = Layout(limits(size=SIZE), MOST).final(text, State.FINAL)
    assert all(frame.text.startswith("```py\n") and frame.text.endswith("\n```") for frame in shown)
    assert last.text == words.REST


NOTE = "first word 0.24 s"


def test_a_footnote_stands_below_the_last_message_alone() -> None:
    """It is no part of the text."""
    frames = Layout(limits(size=SIZE), MOST, NOTE).final("word " * 40, State.FINAL, footnote=NOTE)
    assert [frame.footnote for frame in frames] == ["", "", NOTE]
    assert " ".join(frame.text for frame in frames).split() == ["word"] * 40


@pytest.mark.parametrize("length", range(150, 230))
def test_room_for_a_footnote_is_there_from_the_beginning(length: int) -> None:
    """Or text that was read already would move to another message when the answer is complete."""
    text = ("word " * 100)[:length]
    layout = Layout(limits(size=SIZE), MOST, NOTE)
    growing = [frame.text for frame in layout.growing(text)]
    frames = layout.final(text, State.FINAL, footnote=NOTE)
    assert [frame.text for frame in frames] == growing
    assert frames[-1].footnote == NOTE
    assert all(len(frame.text) + len(f"\n\n*{NOTE}*") <= SIZE for frame in frames)


def test_a_footnote_without_room_is_left_out() -> None:
    """It is worth no message of its own and no refusal."""
    frames = Layout(limits(size=SIZE), MOST).final("x" * SIZE, State.FINAL, footnote=NOTE)
    assert [(frame.text, frame.footnote) for frame in frames] == [("x" * SIZE, "")]
