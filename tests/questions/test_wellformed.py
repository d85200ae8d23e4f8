"""What cannot be kept never reaches the database or the tokenizer."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as some

from clawdbot.attached import Attachment
from clawdbot.chat import Conversation, Deleted, Edited, Event, Message, Person, Pressed, Quoted
from clawdbot.questions.wellformed import wellformed, whole
from clawdbot.testing.rig import ADA, Rig

NewRig = Callable[..., Rig]
HALF = "\ud83d"


@pytest.mark.parametrize(
    ("text", "expected"), [("a\ud83db", "a\ufffdb"), ("\ud83d\ude00", "😀"), ("Grüße 🦩\0", "Grüße 🦩\0")]
)
def test_half_a_character_is_an_unknown_one(text: str, expected: str) -> None:
    """Two halves that stand together are one; all else stays."""
    assert whole(text) == expected


@given(some.text(some.characters(categories=["Cs", "L"])))
def test_any_text_can_be_written(text: str) -> None:
    assert whole(text).encode().decode() == whole(text)


HERE = Conversation("memory", 1, private=True)
MESSAGE = Message("1", HERE, ADA, "Why?", 0.0)
HALVES = Message(
    HALF, HERE, Person(1, HALF), HALF, 0.0, None, Quoted(HALF, HALF), (Attachment(HALF, HALF, 1, HALF),), (HALF,), HALF
)


@pytest.mark.parametrize(
    "event", [HALVES, Edited(HALVES), Deleted(HERE, HALF), Pressed(HERE, Person(1, HALF), HALF, HALF)]
)
def test_there_are_no_half_characters_in_any_part_of_an_event(event: Event) -> None:
    kept = repr(wellformed(event))

    assert repr(HALF)[1:-1] not in kept
    assert "\ufffd" in kept


def test_an_event_that_can_be_kept_stays_as_it_is() -> None:
    assert wellformed(MESSAGE) is MESSAGE


@pytest.mark.parametrize("number", [2**63, -(2**63), 2**100])
async def test_a_number_that_no_database_takes_is_left_alone(rig: NewRig, number: int) -> None:
    """No platform gives one: it is forged. Nothing is said to anybody and nothing else suffers."""
    bot = rig()
    async with bot.running():
        forged = bot.platform.say("Hello", Person(number, "Nobody"))
        elsewhere = bot.platform.say("Hello", chat=number)
        bot.platform.press("stop", elsewhere, Person(number, "Nobody"))
        answer = bot.platform.say("Hello")
        await bot.idle()

    assert (forged.calls, elsewhere.calls) == ([], [])
    assert answer.screen.texts == ["You said: Hello"]


async def test_half_characters_of_people_are_answered(rig: NewRig) -> None:
    """In the text, the name and the quotation."""
    bot = rig()
    async with bot.running():
        answer = bot.platform.say(
            f"Why{HALF}?", Person(1, f"A{HALF}da"), private=False, quoted=Quoted(f"B{HALF}", f"So{HALF}.")
        )
        await bot.idle()

    assert answer.screen.texts == ["You said: > B\ufffd: So\ufffd.\n\nA\ufffdda: Why\ufffd?"]
