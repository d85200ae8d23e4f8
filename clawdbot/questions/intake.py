"""Takes a question in unless it is too much, for its author or for the bot."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from clawdbot import words
from clawdbot.answers.notices import over_quota, too_busy
from clawdbot.chat import Message, Reply
from clawdbot.errors import StoreError, Unreadable
from clawdbot.latency.observed import Received, Verdict
from clawdbot.people.quota import Reached
from clawdbot.said import Said
from clawdbot.shared import Shared

log = logging.getLogger(__name__)

Accept = Callable[[], Awaitable[object]]
"""Takes a question in; it is stored when that is done. Its place among the answers is taken before the first wait."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a question is not taken."""

    verdict: Verdict | None
    """None where it was the store's fault."""
    said: Said


class Intake:
    """What every question passes, a new one and one that is asked anew."""

    def __init__(self, shared: Shared, *, longest_question: int) -> None:
        """``longest_question`` is in characters."""
        self._store = shared.store
        self._sessions = shared.sessions
        self._gate = shared.gate
        self._reading = shared.reading
        self._notices = shared.notices
        self._clock = shared.clock
        self._observe = shared.observe
        self._longest_question = longest_question
        self._refusing: set[tuple[str, int, str]] = set()
        """Conversation, person and words of the refusals on their way."""

    async def take(self, message: Message, reply: Reply, accept: Accept, *, in_place: bool = False) -> None:
        """`weigh` a question, and say why it is not taken."""
        refusal = await self.weigh(message, accept, in_place=in_place)
        if isinstance(refusal, Reached):
            self.tell("quota", message)
            await self._tell_quota(refusal, message, reply)
        elif refusal is not None and await self.claim(message):
            self.refuse(refusal, message, reply)

    async def weigh(self, message: Message, accept: Accept, *, in_place: bool = False) -> Refused | Reached | None:
        """Let ``accept`` take a question in unless it is too much: why, and None too where nothing is to be said.

        ``in_place``: it takes the place of a question that is being answered, so it is not one more. A burst meets the
        limits as they are.
        """
        try:
            async with self._gate.counting(message) as over:
                if over is not None:
                    return over
                if not self._gate.decide(message.author, message.conversation).allowed:
                    return None  # kept out while it waited to be counted
                refusal = self.too_long(len(message.text)) or self._unreadable(message)
                refusal = refusal or (None if in_place else self._busy(message))
                if refusal is None:
                    await accept()
                return refusal
        except StoreError:
            log.exception("a question could not be taken in")
            return Refused(None, Said(words.NOT_KEPT))

    def too_long(self, size: int) -> Refused | None:
        """Why a question of ``size`` characters is not taken, if it is not."""
        limit = self._longest_question
        if size <= limit:
            return None
        return Refused("too long", Said(words.TOO_LONG.format(size=size, unit="characters", limit=limit)))

    def why(self, refusal: Refused | Reached) -> str:
        """A refusal in words, for somebody who has to be told every time."""
        return over_quota(refusal, self._clock.wall()).text if isinstance(refusal, Reached) else refusal.said.text

    def tell(self, verdict: Verdict, message: Message) -> None:
        """Let whoever watches know how a message was dealt with."""
        self._observe(Received(message.conversation.platform, verdict))

    async def claim(self, message: Message) -> bool:
        """Note that something that is no question was delivered; whether it is for the first time."""
        try:
            return await self._store.first_seen(message.conversation.platform, message.event)
        except StoreError:
            log.exception("a message could not be noted; it is answered again if it is delivered again")
            return True

    def refuse(self, refusal: Refused, message: Message, reply: Reply) -> None:
        """Say why a question is not taken, unless the same is on its way to its author already.

        A burst would else spend the conversation's room on refusals, and its answers would get none.
        """
        if refusal.verdict is not None:
            self.tell(refusal.verdict, message)
        same = (message.conversation.key, message.author.id, refusal.said.text)
        if same not in self._refusing:
            self._refusing.add(same)
            self.say(refusal.said, message, reply).add_done_callback(lambda _: self._refusing.discard(same))

    def say(self, said: Said, message: Message, reply: Reply) -> asyncio.Task[None]:
        """Tell something in a task of its own, so that nobody waits for the platform."""
        return self._sessions.spawn(partial(self._notices.tell, said, message, reply))

    def _unreadable(self, message: Message) -> Refused | None:
        try:
            if not message.album:  # or what is wrong with it is said once, when it is whole
                self._reading.check(message)
        except Unreadable as refused:
            return Refused("unreadable", Said(refused.said))
        return None

    def _busy(self, message: Message) -> Refused | None:
        refusal = self._sessions.refusal(message.conversation.key, message.author.id)
        return None if refusal is None else Refused(refusal.reason, too_busy(refusal))

    async def _tell_quota(self, over: Reached, message: Message, reply: Reply) -> None:
        """Say that a limit is reached, once as long as it is: a limited person's messages cost the platform nothing."""
        if await self.claim(message) and await self._gate.first_notice(message, over):
            self.say(over_quota(over, self._clock.wall()), message, reply)
