"""What the bot says that is no answer: refusals, what commands say, apologies."""

import logging
from collections.abc import Sequence
from hashlib import blake2s
from math import ceil

from clawdbot import words
from clawdbot.chat import Message, Pressed, Reply, State
from clawdbot.clock import Clock
from clawdbot.delivery.live import LiveReply
from clawdbot.delivery.pace import Budgets
from clawdbot.errors import DeliveryError
from clawdbot.people.quota import HOUR, Reached
from clawdbot.said import Said
from clawdbot.sessions.sessions import Refusal

log = logging.getLogger(__name__)

_WHY = {"busy": words.BUSY, "queue": words.QUEUE_FULL, "share": words.SHARE, "full": words.FULL}


def key_of(message: Message) -> str:
    """Names the answer to ``message`` in 16 characters, the same after a restart."""
    return _named(f"{message.conversation.key}/{message.id}")


def too_busy(refusal: Refusal) -> Said:
    """Why a question is not taken."""
    return Said(_WHY[refusal.reason].format(waiting=refusal.waiting))


def over_quota(over: Reached, now: float) -> Said:
    """That somebody has reached a limit and when they can go on; ``now`` in seconds since the epoch."""
    minutes = ceil((over.until - now) / 60)
    wait = f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
    window = "an hour" if over.until - over.since == HOUR else "a day"
    return Said(words.QUOTA.format(window=window, wait=wait), private=True)


class Notices:
    """Says things for certain, and only once; nothing of it is stored."""

    def __init__(self, budgets: Budgets, clock: Clock) -> None:
        self._budgets = budgets
        self._clock = clock

    async def tell(self, said: Said, message: Message, reply: Reply) -> None:
        """Say something below ``message``."""
        await self._show(said, f"{key_of(message)}.fin", reply)

    async def apologise(self, message: Message, reply: Reply) -> None:
        """Say that ``message`` is not answered, although nobody knows why."""
        # Another key: an apology is no repetition of what was told before.
        await self._show(Said(""), f"{key_of(message)}.fai", reply, State.FAILED)

    async def explain(self, said: Said, event: Pressed, reply: Reply) -> None:
        """Say something to somebody who used a control."""
        await self._show(said, f"{_named(f'{event.conversation.key}/{event.post}')}.pre", reply)

    async def withdraw(self, event: Pressed, reply: Reply) -> None:
        """Empty the message below which a control was used, which takes its controls away."""
        await self._show(Said(words.WITHDRAWN), "withdrawn", reply, posts=(event.post,))

    async def _show(
        self, said: Said, key: str, reply: Reply, state: State = State.NOTICE, posts: Sequence[str] | None = None
    ) -> None:
        async with LiveReply(reply, key=key, budgets=self._budgets, clock=self._clock, posts=posts) as live:
            try:
                await live.finish(said.text, state, said.files, private=said.private)
            except DeliveryError as error:
                log.warning("a notice cannot be shown: %s", error)


def _named(what: str) -> str:
    return blake2s(what.encode(), digest_size=8).hexdigest()
