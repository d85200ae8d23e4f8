"""The Discord adapter: runs one session after the other and says where answers go."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress

from clawdbot.abilities import Load
from clawdbot.chat import Conversation, Receive
from clawdbot.clock import Clock, SystemClock
from clawdbot.errors import AdapterError
from clawdbot.menu import Suggest, nothing
from clawdbot_discord.backlog import Backlog
from clawdbot_discord.client import Session
from clawdbot_discord.line import Line
from clawdbot_discord.reply import ChannelReply
from clawdbot_discord.settings import DiscordSettings
from clawdbot_discord.translate import one_session

log = logging.getLogger(__name__)

FAREWELL = 5.0
"""Seconds that closing a session may take."""


class DiscordAdapter:
    """An `Adapter` for Discord that also `CatchesUp` and `Suggests`.

    Every `run` builds a new client: discord.py's own cannot be used again, and dies when its first handshake fails.
    """

    def __init__(self, settings: DiscordSettings, clock: Clock | None = None) -> None:
        self._settings = settings
        self._line = Line(settings, clock or SystemClock())
        self._backlog = Backlog()
        self._suggest: Suggest = nothing
        self._session: Session | None = None
        """The one that runs."""

    async def run(self, receive: Receive) -> None:
        token = self._settings.read_token()
        session = self._session = Session(receive, self._line, self._backlog, self._suggest)
        try:
            with one_session():
                await self._serve(session, token)
        finally:
            self._line.client = self._session = None
            with suppress(TimeoutError):
                async with asyncio.timeout(FAREWELL):
                    await session.close()

    @property
    def connected(self) -> bool:
        """See `clawdbot.abilities.Connects`."""
        return self._session is not None and self._session.online

    def reply(self, ref: str) -> ChannelReply:
        channel, question = map(int, ref.split(":"))
        return ChannelReply(self._line, channel, question, taken_up=True)

    def catch_up(self, chats: Sequence[Conversation]) -> None:
        """See `clawdbot.chat.CatchesUp`: Discord lists no private chats to a bot."""
        self._backlog.know(chat.chat for chat in reversed(chats))

    def show_load(self, load: Load) -> None:
        """See `clawdbot.abilities.ShowsLoad`."""
        self._line.presence.want(load)

    def suggest_by(self, suggest: Suggest) -> None:
        """See `clawdbot.abilities.Suggests`."""
        self._suggest = suggest

    async def _serve(self, session: Session, token: str) -> None:
        await session.login(token)
        self._line.client = session
        serving = [asyncio.create_task(session.connect()), asyncio.create_task(session.watch())]
        works = (session.register(), session.keep_warm(), session.catch_up(), session.show_presence())
        beside = [asyncio.create_task(work) for work in works]
        for task in beside:
            task.add_done_callback(_log_failure)
        try:
            ended, _ = await asyncio.wait(serving, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            for task in serving + beside:
                task.cancel()
            await asyncio.gather(*serving, *beside, return_exceptions=True)
        raise AdapterError("Discord ended the connection.")


def _log_failure(task: asyncio.Task[None]) -> None:
    """The bot answers without what these tasks do, but somebody should know."""
    if not task.cancelled() and (error := task.exception()):
        log.error("Discord: a task beside the session failed", exc_info=error)
