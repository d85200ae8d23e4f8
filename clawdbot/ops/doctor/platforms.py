"""The platforms: can their tokens be tokens, are they in reach, do they take them."""

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel

from clawdbot.chat import Account
from clawdbot.errors import ClawdBotError, Limited, Unauthorized, Unreachable, Unsure
from clawdbot.ops.doctor.finding import Finding, fail, ok, warn


def token(about: str, check: Callable[[Any], object], settings: BaseModel) -> Finding:
    """Whether the token has the shape of one; it is never shown. ``check``: see `clawdbot.chat.Plugin.check_token`."""
    try:
        check(settings)
    except Unauthorized as error:
        return fail(about, str(error), "")
    return ok(about, "It has the shape of one.")


async def account(about: str, ask: Callable[[Any], Awaitable[Account]], settings: BaseModel) -> Finding:
    """Whether the platform is in reach and takes the token. ``ask``: see `clawdbot.chat.Plugin.account`."""
    try:
        found = await ask(settings)
    except Unauthorized as error:
        return fail(about, str(error), "")
    except Limited as error:
        return warn(about, "It asks to wait before anything else is asked.", f"Try again in {error.retry_after:.0f} s.")
    except Unreachable as error:
        return fail(
            about, f"No connection: {error}.", "Is there a network? Behind a proxy, name it in the adapter's table."
        )
    except Unsure as error:
        return fail(about, f"No answer in time: {error}.", "Does a firewall swallow the connection?")
    except ClawdBotError as error:
        return fail(about, f"It answers otherwise than expected: {error}", "Does a proxy stand in between?")
    told = " ".join((f"In reach; the token is {found.name}'s.", *found.notes))
    return warn(about, told, " ".join(found.doubts)) if found.doubts else ok(about, told)
