"""The messages that a platform makes of one album are one question."""

import asyncio
import logging
from dataclasses import dataclass, replace

from clawdbot.chat import Message
from clawdbot.clock import Clock
from clawdbot.errors import StoreError
from clawdbot.store import Store

log = logging.getLogger(__name__)

QUIET = 0.7
"""Seconds after the last message of an album in which no further one came: it is whole."""
KEPT = 60.0
"""Seconds for which an album is remembered: what comes later is a question of its own."""


@dataclass(slots=True)
class _Album:
    whole: Message
    """Its first message with the files and texts of all that came so far."""
    last: float
    """When the latest of them came, seconds of `Clock.now`."""
    reply: asyncio.Future[int | None]
    """The id in the store that the question was given; None when it was refused."""
    open: bool = True
    """Whether a further message is a part of it."""


class Albums:
    """Those whose first message came lately."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[tuple[str, str], _Album] = {}

    async def joins(self, message: Message) -> bool:
        """Whether it is a further message of an album and so, stored by now, a part of that question.

        Nothing else is to be done about it then, whether the question is answered or was refused.
        """
        if not message.album:
            return False
        now = self._clock.now()
        self._known = {key: album for key, album in self._known.items() if now - album.last < KEPT}
        album = self._known.get(_key(message))
        if album is None:
            self._known[_key(message)] = _Album(message, now, asyncio.get_running_loop().create_future())
        if album is None or not album.open:
            return False
        album.last, album.whole = now, _joined(album.whole, message)
        reply = await asyncio.shield(album.reply)
        if reply is None:
            return album.open
        try:
            await self._store.extend(reply, message, album.whole)
        except StoreError:
            log.exception("a message of an album could not be stored; a restart would not know of it")
        return True

    def stored(self, message: Message, reply: int | None) -> None:
        """The first ``message`` of an album has this id; None: it was delivered before, and the others may be new."""
        self._decide(message, reply, repeated=reply is None)

    def refuse(self, message: Message) -> None:
        """The album of ``message`` is not answered, unless it was stored."""
        self._decide(message, None, repeated=False)

    def _decide(self, message: Message, reply: int | None, *, repeated: bool) -> None:
        album = self._known.get(_key(message))
        if message.album and album is not None and not album.reply.done():
            album.open = not repeated
            album.reply.set_result(reply)

    async def whole(self, message: Message) -> Message:
        """``message`` with the others of its album when no more of them come, if it is the first of one."""
        album = self._known.get(_key(message))
        if album is None or album.whole.id != message.id:
            return message
        while (wait := album.last + QUIET - self._clock.now()) > 0:
            await self._clock.sleep(wait)
        album.open = False
        return replace(message, text=album.whole.text, files=album.whole.files)


def _key(message: Message) -> tuple[str, str]:
    return message.conversation.key, message.album


def _joined(first: Message, further: Message) -> Message:
    text = "\n".join(filter(None, (first.text, further.text)))
    return replace(first, text=text, files=(*first.files, *further.files))
