"""The platforms, as their plugins tell about them."""

import pytest
from pydantic import BaseModel

from clawdbot.chat import Account
from clawdbot.errors import ClawdBotError, Limited, Rejected, Unauthorized, Unreachable, Unsure
from clawdbot.ops.doctor.finding import Level
from clawdbot.ops.doctor.platforms import account, token


class Nothing(BaseModel):
    """A platform's settings."""


def test_a_tokens_shape_is_told_and_never_the_token() -> None:
    def refuse(settings: BaseModel) -> None:
        raise Unauthorized("This is no token. Get one.")

    assert token("telegram token", lambda settings: "123:secret", Nothing()).text == "It has the shape of one."
    assert token("telegram token", refuse, Nothing()).level is Level.FAIL


@pytest.mark.parametrize(
    ("said", "level", "words"),
    [
        (Account("@claw"), Level.OK, "the token is @claw's."),
        (Account("@claw", notes=("Privacy mode is on.",)), Level.OK, "Privacy mode is on."),
        (Account("@claw", doubts=("Anybody may invite it.",)), Level.WARN, "Anybody may invite it."),
        (Unauthorized("The token is refused."), Level.FAIL, "The token is refused."),
        (Unreachable("connection refused"), Level.FAIL, "No connection: connection refused."),
        (Unsure("5 s are over"), Level.FAIL, "No answer in time: 5 s are over."),
        (Limited(30.0), Level.WARN, "in 30 s"),
        (Rejected("a page of HTML"), Level.FAIL, "otherwise than expected"),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_whatever_a_platform_says_is_told_apart(said: Account | ClawdBotError, level: Level, words: str) -> None:
    async def ask(settings: BaseModel) -> Account:
        if isinstance(said, Account):
            return said
        raise said

    found = await account("telegram", ask, Nothing())
    assert found.level is level
    assert words in found.line
