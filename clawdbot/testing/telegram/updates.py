"""The updates that wait for a bot, and the long poll that brings them."""

import asyncio
from collections.abc import Callable, Sequence

from clawdbot.clock import Clock, until
from clawdbot.testing.telegram.wire import Json, Refusal

LONGEST_POLL = 50.0
"""Seconds that the server holds a poll at most."""


class Updates:
    """A queue that delivers an update again until a later ``offset`` has confirmed it.

    ``changed`` is called at the beginning of every poll.
    """

    def __init__(self, clock: Clock, changed: Callable[[], None]) -> None:
        self._clock = clock
        self._changed = changed
        self._next_id = 1
        self._allowed: frozenset[str] = frozenset()
        """The kinds asked for last; empty means all."""
        self._poller: asyncio.Event | None = None
        """Wakes the poll that is waiting now."""
        self.pending: list[Json] = []
        """Not confirmed yet, oldest first."""
        self.closing = False

    @property
    def polling(self) -> bool:
        """Whether a poll waits now."""
        return self._poller is not None

    def push(self, kind: str, body: Json) -> int | None:
        """Queue an update; its id, or None when the bot has not asked for this kind."""
        if self._allowed and kind not in self._allowed:
            return None
        update_id = self._next_id
        self._next_id += 1
        self.pending.append({"update_id": update_id, kind: body})
        self._wake()
        return update_id

    def allow(self, kinds: Sequence[str]) -> None:
        """Send only these kinds from now on; all when empty. Holds until it is said again."""
        self._allowed = frozenset(kinds)

    def clear(self) -> None:
        """Forget what waits."""
        self.pending.clear()

    async def poll(self, offset: int, limit: int, seconds: float) -> list[Json]:
        """The next updates, waiting up to ``seconds`` for the first; ``offset`` confirms all before it.

        Raises `Refusal` (409) when another poll comes while this one waits.
        """
        if offset < 0:
            self.pending = self.pending[offset:]
        self.pending = [update for update in self.pending if update["update_id"] >= offset]
        self._wake()
        mine = self._poller = asyncio.Event()
        self._changed()
        if not self.pending and not self.closing:
            await until(mine, min(seconds, LONGEST_POLL), self._clock)
        if self._poller is not mine:
            raise Refusal(
                409,
                "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
            )
        self._poller = None
        return self.pending[: limit or 100]

    def close(self) -> None:
        """End the poll that is waiting, and let none wait any more."""
        self.closing = True
        self._wake()

    def _wake(self) -> None:
        if self._poller:
            self._poller.set()
