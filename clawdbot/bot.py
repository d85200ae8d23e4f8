"""One event in, one answer out: decides what an event is and who has to deal with it."""

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import assert_never

from clawdbot import words
from clawdbot.abilities import Suggests
from clawdbot.access import Reason
from clawdbot.albums import Albums
from clawdbot.answering import Answering, Asked
from clawdbot.chat import (
    Adapter,
    CatchesUp,
    Conversation,
    Deleted,
    Edited,
    Event,
    Message,
    Person,
    Pressed,
    Reply,
    Typing,
)
from clawdbot.clock import Clock
from clawdbot.commands import Commands, Said, argument, called, may_stop
from clawdbot.delivery.pace import Budgets
from clawdbot.errors import StoreError, Unreadable
from clawdbot.gate import Gate
from clawdbot.notices import Notices, over_quota, too_busy
from clawdbot.observed import Observe, Received, Verdict
from clawdbot.quota import Reached
from clawdbot.reading import Reading
from clawdbot.resuming import Resuming
from clawdbot.rooms import Groups, settled
from clawdbot.sessions import Sessions, Ticket
from clawdbot.store import Question, Store
from clawdbot.warming import Warming

log = logging.getLogger(__name__)


class Bot:
    """The core, seen from an adapter: `receive` is a `clawdbot.chat.Receive`."""

    def __init__(
        self,
        *,
        store: Store,
        sessions: Sessions,
        gate: Gate,
        commands: Commands,
        answering: Answering,
        reading: Reading,
        albums: Albums,
        warming: Warming,
        budgets: Budgets,
        clock: Clock,
        observe: Observe,
        groups: Groups,
        longest_question: int,
        oldest_question: float,
    ) -> None:
        """``longest_question`` is in characters, ``oldest_question`` in seconds since it was posted or received."""
        self._store = store
        self._sessions = sessions
        self._gate = gate
        self._commands = commands
        self._answering = answering
        self._reading = reading
        self._albums = albums
        self._warming = warming
        self._notices = Notices(budgets, clock)
        self._resuming = Resuming(
            store=store,
            sessions=sessions,
            answering=answering,
            notices=self._notices,
            budgets=budgets,
            clock=clock,
            oldest_question=oldest_question,
        )
        self._clock = clock
        self._observe = observe
        self._groups = groups
        self._longest_question = longest_question
        self._oldest_question = oldest_question
        self._refusing: set[tuple[str, int, str]] = set()
        """Conversation, person and words of the refusals on their way."""

    def receive(self, event: Event, reply: Reply) -> Awaitable[None]:
        """See `clawdbot.chat.Receive`."""
        event = settled(event, self._groups)
        match event:
            case Message():
                return asyncio.shield(self._sessions.spawn(partial(self._take, event, reply)))
            case Pressed():
                self._press(event, reply)
            case Deleted():
                self._stop_answer_to(event.conversation.place, event.message_id)
            case Typing():
                if self._gate.decide(event.by, event.conversation).allowed:
                    self._warming.expect(event.conversation.key)
            case Edited():
                pass
            case _:
                assert_never(event)
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async def recover(self, adapters: Mapping[str, Adapter]) -> None:
        """Take up what an earlier run of the bot left unfinished, and tell adapters where people talked to it."""
        for platform, served in adapters.items():
            if isinstance(served, CatchesUp):
                served.catch_up(await self._store.private_chats(platform))
            if isinstance(served, Suggests):
                served.suggest_by(self._suggest)
        await self._resuming.recover(adapters)

    def _suggest(self, command: str, where: Conversation, by: Person) -> Sequence[str]:
        """A `clawdbot.menu.Suggest`."""
        return self._commands.suggestions(command) if self._gate.decide(by, where).allowed else ()

    async def _take(self, message: Message, reply: Reply) -> None:
        """Decide what a message is; returns when it is durable and its answer is under way."""
        if self._stale(message):
            log.warning("left a message of %s unanswered: it is too old", message.conversation.key)
            self._tell("too old", message)
            return
        reason = self._gate.decide(message.author, message.conversation)
        if not reason.allowed:
            await self._meet_stranger(reason, message, reply)
            return
        if name := called(message.text):
            if await self._claim(message):
                self._tell("command", message)
                work = partial(self._command, name, message, reply)
                self._sessions.spawn(work, partial(self._notices.apologise, message, reply))
        elif not await self._albums.joins(message):
            await self._weigh(message, reply)
            self._albums.refuse(message)
        await self._gate.note_admitted(message.author, message.conversation, reason)

    async def _weigh(self, message: Message, reply: Reply) -> None:
        """Take a question in unless it is too much, for its author or for the bot."""
        try:
            async with self._gate.counting(message) as over:
                if not self._gate.decide(message.author, message.conversation).allowed:
                    return  # kept out while it waited to be counted
                if over is not None:
                    self._tell("quota", message)
                    await self._tell_quota(over, message, reply)
                elif refusal := self._refusal(message):
                    if await self._claim(message):
                        self._tell(refusal[0], message)
                        self._refuse(refusal[1], message, reply)
                else:
                    await self._accept(message, reply)
        except StoreError:
            log.exception("it is not known how much somebody has asked already")
            self._say(Said(words.NOT_KEPT), message, reply)

    def _tell(self, verdict: Verdict, message: Message) -> None:
        self._observe(Received(message.conversation.platform, verdict))

    def _stale(self, message: Message) -> bool:
        return message.sent_at is not None and self._clock.wall() - message.sent_at > self._oldest_question

    async def _claim(self, message: Message) -> bool:
        """Note that something that is no question was delivered; whether it is for the first time."""
        try:
            return await self._store.first_seen(message.conversation.platform, message.id)
        except StoreError:
            log.exception("a message could not be noted; it is answered again if it is delivered again")
            return True

    async def _accept(self, message: Message, reply: Reply) -> None:
        ticket = Ticket(message.conversation.key, message.id, message.author.id)
        durable = asyncio.Event()

        async def answer() -> None:
            try:
                kept = await self._store.ask(Question(message, reply.ref))
            except StoreError:
                log.exception("a question could not be stored")
                self._say(Said(words.NOT_KEPT), message, reply)
                return
            finally:
                durable.set()
            self._albums.stored(message, kept.reply if kept else None)
            if kept is None:  # it was delivered a second time
                return
            self._tell("question", message)
            if not self._sessions.closing:  # or it is left to the next start
                await self._answering.answer(Asked(kept.reply, kept.question.message, reply, ticket))

        # Its place is taken before the first wait, so that a burst meets the limits as they are.
        self._sessions.start(ticket, answer, partial(self._notices.apologise, message, reply))
        await durable.wait()

    def _refusal(self, message: Message) -> tuple[Verdict, Said] | None:
        """Why a question is not taken, told before any work is done for it."""
        if len(message.text) > self._longest_question:
            size, limit = len(message.text), self._longest_question
            return "too long", Said(words.TOO_LONG.format(size=size, unit="characters", limit=limit))
        try:
            if not message.album:  # or what is wrong with it is said once, when it is whole
                self._reading.check(message)
        except Unreadable as refused:
            return "unreadable", Said(refused.said)
        refusal = self._sessions.refusal(message.conversation.key, message.author.id)
        return None if refusal is None else (refusal.reason, too_busy(refusal))

    def _refuse(self, refusal: Said, message: Message, reply: Reply) -> None:
        """Say why a question is not taken, unless the same is on its way to its author already.

        A burst would else spend the conversation's room on refusals, and its answers would get none.
        """
        same = (message.conversation.key, message.author.id, refusal.text)
        if same not in self._refusing:
            self._refusing.add(same)
            self._say(refusal, message, reply).add_done_callback(lambda _: self._refusing.discard(same))

    async def _tell_quota(self, over: Reached, message: Message, reply: Reply) -> None:
        """Say that a limit is reached, once as long as it is: a limited person's messages cost the platform nothing."""
        if await self._claim(message) and await self._gate.first_notice(message, over):
            self._say(over_quota(over, self._clock.wall()), message, reply)

    async def _meet_stranger(self, reason: Reason, message: Message, reply: Reply) -> None:
        """Let somebody in who has a code, and refuse all others: a wrong code is answered as anything else is."""
        code = argument(message.text) if called(message.text) == "pair" else ""
        if code and await self._claim(message) and await self._gate.redeem(message, code):
            self._say(Said(words.PAIRED, private=True), message, reply)
        else:
            await self._refuse_stranger(reason, message, reply)

    async def _refuse_stranger(self, reason: Reason, message: Message, reply: Reply) -> None:
        self._tell("stranger", message)
        platform, person = message.conversation.platform, message.author
        # Every time: that is where the owner finds the numbers of people and groups.
        log.warning("refused %s user %d in %s", platform, person.id, message.conversation.key)
        if await self._store.first_refusal(platform, person.id):
            self._say(Said(words.REFUSED.format(id=person.id), private=True), message, reply)
        await self._gate.note_refused(person, message.conversation, reason)

    async def _command(self, name: str, message: Message, reply: Reply) -> None:
        admin = self._gate.is_admin(message.conversation.platform, message.author)
        await self._notices.tell(await self._commands.run(name, message, admin=admin), message, reply)

    def _press(self, event: Pressed, reply: Reply) -> None:
        if not self._gate.decide(event.by, event.conversation).allowed:
            return
        admin = self._gate.is_admin(event.conversation.platform, event.by)
        if event.control == "continue":
            work = partial(self._resuming.go_on, event, reply, admin=admin)
            self._sessions.spawn(work, partial(self._notices.explain, Said(words.FAILED, private=True), event, reply))
        elif event.control == "stop":
            above = [ticket for ticket in self._sessions.at(event.conversation.place) if event.post in ticket.posts]
            if above:
                _stop_first(above, event.by, admin=admin)
            elif event.post != reply.ref:  # on a draft it can only have come too late
                self._sessions.spawn(partial(self._stop_unknown, event, reply, admin=admin))

    async def _stop_unknown(self, event: Pressed, reply: Reply, *, admin: bool) -> None:
        """Stop is asked for below a message of which no answer under way knows.

        Unless its answer is just over, it was posted by a call that got no answer: it belongs to the answer that is
        being written here, if there is one, or is a copy that would stand there for ever as if it still grew.
        """
        if await self._store.of_post(event.conversation, event.post):
            return
        growing = [ticket for ticket in self._sessions.at(event.conversation.place) if not ticket.written]
        if growing:
            _stop_first(growing, event.by, admin=admin)
        else:
            await self._notices.withdraw(event, reply)

    def _stop_answer_to(self, place: str, message_id: str) -> None:
        for ticket in self._sessions.at(place):
            if ticket.message_id == message_id:
                ticket.stop()

    def _say(self, said: Said, message: Message, reply: Reply) -> asyncio.Task[None]:
        """Tell something in a task of its own, so that nobody waits for the platform."""
        return self._sessions.spawn(partial(self._notices.tell, said, message, reply))


def _stop_first(tickets: Sequence[Ticket], by: Person, *, admin: bool) -> None:
    """Stop the first of ``tickets`` that ``by`` may stop."""
    for ticket in tickets:
        if may_stop(ticket, by.id, admin=admin):
            ticket.stop()
            return
