"""Half characters never reach the database or the tokenizer."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as some

from clawdbot.chat import Person, Quoted
from clawdbot.testing.rig import Rig
from clawdbot.wellformed import whole

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


async def test_half_characters_of_people_are_answered(rig: NewRig) -> None:
    """In the text, the name and the quotation."""
    bot = rig()
    async with bot.running():
        answer = bot.platform.say(
            f"Why{HALF}?", Person(1, f"A{HALF}da"), private=False, quoted=Quoted(f"B{HALF}", f"So{HALF}.")
        )
        await bot.idle()

    assert answer.screen.texts == ["You said: > B\ufffd: So\ufffd.\n\nA\ufffdda: Why\ufffd?"]
