"""Events on their way into the bot: those about the same message one after the other, all others at once."""

import asyncio
from collections.abc import Awaitable, Collection
from functools import partial

from clawdbot.sessions import Sessions, Work


class Arrivals:
    """Those that are being taken in."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._latest: dict[tuple[str, str], asyncio.Task[None]] = {}
        """The latest event about each message; by platform and id of the message."""

    def take(self, platform: str, ids: Collection[str], work: Work, apologise: Work | None = None) -> Awaitable[None]:
        """Do ``work`` for an event about the messages ``ids``, after what came before it about any of them.

        What is returned is done when that is; ``apologise`` is done when it fails in a way that nobody foresaw.
        """
        keys = [(platform, id) for id in ids]
        before = {self._latest[key] for key in keys if key in self._latest}

        async def taken() -> None:
            if before:
                await asyncio.wait(before)
            await work()

        task = self._sessions.spawn(taken, apologise)
        for key in keys:
            self._latest[key] = task
            task.add_done_callback(partial(self._forget, key))
        return asyncio.shield(task)

    async def rest(self) -> None:
        """Return when all that has come by now is taken in."""
        if self._latest:
            await asyncio.wait([*self._latest.values()])

    def _forget(self, key: tuple[str, str], task: asyncio.Task[None]) -> None:
        if self._latest.get(key) is task:
            del self._latest[key]
