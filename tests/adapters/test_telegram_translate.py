"""What each of the library's errors means for the call that raised it."""

from datetime import timedelta

import httpx
import pytest
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    EndPointNotFound,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)
from telegram.error import Forbidden as TelegramForbidden

from clawdbot.errors import DeliveryError, Forbidden, Gone, Limited, Moved, Rejected, Unreachable, Unsure
from clawdbot_telegram.translate import delivery_error, one_call, seconds


def caused(error: TelegramError, cause: Exception) -> TelegramError:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (BadRequest("Message to edit not found"), Gone),
        (BadRequest("Chat not found"), Gone),
        (BadRequest("Message thread not found"), Gone),
        (BadRequest("Message can't be edited"), Gone),
        (BadRequest("Group chat was upgraded to a supergroup chat"), Gone),
        (ChatMigrated(-1001), Moved),
        (BadRequest("Message is too long"), Rejected),
        (BadRequest("Message text is empty"), Rejected),
        (BadRequest("Not enough rights to send text messages to the chat"), Forbidden),
        (BadRequest("Topic_closed"), Forbidden),
        (TelegramForbidden("bot was blocked by the user"), Forbidden),
        (NetworkError("Request Entity Too Large"), Rejected),
        (NetworkError("Bad Gateway (502)"), Unreachable),
        (NetworkError("Internal Server Error"), Unreachable),
        (NetworkError("Gateway Timeout (504)"), Unsure),
        (Conflict("terminated by other getUpdates request"), Unreachable),
        (TelegramError("Invalid server response"), Unsure),
        (EndPointNotFound("Endpoint 'sendNews' not found in Bot API"), Rejected),
        (caused(TimedOut(), httpx.ConnectTimeout("")), Unreachable),
        (caused(TimedOut("Pool timeout"), httpx.PoolTimeout("")), Unreachable),
        (caused(TimedOut(), httpx.ReadTimeout("")), Unsure),
        (caused(TimedOut(), httpx.WriteTimeout("")), Unsure),
        (caused(NetworkError("httpx.ConnectError"), httpx.ConnectError("")), Unreachable),
        (caused(NetworkError("httpx.ReadError"), httpx.ReadError("")), Unsure),
        (caused(NetworkError("httpx.RemoteProtocolError"), httpx.RemoteProtocolError("")), Unsure),
        (caused(NetworkError("Unknown error in HTTP implementation"), ValueError()), Unsure),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else repr(value),
)
def test_the_meaning_of_an_error(error: TelegramError, meaning: type[DeliveryError]) -> None:
    assert type(delivery_error(error)) is meaning


def test_a_missing_method_is_not_a_bad_token() -> None:
    """The library raises InvalidToken for every 404; the token was good at login."""
    assert type(delivery_error(InvalidToken("Not Found"))) is Rejected


def test_an_answer_waits_for_a_token_that_was_taken_away() -> None:
    """Another one will come; nothing was said about the chat."""
    assert type(delivery_error(InvalidToken("Unauthorized"))) is Unreachable


@pytest.mark.parametrize("timedelta_wanted", ["true", "false"])
@pytest.mark.filterwarnings("ignore:.*PTB_TIMEDELTA")
def test_a_wait_is_taken_as_given(monkeypatch: pytest.MonkeyPatch, timedelta_wanted: str) -> None:
    monkeypatch.setenv("PTB_TIMEDELTA", timedelta_wanted)
    limited = delivery_error(RetryAfter(14_000))
    assert isinstance(limited, Limited)
    assert limited.retry_after == 14_000


def test_seconds_come_as_a_number_or_as_a_time() -> None:
    assert seconds(7) == seconds(timedelta(seconds=7)) == 7.0


async def test_the_librarys_error_stays_as_the_cause() -> None:
    original = BadRequest("Message is too long")
    with pytest.raises(Rejected) as refused:
        async with one_call(1.0):
            raise original
    assert refused.value.__cause__ is original
