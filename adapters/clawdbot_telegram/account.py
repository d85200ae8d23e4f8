"""Asks Telegram whose token the bot has, without serving anybody."""

from telegram import Bot, User
from telegram.error import InvalidToken, TelegramError
from telegram.request import HTTPXRequest

from clawdbot.chat import Account
from clawdbot.errors import Unauthorized
from clawdbot_telegram.adapter import hush
from clawdbot_telegram.settings import HOW_TO_GET_A_TOKEN, TelegramSettings
from clawdbot_telegram.translate import delivery_error

PRIVACY = (
    "Privacy mode is on: from groups come only commands and replies to the bot. To let mentions through, send "
    "/setprivacy to @BotFather, choose Disable, and add the bot to the group again."
)


async def account(settings: TelegramSettings, patience: float = 5.0) -> Account:
    """See `clawdbot.chat.Plugin.account`. ``patience``: seconds for a connection, and for an answer."""
    hush()
    token, base = settings.read_token(), settings.base_url.rstrip("/")
    proxy = settings.proxy.get_secret_value() if settings.proxy else None
    async with HTTPXRequest(
        proxy=proxy, connect_timeout=patience, read_timeout=patience, pool_timeout=patience
    ) as request:
        try:
            me = await Bot(token, f"{base}/bot", request=request).get_me()
        except InvalidToken:
            # The library's own sentence may hold the token, so it must not come along as the cause.
            raise Unauthorized(f"{base} refuses the bot's token. {HOW_TO_GET_A_TOKEN}") from None
        except TelegramError as error:
            raise delivery_error(error) from error
    return _account(me)


def _account(me: User) -> Account:
    reads_groups = not me.can_join_groups or me.can_read_all_group_messages
    return Account(f"@{me.username}", notes=() if reads_groups else (PRIVACY,))
