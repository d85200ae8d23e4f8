"""discord.py's and aiohttp's exceptions as this project's, once, at the border."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from json import JSONDecodeError

import aiohttp
import discord

from clawdbot.errors import (
    AdapterError,
    DeliveryError,
    Forbidden,
    Gone,
    Limited,
    Rejected,
    Unauthorized,
    Unreachable,
    Unsure,
)
from clawdbot_discord.settings import PORTAL

ALREADY_ACKNOWLEDGED = 40060
CLOSING = frozenset({10003, 50001, 50007, 50013, 50278})
"""Codes that hold for a whole channel: unknown, no access, blocked by the user, no permission, no guild in common."""
NO_REFERENCE = frozenset({160002, 160009})
"""Codes for a message that may not point at another one: the bot may not read the channel's history."""
CLOSED = "Session is closed"
"""What aiohttp says of a call through a client that was closed."""
_TOKEN_REFUSED = 4004


@asynccontextmanager
async def one_call(seconds: float) -> AsyncIterator[None]:
    """Around one call to Discord, given up after ``seconds``: raises `DeliveryError` and nothing of the libraries'."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except discord.RateLimited as error:
        raise Limited(error.retry_after) from error
    except discord.NotFound as error:
        raise Gone(f"Discord knows it no more: {error.text} ({error.code}).") from error
    except discord.Forbidden as error:
        raise Forbidden(f"Discord does not let the bot write there: {error.text} ({error.code}).") from error
    except discord.HTTPException as error:
        if error.status == 401:
            raise Gone("The time in which the command could be answered is over.") from error
        raise Rejected(f"Discord refuses it: {error.text} ({error.status}, {error.code}).") from error
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, discord.ConnectionClosed) as error:
        raise Unreachable("Discord cannot be reached.") from error
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        raise Unsure("Discord did not answer.") from error
    except JSONDecodeError as error:
        raise Unsure("Discord's answer cannot be read.") from error
    except RuntimeError as error:
        if str(error) != CLOSED:
            raise
        raise Unreachable("The session with Discord has ended.") from error


def code_of(error: DeliveryError) -> int:
    """Discord's own number for what `one_call` has translated; 0 for none."""
    return error.__cause__.code if isinstance(error.__cause__, discord.HTTPException) else 0


@contextmanager
def one_session() -> Iterator[None]:
    """Around a client's whole life: raises `AdapterError` and nothing of the libraries'."""
    try:
        yield
    except discord.LoginFailure as error:
        raise Unauthorized(REFUSED) from error
    except discord.PrivilegedIntentsRequired as error:
        raise Unauthorized(NO_CONTENT) from error
    except discord.ConnectionClosed as error:
        if error.code == _TOKEN_REFUSED:
            raise Unauthorized(REFUSED) from error
        raise AdapterError(f"Discord closed the connection for good (code {error.code}).") from error
    except (DeliveryError, discord.DiscordException, aiohttp.ClientError, OSError, TimeoutError) as error:
        raise AdapterError(f"Discord cannot be served: {error}") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # discord.py 2.7 trips over its own feet when the first handshake fails ("'NoneType' object has no attribute
        # 'sequence'") or when an answer is no JSON; a new client is the only way on.
        raise AdapterError(f"discord.py broke down: {error!r}") from error


REFUSED = (
    "Discord refuses the token. Reset it on the page Bot of your application at "
    f"{PORTAL} and put the new one into CLAWDBOT_DISCORD_TOKEN."
)
NO_CONTENT = (
    "Discord lets the bot not read messages: switch on 'Message Content Intent' on the page Bot (Privileged Gateway "
    f"Intents) of your application at {PORTAL}."
)
