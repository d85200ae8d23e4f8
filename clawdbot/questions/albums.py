"""The messages that a platform makes of one album are one question."""

import asyncio
from dataclasses import dataclass, field, replace

from clawdbot.chat import Message
from clawdbot.clock import Clock
from clawdbot.store import Store

QUIET = 0.7
"""Seconds after the last message of an album in which no further one came: it is whole."""
KEPT = 60.0
"""Seconds for which an album is remembered: what comes later is a question of its own."""


@dataclass(slots=True)
class _Album:
    first: str
    """`Message.id` of the message that came first."""
    last: float
    """When the latest of them came, seconds of `Clock.now`."""
    reply: asyncio.Future[int | None]
    """The id in the store that the question was given; None when it was refused."""
    open: bool = True
    """Whether a further message is a part of it."""
    storing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while one of them is being stored, in the order in which they came."""


class Albums:
    """Those whose first message came lately."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[tuple[str, str], _Album] = {}

    async def joins(self, message: Message) -> bool:
        """Whether it is a further message of an album and so, stored by now, a part of that question.

        Nothing else is to be done about it then, whether the question is answered or was refused. Raises `StoreError`.
        """
        if not message.album:
            return False
        now = self._clock.now()
        self._known = {key: album for key, album in self._known.items() if now - album.last < KEPT}
        album = self._known.get(_key(message))
        if album is None:
            self._known[_key(message)] = _Album(message.id, now, asyncio.get_running_loop().create_future())
        if album is None or not album.open:
            return False
        album.last = now
        async with album.storing:
            reply = await asyncio.shield(album.reply)
            if reply is None:
                return album.open
            await self._store.pieces.add(reply, message)
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
        """``message`` with the others of its album when no more of them come, if it is the first of one.

        Raises `StoreError`.
        """
        album = self._known.get(_key(message))
        if album is None or album.first != message.id:
            return message
        while (wait := album.last + QUIET - self._clock.now()) > 0:
            await self._clock.sleep(wait)
        album.open = False
        async with album.storing:
            kept = await self._store.asked(message.conversation.platform, message.id)
        return replace(message, text=kept.question.message.text, files=kept.question.message.files) if kept else message


def _key(message: Message) -> tuple[str, str]:
    return message.conversation.key, message.album
