"""Events on their way into the bot: those about the same message one after the other, all others at once."""

import asyncio
from collections.abc import Awaitable, Collection
from functools import partial

from clawdbot.chat import Conversation
from clawdbot.sessions import Sessions, Work


class Arrivals:
    """Those that are being taken in."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._latest: dict[tuple[str, str], asyncio.Task[None]] = {}
        """The latest event about each message; by platform and id of the message."""
        self._all: dict[asyncio.Task[None], str] = {}
        """Every event, with its `Conversation.key`."""

    def take(
        self, where: Conversation, ids: Collection[str], work: Work, apologise: Work | None = None
    ) -> Awaitable[None]:
        """Do ``work`` for an event about the messages ``ids`` there, after what came before it about any of them.

        What is returned is done when that is; ``apologise`` is done when it fails in a way that nobody foresaw.
        """
        keys = [(where.platform, id) for id in ids]
        before = {self._latest[key] for key in keys if key in self._latest}

        async def taken() -> None:
            if before:
                await asyncio.wait(before)
            await work()

        task = self._sessions.spawn(taken, apologise)
        for key in keys:
            self._latest[key] = task
            task.add_done_callback(partial(self._forget, key))
        self._all[task] = where.key
        task.add_done_callback(self._all.pop)
        return asyncio.shield(task)

    async def rest(self, conversation: str = "") -> None:
        """Return when all that has come by now, in one `Conversation.key` or anywhere, is taken in."""
        if coming := [task for task, key in self._all.items() if conversation in ("", key)]:
            await asyncio.wait(coming)

    def _forget(self, key: tuple[str, str], task: asyncio.Task[None]) -> None:
        if self._latest.get(key) is task:
            del self._latest[key]
