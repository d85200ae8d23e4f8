"""Order inside a conversation, limits across all of them, and the means to stop an answer wherever it is.

One task an answer, owned here: only so can Stop and shutdown reach it.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeVar

from clawdbot.chat import State
from clawdbot.clock import Clock, within
from clawdbot.engine.admission import Admission
from clawdbot.sessions.ticket import Ticket, person_of

log = logging.getLogger(__name__)

LAST_WORDS = 5.0
"""Seconds that a shutdown leaves for the marks under interrupted answers."""

Key = TypeVar("Key", bound=Hashable)

Work = Callable[[], Awaitable[None]]
"""Something to do. A function, for a coroutine that is never started warns."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """How many answers there may be."""

    waiting: int
    """Waiting, over all conversations that one model answers."""
    queue: int
    """Waiting in one conversation."""
    share: int
    """Of one person, being made or waiting, over all conversations."""
    busy: Literal["queue", "interrupt", "refuse"] = "queue"
    """What a question meets while its conversation's last one is being answered: it waits; or it stops that answer, if
    the same person asked for it, and waits otherwise; or it is refused."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a question is not taken: "busy" or "queue" (its conversation), "share" (its asker), "full" (its model).

    So many of those are ``waiting``.
    """

    reason: Literal["busy", "queue", "share", "full"]
    waiting: int


class Spot:
    """A spot in the line of one conversation. Leaving its block gives it back."""

    def __init__(self, lock: asyncio.Lock) -> None:
        self._lock = lock
        self._line: asyncio.Future[Literal[True]] | None = None
        """Done when the turn has come."""

    async def come(self) -> None:
        """Wait for the turn. Whoever is interrupted in that keeps the spot, and may call it again."""
        if self._line is None and not self._lock.locked():
            await self._lock.acquire()
            self._line = asyncio.get_running_loop().create_future()
            self._line.set_result(True)
        elif self._line is None:
            # A task, which goes on waiting when whoever waits for it is interrupted.
            self._line = asyncio.create_task(self._lock.acquire())
        await asyncio.shield(self._line)

    def leave(self) -> None:
        """Give the turn, or the spot in the line, to the next one. A second time does nothing."""
        line, self._line = self._line, None
        if line is not None and line.done():
            self._lock.release()
        elif line is not None:
            line.cancel()

    def step_out(self) -> None:
        """Leave the line; a turn that has come already is kept."""
        if self._line is not None and not self._line.done():
            self.leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


class Sessions:
    """All answers under way."""

    def __init__(self, capacity: Capacity, clock: Clock, admission: Callable[[str], Admission]) -> None:
        """``admission`` tells the way into the engine that answers in a conversation."""
        self._capacity = capacity
        self._admission = admission
        self._clock = clock
        self._turns: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._tickets: dict[Ticket, asyncio.Task[None]] = {}
        """Answers from being accepted to being finished, oldest first."""
        self._here: dict[str, list[Ticket]] = {}
        """The same by conversation; all of them are looked through for no single question."""
        self._theirs: dict[tuple[str, int], list[Ticket]] = {}
        """The same by platform and asker."""
        self._others: set[asyncio.Task[Any]] = set()
        """Everything else that the bot does on its own account."""
        self.on_change: Callable[[], None] = lambda: None
        """Called when an answer has come or gone."""
        self.closing = False
        """Whether the bot is about to end: what is asked now is for the next start."""

    def adopt(self, capacity: Capacity) -> None:
        """Let other limits hold for whatever is asked from now on."""
        self._capacity = capacity

    @property
    def tickets(self) -> list[Ticket]:
        """The answers under way or waiting, oldest first."""
        return list(self._tickets)

    def of(self, conversation: str) -> list[Ticket]:
        """Those of one conversation, oldest first."""
        return list(self._here.get(conversation, ()))

    def at(self, place: str) -> list[Ticket]:
        """Those of all conversations in one place (`Conversation.place`), oldest first."""
        return [ticket for ticket in self._tickets if ticket.place == place]

    def refusal(self, conversation: str, asker: int) -> Refusal | None:
        """Whether one more question of ``asker`` in ``conversation`` has to be refused now, and why."""
        here = len(self._here.get(conversation, ()))
        if self._in_the_way(conversation, asker) is not None:
            here -= 1
        if here and (self._capacity.busy == "refuse" or not self._capacity.queue):
            return Refusal("busy", here)
        if here > self._capacity.queue:
            return Refusal("queue", here - 1)
        # An answer that a platform does not take yet, for hours perhaps, is in nobody's way.
        theirs = _unwritten(self._theirs.get(person_of(conversation, asker), ()))
        if theirs >= self._capacity.share:
            return Refusal("share", theirs)
        return self._full(self._admission(conversation))

    def _full(self, admission: Admission) -> Refusal | None:
        """Whether too many answers of one engine are under way; those of one that is down are in no other's way."""
        most = admission.concurrent + self._capacity.waiting
        if len(self._tickets) < most:
            return None
        same = _unwritten(ticket for ticket in self._tickets if self._admission(ticket.conversation) is admission)
        return Refusal("full", same - admission.concurrent) if same >= most else None

    def make_way(self, ticket: Ticket) -> None:
        """Stop the answer that a question interrupts, if there is one."""
        first = self._in_the_way(ticket.conversation, ticket.asker)
        if first is not None and first is not ticket:
            first.stop()

    def _in_the_way(self, conversation: str, asker: int) -> Ticket | None:
        """The answer that is being written there, if questions interrupt and it is for ``asker``."""
        if self._capacity.busy != "interrupt":
            return None
        first = next((ticket for ticket in self._here.get(conversation, ()) if not ticket.written), None)
        return first if first is not None and first.asker == asker and first.cut is None else None

    def answering(self, platform: str, message_id: str) -> Ticket | None:
        """The answer to that message, if it is under way."""
        return next((ticket for ticket in self._tickets if ticket.answers(platform, message_id)), None)

    def ahead(self, ticket: Ticket) -> int:
        """How many answers of its conversation are before it."""
        return self._here[ticket.conversation].index(ticket)

    def start(self, ticket: Ticket, work: Work, apologise: Work) -> asyncio.Task[None]:
        """Run ``work`` as the ticket's task; ``apologise`` when it fails in a way that nobody foresaw."""
        task = asyncio.create_task(guarded(work, apologise), name=f"answer to {ticket.message_id}")
        self._tickets[ticket] = task
        self._here.setdefault(ticket.conversation, []).append(ticket)
        self._theirs.setdefault(person_of(ticket.conversation, ticket.asker), []).append(ticket)
        task.add_done_callback(lambda _: self._leave(ticket))
        self.on_change()
        return task

    def spawn(self, work: Work, apologise: Work | None = None) -> asyncio.Task[None]:
        """Run something that is no answer: a command, a refusal, the taking in of an event."""
        task = asyncio.create_task(guarded(work, apologise))
        self._others.add(task)
        task.add_done_callback(self._others.discard)
        return task

    def turn(self, ticket: Ticket) -> Spot:
        """Its conversation's turn; a place in the engine comes after it, or one conversation could eat every place."""
        return Spot(self._turns[ticket.conversation])

    async def idle(self) -> None:
        """Return when nothing is under way."""
        while pending := self._pending():
            await asyncio.wait(pending)

    async def drain(self, seconds: float) -> None:
        """Let running answers finish for so long, then mark them as interrupted and let those marks be shown."""
        self.closing = True
        await within(seconds, self.idle(), self._clock)
        for ticket in self.tickets:
            ticket.stop(State.INTERRUPTED)
        await within(LAST_WORDS, self.idle(), self._clock)
        # What a platform still refuses is in the store; the next start delivers it.
        await self.close()

    async def close(self) -> None:
        """End all that is under way."""
        while pending := self._pending():
            for task in pending:
                task.cancel()
            await asyncio.wait(pending)

    def _pending(self) -> list[asyncio.Task[Any]]:
        return [*self._tickets.values(), *self._others]

    def _leave(self, ticket: Ticket) -> None:
        del self._tickets[ticket]
        ticket.leave()
        _take_out(self._theirs, person_of(ticket.conversation, ticket.asker), ticket)
        if _take_out(self._here, ticket.conversation, ticket):
            self._turns.pop(ticket.conversation, None)
        self.on_change()


def _unwritten(tickets: Iterable[Ticket]) -> int:
    return sum(not ticket.written for ticket in tickets)


def _take_out(index: dict[Key, list[Ticket]], key: Key, ticket: Ticket) -> bool:
    """Take ``ticket`` out of ``index``; whether it was the last one there."""
    index[key].remove(ticket)
    if index[key]:
        return False
    del index[key]
    return True


async def survived(work: Awaitable[None]) -> bool:
    """Do ``work``; False when it failed in a way that nobody foresaw.

    The one place where such faults end: one answer fails, the bot goes on.
    """
    try:
        await work
    except Exception:
        log.exception("something unforeseen went wrong")
        return False
    return True


async def guarded(work: Work, apologise: Work | None = None) -> None:
    """Do ``work``, and ``apologise`` if it fails in a way that nobody foresaw: what a task of its own runs."""
    if not await survived(work()) and apologise is not None:
        await survived(apologise())
