"""Which of somebody's messages goes on where another one ended."""

from datetime import UTC, datetime, timedelta

import pytest
from telegram import Chat, Message, User

from clawdbot_telegram.pastes import Pastes, Piece

START = datetime(2027, 1, 1, tzinfo=UTC)
LONG = "a" * 4096


def said(text: str, after: float = 0.0, *, by: int = 1, chat: int = -5, topic: int | None = None) -> Message:
    """A message so many seconds after the first one."""
    return Message(
        message_id=1,
        date=START + timedelta(seconds=after),
        chat=Chat(chat, "group"),
        from_user=User(by, "Ada", is_bot=False),
        text=text,
        message_thread_id=topic,
    )


@pytest.fixture
def pastes() -> Pastes:
    """After a text of Ada's that fills a message."""
    pastes = Pastes(2048)
    pastes.hear(said(LONG), "-5:1")
    return pastes


def test_what_follows_at_once_goes_on_where_it_ended(pastes: Pastes) -> None:
    assert pastes.piece(said("b", 1.0)) == Piece("-5:1", "")


def test_white_space_is_lost_where_a_piece_ends_before_the_limit(pastes: Pastes) -> None:
    """The client has looked for a good place there."""
    pastes.hear(said("a" * 3000), "-5:1")

    assert pastes.piece(said("b", 1.0)) == Piece("-5:1", "\n")


@pytest.mark.parametrize(
    "other",
    [said("b", 3.0), said("b", by=2), said("b", chat=-6), said("b", topic=7), said("")],
    ids=["later", "somebody else", "elsewhere", "another topic", "no text"],
)
def test_other_messages_are_texts_of_their_own(pastes: Pastes, other: Message) -> None:
    assert pastes.piece(other) is None


@pytest.mark.parametrize(("text", "first"), [("short", "-5:1"), (LONG, None)])
def test_some_texts_do_not_go_on(pastes: Pastes, text: str, first: str | None) -> None:
    """A short one, and a long one that was not meant for the bot."""
    pastes.hear(said(text), first)

    assert pastes.piece(said("b", 1.0)) is None


def test_a_piece_may_go_on_itself(pastes: Pastes) -> None:
    """All belong to the first one."""
    pastes.hear(said(LONG, 1.0), "-5:1")

    assert pastes.piece(said("b", 2.5)) == Piece("-5:1", "")


def test_length_is_counted_as_telegram_counts() -> None:
    assert Pastes(2048).may_go_on(said("😀" * 1024))
    assert not Pastes(2048).may_go_on(said("a" * 2047))
