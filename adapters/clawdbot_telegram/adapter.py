"""Serves Telegram by long polling."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Container
from functools import partial
from typing import Any

import httpx
from telegram import Bot, Update, User
from telegram.error import Conflict, InvalidToken, RetryAfter, TelegramError
from telegram.ext import Updater
from telegram.request import HTTPXRequest

from clawdbot.chat import Event, Message, Migrated, Receive
from clawdbot.clock import Clock, SystemClock, until
from clawdbot.errors import AdapterError, Unauthorized, Unreachable
from clawdbot_telegram.calls import Calls, Patience
from clawdbot_telegram.closed import Closed
from clawdbot_telegram.controls import notice
from clawdbot_telegram.drafts import DraftMode
from clawdbot_telegram.errands import Errands, offer_menus
from clawdbot_telegram.media import Albums
from clawdbot_telegram.moves import Moves
from clawdbot_telegram.pastes import Pastes
from clawdbot_telegram.place import Place
from clawdbot_telegram.polling import Inbox, PollRequest
from clawdbot_telegram.render import Renderer
from clawdbot_telegram.reply import TelegramReply
from clawdbot_telegram.settings import HOW_TO_GET_A_TOKEN, TelegramSettings
from clawdbot_telegram.translate import seconds
from clawdbot_telegram.transport import Transport
from clawdbot_telegram.updates import KINDS, STOPPED, migrated, understood

logger = logging.getLogger(__name__)

CLOSING = 5.0
"""Seconds that taking leave of Telegram may last."""
WARM = 4
"""Connections that are kept warm: for so many answers that begin at the same moment."""
IDLE_CONNECTION = 75.0
"""Seconds that a connection without a call is kept."""


class TelegramAdapter:
    """An `Adapter`. It is built without connecting; `run` connects."""

    def __init__(self, settings: TelegramSettings, clock: Clock | None = None) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._renderer = Renderer(settings.text_limit, settings.entity_limit)
        self._bot: Bot | None = None
        """The bot while it is connected."""
        self._poll: PollRequest | None = None
        """How updates come in, while the bot is connected."""
        self._errands = Errands(self._clock)
        self._closed = Closed()
        self._moves = Moves(self._moved)
        self._receive: Receive | None = None
        """Who hears what happens, while it runs."""
        self._pastes = Pastes(settings.paste_from)
        self._draft_mode = DraftMode(settings)
        self._albums = Albums()
        longest = settings.longest_call
        self._patience = Patience(longest, longest + settings.upload_timeout, settings.download_timeout)

    async def run(self, receive: Receive) -> None:
        hush()
        token = self._settings.read_token()
        self._receive = receive
        inbox = Inbox(lambda update, received_at: self._take(update, received_at, receive))
        poll = PollRequest(inbox, self._clock, **self._transport(connections=4))
        calls = Transport(**self._transport(self._settings.connections))
        base = self._settings.base_url.rstrip("/")
        bot = Bot(token, f"{base}/bot", f"{base}/file/bot", request=calls, get_updates_request=poll)
        updater = Updater(bot, inbox)
        try:
            await self._start(updater)
            self._poll = poll
            await self._watch(updater.bot, poll)
        finally:
            self._bot = self._poll = None
            await self._close(updater, poll, calls)

    @property
    def connected(self) -> bool:
        """See `clawdbot.abilities.Connects`."""
        return self._poll is not None and not self._poll.failing

    def reply(self, ref: str) -> TelegramReply:
        return self._reply(Place.of(ref))

    def _reply(self, place: Place) -> TelegramReply:
        settings = self._settings
        return TelegramReply(
            place,
            Calls(place, self._connected, self._closed, self._moves, self._patience),
            settings.limits(self._moves.now(place).chat, self._renderer),
            self._renderer,
            settings.caption_limit,
            self._draft_mode,
        )

    def _moved(self, old: int, new: int) -> None:
        """A call has found that a group has another number."""
        if self._receive is not None:
            self._receive(migrated(old, new), self._reply(Place(new)))

    def _connected(self) -> Bot:
        if self._bot is None:
            raise Unreachable("Telegram is not connected.")
        return self._bot

    def _transport(self, connections: int) -> dict[str, Any]:
        """The options of an HTTP client. Connections are kept, so that an answer costs one round trip and not three."""
        settings = self._settings
        kept = httpx.Limits(
            max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=IDLE_CONNECTION
        )
        return {
            "read_timeout": settings.call_timeout,
            "write_timeout": settings.call_timeout,
            "media_write_timeout": settings.upload_timeout,
            "connect_timeout": settings.connect_timeout,
            "pool_timeout": settings.connect_timeout,
            "proxy": settings.proxy.get_secret_value() if settings.proxy else None,
            "httpx_kwargs": {"limits": kept},
        }

    async def _start(self, updater: Updater) -> None:
        kinds = (*KINDS, STOPPED) if self._settings.drafts else KINDS
        try:
            await updater.initialize()
            self._bot = updater.bot
            await updater.start_polling(
                timeout=self._settings.poll_timeout, allowed_updates=kinds, error_callback=report
            )
        except InvalidToken:
            # The library's own sentence holds the token, so it must not come along as the cause.
            raise Unauthorized(f"{self._settings.base_url} refuses the bot's token. {HOW_TO_GET_A_TOKEN}") from None
        except RetryAfter as refusal:
            # Here, since the supervisor's own pause may be shorter.
            await self._clock.sleep(seconds(refusal.retry_after))
            raise AdapterError(f"Telegram asked to wait before a start: {refusal.message}") from refusal
        except TelegramError as error:
            raise AdapterError(f"Telegram cannot be reached at {self._settings.base_url}: {error.message}") from error
        self._warm(updater.bot)
        self._errands.run(partial(offer_menus, updater.bot), late=True)
        logger.info("Telegram: connected as @%s", updater.bot.username)
        if not updater.bot.can_read_all_group_messages:
            logger.info("Telegram: privacy mode is on, so from groups come only commands and replies to the bot")

    def _warm(self, bot: Bot) -> None:
        """Make calls that cost nothing, at the same time, so that each has a connection of its own."""
        for _ in range(WARM):
            self._errands.run(bot.get_me)

    async def _watch(self, bot: Bot, poll: PollRequest) -> None:
        """Keep connections warm; raise `AdapterError` when polling has died."""
        settings = self._settings
        while not await until(poll.unauthorized, min(settings.keep_warm, settings.stall / 4), self._clock):
            if self._clock.now() - poll.alive_at > settings.stall:
                raise AdapterError(f"No poll of Telegram has ended for {settings.stall:g} s.")
            self._warm(bot)
        raise Unauthorized(f"Telegram no longer accepts the bot's token. {HOW_TO_GET_A_TOKEN}")

    async def _close(self, updater: Updater, *requests: HTTPXRequest) -> None:
        self._errands.cancel()
        try:
            async with asyncio.timeout(CLOSING):
                if updater.running:
                    await updater.stop()
        except (TelegramError, TimeoutError) as error:
            logger.warning("Telegram: no orderly end of polling (%r)", error)
        await updater.shutdown()
        for request in requests:
            await request.shutdown()

    def _take(self, update: Update, received_at: float, receive: Receive) -> Awaitable[None] | None:
        bot = self._connected()
        found = heard(update, bot.bot, received_at, self._albums, self._pastes)
        if found:
            self._closed.open(found[1])
        if found and isinstance(found[0], Migrated):
            self._moves.note(found[0].conversation.chat, found[0].to.chat)
        if found and isinstance(found[0], Message) and found[0].album:
            self._albums.add(found[0].album)
        durable = receive(found[0], self._reply(found[1])) if found else None
        if query := update.callback_query:
            self._errands.run(partial(bot.answer_callback_query, query.id, notice(str(query.data))))
        return durable


def heard(
    update: Update, me: User, received_at: float, albums: Container[str], pastes: Pastes
) -> tuple[Event, Place] | None:
    """What is `understood`. An update that is not as Telegram describes it is passed over, or it would come for ever.

    The library hands on what it did not look at: a field may be missing, null or of another type.
    """
    try:
        found = understood(update, me, received_at, albums, pastes)
        if update.message:
            said = found[0] if found and isinstance(found[0], Message) else None
            pastes.hear(update.message, (said.continues or said.id) if said else None)
    except (AttributeError, LookupError, TypeError, ValueError):
        logger.exception("Telegram: update %d is malformed and passed over", update.update_id)
        return None
    return found


def report(error: TelegramError) -> None:
    """Say that a poll failed; the library tries again, later each time, up to 30 s."""
    if isinstance(error, Conflict):
        logger.warning("Telegram: another process polls with this bot's token, and only one can; waiting for its end")
        return
    logger.warning("Telegram: a poll failed (%s)", error.message)


def hush() -> None:
    """Keep the token out of the logs and the library's new type of times from warning.

    The URL of every call holds the token; httpx and httpcore log it at INFO and DEBUG, python-telegram-bot at DEBUG.
    Failed polls come to `report`, other errors to the caller, so the library's own tracebacks are not needed.
    """
    for name, level in (("httpx", logging.WARNING), ("httpcore", logging.WARNING), ("telegram", logging.CRITICAL)):
        library = logging.getLogger(name)
        library.setLevel(max(level, library.level))
    os.environ.setdefault("PTB_TIMEDELTA", "true")
