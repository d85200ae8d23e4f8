"""The library's errors in the project's own words, translated once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx
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

GONE = ("not found", "message_id_invalid", "message can't be edited", "topic_deleted", "group chat was upgraded")
FORBIDDEN = ("not enough rights", "have no rights", "chat_write_forbidden", "topic_closed", "administrator rights")
UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)
"""What goes wrong before the first byte of a request is written."""


@asynccontextmanager
async def one_call(seconds: float) -> AsyncIterator[None]:
    """Around one call to Telegram, given up after ``seconds``: raises `DeliveryError` and nothing of the library's.

    The library's own limits are for every step of a call: one whose answer comes drop by drop would never end.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TelegramError as error:
        raise delivery_error(error) from error
    except TimeoutError as error:
        raise Unsure(f"Telegram did not answer within {seconds:g} s.") from error


def delivery_error(error: TelegramError) -> DeliveryError:
    """What ``error`` means for the call that raised it."""
    match error:
        case RetryAfter():
            return Limited(seconds(error.retry_after))
        case TelegramForbidden():
            return Forbidden(error.message)
        case ChatMigrated():
            return Moved(error.new_chat_id)
        case BadRequest():
            return _refused(error.message)
        case EndPointNotFound():
            return Rejected(error.message)
        case InvalidToken() if "not found" in error.message.lower():
            # The library reads every 404 as a bad token. The token was good at login, so the server lacks the method.
            return Rejected(f"The Bot API server does not know this call: {error.message}")
        case InvalidToken():
            # Polling ends over it; what is not delivered waits for a start with a good token.
            return Unreachable(f"Telegram no longer accepts the bot's token: {error.message}")
        case TimedOut() | NetworkError():
            return _lost(error)
        case Conflict():
            return Unreachable(error.message)
    return Unsure(error.message)


def seconds(wait: int | timedelta) -> float:
    """A time as the library gives it: a number or, with PTB_TIMEDELTA set, a timedelta."""
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)


def _refused(message: str) -> DeliveryError:
    lowered = message.lower()
    if any(sign in lowered for sign in FORBIDDEN):
        return Forbidden(message)
    if any(sign in lowered for sign in GONE):
        return Gone(message)
    return Rejected(message)


def lost(error: httpx.HTTPError) -> DeliveryError:
    """What became of a call without a proper answer."""
    said = f"httpx.{type(error).__name__}"
    return Unreachable(said) if isinstance(error, UNSENT) else Unsure(said)


def _lost(error: NetworkError) -> DeliveryError:
    """The same as the library tells it. It keeps the reason as the cause; without one it was an HTTP status."""
    cause = error.__cause__
    if isinstance(cause, httpx.HTTPError):
        return lost(cause)
    if "too large" in error.message.lower():
        return Rejected(error.message)
    if "timeout" in error.message.lower() or not (cause is None or isinstance(cause, TelegramError)):
        return Unsure(error.message)
    return Unreachable(error.message)
