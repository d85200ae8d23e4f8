"""Events on their way into the bot: those about the same message one after the other, others at once.

A command about a conversation comes after all that was said there before it, and before all that is said after it.
"""

import asyncio
from collections.abc import Awaitable, Collection, Hashable
from functools import partial
from typing import TypeVar

from clawdbot.chat import Conversation
from clawdbot.sessions.sessions import Sessions, Work

Key = TypeVar("Key", bound=Hashable)


class Arrivals:
    """Those that are being taken in."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._latest: dict[tuple[str, str], asyncio.Task[None]] = {}
        """The latest event about each message; by platform and id of the message."""
        self._latest_alone: dict[str, asyncio.Task[None]] = {}
        """The latest that nothing passes; by `Conversation.key`."""
        self._all: dict[asyncio.Task[None], str] = {}
        """Every event, with its `Conversation.key`."""

    def take(
        self,
        where: Conversation,
        ids: Collection[str],
        work: Work,
        apologise: Work | None = None,
        *,
        alone: bool = False,
    ) -> Awaitable[None]:
        """Do ``work`` for an event about the messages ``ids`` there, after what came before it about any of them.

        ``alone``: after all that came before it in its conversation, and before all that comes later. What is returned
        is done when that is; ``apologise`` is done when it fails in a way that nobody foresaw.
        """
        keys = [(where.platform, id) for id in ids]
        before = {self._latest[key] for key in keys if key in self._latest}
        if alone:
            before.update(task for task, conversation in self._all.items() if conversation == where.key)
        elif where.key in self._latest_alone:
            before.add(self._latest_alone[where.key])

        async def taken() -> None:
            if before:
                await asyncio.wait(before)
            await work()

        task = self._sessions.spawn(taken, apologise)
        for key in keys:
            _keep(self._latest, key, task)
        if alone:
            _keep(self._latest_alone, where.key, task)
        self._all[task] = where.key
        task.add_done_callback(self._all.pop)
        return asyncio.shield(task)

    async def rest(self) -> None:
        """Return when all that has come by now is taken in."""
        if self._all:
            await asyncio.wait([*self._all])


def _keep(latest: dict[Key, asyncio.Task[None]], key: Key, task: asyncio.Task[None]) -> None:
    """Let ``task`` be the latest one of ``key`` until it is done."""
    latest[key] = task
    task.add_done_callback(partial(_forget, latest, key))


def _forget(latest: dict[Key, asyncio.Task[None]], key: Key, task: asyncio.Task[None]) -> None:
    if latest.get(key) is task:
        del latest[key]
