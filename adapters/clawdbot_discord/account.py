"""Asks Discord whose token the bot has, without opening a session."""

import aiohttp
from discord.http import Route

from clawdbot.chat import Account
from clawdbot.errors import Limited, Rejected, Unauthorized, Unreachable, Unsure
from clawdbot_discord.settings import PORTAL, DiscordSettings
from clawdbot_discord.translate import NO_CONTENT, REFUSED

CONTENT = 1 << 18 | 1 << 19
"""Flags of an application: message content is allowed, by review or for a bot in few servers."""
PUBLIC = (
    "Anybody may invite this bot to their server: switch off 'Public Bot' on the page Bot of your application at "
    f"{PORTAL}, unless that is meant."
)


async def account(settings: DiscordSettings, patience: float = 5.0) -> Account:
    """See `clawdbot.chat.Plugin.account`. ``patience``: seconds for a connection, and for an answer."""
    headers = {"Authorization": f"Bot {settings.read_token()}"}
    url = f"{(settings.api_url or Route.BASE).rstrip('/')}/oauth2/applications/@me"
    timeout = aiohttp.ClientTimeout(total=2 * patience, sock_connect=patience, sock_read=patience)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, headers=headers, allow_redirects=False) as answer,
        ):
            _look(answer)
            return _account(await answer.json())
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        raise Unreachable(f"{url} cannot be reached ({error})") from error
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        raise Unsure(f"{url} does not answer") from error
    except (ValueError, TypeError, LookupError) as error:
        raise Rejected(f"{url} answers something that is no application of Discord's") from error


def _look(answer: aiohttp.ClientResponse) -> None:
    if answer.status == 401:
        raise Unauthorized(REFUSED)
    if answer.status == 429:
        raise Limited(float(answer.headers.get("Retry-After", "60")))
    if answer.status != 200:
        raise Unreachable(f"{answer.url} is out of order ({answer.status})")


def _account(application: dict[str, object]) -> Account:
    flags = application["flags"]
    if isinstance(flags, int) and not flags & CONTENT:
        raise Unauthorized(NO_CONTENT)
    return Account(str(application["name"]), doubts=(PUBLIC,) if application["bot_public"] else ())
