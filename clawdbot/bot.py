"""One event in, one answer out: decides what an event is and who has to deal with it."""

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import assert_never

from clawdbot import words
from clawdbot.abilities import Suggests
from clawdbot.answers.answering import Answering
from clawdbot.answers.resuming import Resuming
from clawdbot.answers.revising import Revising
from clawdbot.chat import (
    Adapter,
    CatchesUp,
    Conversation,
    Deleted,
    Edited,
    Event,
    Message,
    Migrated,
    Person,
    Pressed,
    Reply,
    Typing,
)
from clawdbot.commands.commands import ABOUT_CONVERSATION, Commands, argument, called
from clawdbot.errors import StoreError
from clawdbot.people.access import Reason
from clawdbot.people.rooms import Groups, settled
from clawdbot.questions.arrivals import Arrivals
from clawdbot.questions.asked import Asked
from clawdbot.questions.intake import Intake
from clawdbot.questions.wellformed import wellformed
from clawdbot.said import Said
from clawdbot.sessions.sessions import Work
from clawdbot.sessions.ticket import Ticket, may_change
from clawdbot.shared import Shared
from clawdbot.store import Question

log = logging.getLogger(__name__)


class Bot:
    """The core, seen from an adapter: `receive` is a `clawdbot.chat.Receive`."""

    def __init__(
        self,
        shared: Shared,
        *,
        answering: Answering,
        intake: Intake,
        revising: Revising,
        resuming: Resuming,
        commands: Commands,
        groups: Groups,
        oldest_question: float,
    ) -> None:
        """``oldest_question`` is in seconds since it was posted or received."""
        self._store = shared.store
        self._sessions = shared.sessions
        self._gate = shared.gate
        self._models = shared.models
        self._albums = shared.albums
        self._notices = shared.notices
        self._answering = answering
        self._intake = intake
        self._revising = revising
        self._resuming = resuming
        self._commands = commands
        self._clock = shared.clock
        self._groups = groups
        self._oldest_question = oldest_question
        self._arrivals = Arrivals(shared.sessions)

    def receive(self, event: Event, reply: Reply) -> Awaitable[None]:
        """See `clawdbot.chat.Receive`."""
        kept = wellformed(event)
        if kept is None:
            log.warning("left an event alone: it holds a number that no platform gives")
            return _taken_in()
        event = settled(kept, self._groups)
        match event:
            case Message():
                alone = called(event.text) in ABOUT_CONVERSATION
                return self._in_order(event, reply, partial(self._take, event, reply), alone=alone)
            case Edited():
                return self._in_order(event.message, reply, partial(self._take_edited, event, reply))
            case Pressed():
                self._press(event, reply)
            case Deleted():
                work = partial(self._revising.removed, event.conversation, event.message_id)
                return self._arrivals.take(event.conversation, (event.message_id,), work)
            case Migrated():
                return asyncio.shield(self._sessions.spawn(partial(self._move, event)))
            case Typing():
                if self._gate.decide(event.by, event.conversation).allowed:
                    self._models.of(event.conversation.key).warming.expect(event.conversation.key)
            case _:
                assert_never(event)
        return _taken_in()

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

    def _in_order(self, message: Message, reply: Reply, take: Work, *, alone: bool = False) -> Awaitable[None]:
        """Take a message in after what came before about it, or about the one that it continues.

        ``alone``: after and before all that is said in its conversation.
        """

        async def apologise() -> None:
            if self._gate.decide(message.author, message.conversation).allowed:
                await self._notices.apologise(message, reply)

        ids = {message.id, message.continues or message.id}
        return self._arrivals.take(message.conversation, ids, take, apologise, alone=alone)

    async def _take(self, message: Message, reply: Reply) -> None:
        """Decide what a message is; returns when it is durable and its answer is under way."""
        if self._stale(message):
            log.warning("left a message of %s unanswered: it is too old", message.conversation.key)
            self._intake.tell("too old", message)
            return
        reason = self._gate.decide(message.author, message.conversation)
        if not reason.allowed:
            await self._meet_stranger(reason, message, reply)
            return
        if message.continues:
            await self._revising.joined(message, reply)
        elif name := called(message.text):
            if await self._intake.claim(message):
                self._intake.tell("command", message)
                work = partial(self._command, name, message, reply)
                if name in ABOUT_CONVERSATION:
                    await work()
                else:
                    self._sessions.spawn(work, partial(self._notices.apologise, message, reply))
        elif not await self._albums.joins(message):
            try:
                await self._intake.take(message, reply, partial(self._accept, message, reply))
            finally:
                self._albums.refuse(message)  # unless it was taken; the others of it are not to wait for ever
        await self._gate.note_admitted(message.author, message.conversation, reason)

    async def _take_edited(self, event: Edited, reply: Reply) -> None:
        """Let the answer follow its question; what was not said to the bot before is a question now."""
        message = event.message
        allowed = self._gate.decide(message.author, message.conversation).allowed
        if not allowed or called(message.text) or self._stale(message):
            return
        if not await self._revising.edited(message, reply) and event.addressed:
            await self._take(message, reply)

    def _stale(self, message: Message) -> bool:
        return message.sent_at is not None and self._clock.wall() - message.sent_at > self._oldest_question

    async def _accept(self, message: Message, reply: Reply) -> None:
        ticket = Ticket(message.conversation.key, message.id, message.author.id)
        durable = asyncio.Event()

        async def answer() -> None:
            try:
                kept = await self._store.ask(Question(message, reply.ref))
            except StoreError:
                log.exception("a question could not be stored")
                self._intake.say(Said(words.NOT_KEPT), message, reply)
                return
            finally:
                durable.set()
            self._albums.stored(message, kept.reply if kept else None)
            if kept is None:  # it was delivered a second time
                return
            self._intake.tell("question", message)
            if not self._sessions.closing:  # or it is left to the next start
                self._sessions.make_way(ticket)
                await self._answering.answer(Asked(kept.reply, kept.question.message, reply, ticket))

        # Its place is taken before the first wait, so that a burst meets the limits as they are.
        self._sessions.start(ticket, answer, partial(self._notices.apologise, message, reply))
        await durable.wait()

    async def _meet_stranger(self, reason: Reason, message: Message, reply: Reply) -> None:
        """Let somebody in who has a code, and refuse all others: a wrong code is answered as anything else is."""
        code = argument(message.text) if called(message.text) == "pair" else ""
        if code and await self._intake.claim(message) and await self._gate.redeem(message, code):
            self._intake.say(Said(words.PAIRED, private=True), message, reply)
        else:
            await self._refuse_stranger(reason, message, reply)

    async def _refuse_stranger(self, reason: Reason, message: Message, reply: Reply) -> None:
        self._intake.tell("stranger", message)
        platform, person = message.conversation.platform, message.author
        # Every time: that is where the owner finds the numbers of people and groups.
        log.warning("refused %s user %d in %s", platform, person.id, message.conversation.key)
        if await self._store.first_refusal(platform, person.id):
            self._intake.say(Said(words.REFUSED.format(id=person.id), private=True), message, reply)
        await self._gate.note_refused(person, message.conversation, reason)

    async def _command(self, name: str, message: Message, reply: Reply) -> None:
        admin = self._gate.is_admin(message.conversation.platform, message.author)
        self._intake.say(await self._commands.run(name, message, admin=admin), message, reply)

    def _press(self, event: Pressed, reply: Reply) -> None:
        if not self._gate.decide(event.by, event.conversation).allowed:
            return
        admin = self._gate.is_admin(event.conversation.platform, event.by)
        anew = {"continue": self._resuming.go_on, "regenerate": self._revising.regenerate}
        if (work := anew.get(event.control)) is not None:
            apologise = partial(self._notices.explain, Said(words.FAILED, private=True), event, reply)
            self._sessions.spawn(partial(work, event, reply, admin=admin), apologise)
        elif event.control == "stop":
            above = [ticket for ticket in self._sessions.at(event.conversation.place) if ticket.shows(event.post)]
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

    async def _move(self, event: Migrated) -> None:
        """Let the conversations of a chat go on where it is now; an answer under way finds its way there by itself."""
        old, new = event.conversation, event.to
        await self._gate.follow(old, new)
        await self._arrivals.rest()  # what was said before is to be in the store, or it would stay behind
        for ticket in self._sessions.at(old.place):
            ticket.place = new.place
        await self._store.move(old, new)
        await self._commands.move(old.place, new.place)


def _taken_in() -> Awaitable[None]:
    done = asyncio.get_running_loop().create_future()
    done.set_result(None)
    return done


def _stop_first(tickets: Sequence[Ticket], by: Person, *, admin: bool) -> None:
    """Stop the first of ``tickets`` that ``by`` may stop."""
    for ticket in tickets:
        if may_change(ticket.asker, by.id, admin=admin):
            ticket.stop()
            return
