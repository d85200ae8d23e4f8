"""Answers that are not complete: those that an earlier run left, and those that somebody asks to continue."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from clawdbot import words
from clawdbot.answers.answering import Answering
from clawdbot.answers.notices import too_busy
from clawdbot.chat import Adapter, Pressed, Reply, State
from clawdbot.errors import Limited, StoreError
from clawdbot.questions.asked import Asked
from clawdbot.said import Said
from clawdbot.sessions.ticket import Ticket, may_change
from clawdbot.shared import Shared
from clawdbot.store import Answer, Unfinished

log = logging.getLogger(__name__)


class Resuming:
    """Takes unfinished answers up again."""

    def __init__(self, shared: Shared, answering: Answering, *, oldest_question: float) -> None:
        """``oldest_question`` is in seconds since it was received: what is older is not answered any more."""
        self._store = shared.store
        self._sessions = shared.sessions
        self._answering = answering
        self._notices = shared.notices
        self._addresses = shared.addresses
        self._budgets = shared.budgets
        self._clock = shared.clock
        self._oldest_question = oldest_question

    async def recover(self, adapters: Mapping[str, Adapter]) -> None:
        """Take up what an earlier run of the bot left unfinished; ``adapters`` are those that will serve."""
        self._addresses.serve(adapters)
        for platform, ref, until in await self._store.held():
            if (reply := self._addresses.reply(platform, ref)) is not None:
                self._hold(reply, until)
        for left in await self._store.unfinished():
            if not self._addresses.serves(left.question.message.conversation.platform):
                continue  # that platform is switched off; perhaps it comes back
            reply = self._addresses.reply_to(left)
            if reply is None:
                await self._store.fail(left.reply, State.INTERRUPTED)  # nobody is there to read it
            else:
                self._take_up(left, reply)

    async def go_on(self, event: Pressed, reply: Reply, *, admin: bool) -> None:
        """Continue the interrupted answer that has the message ``event.post``, if whoever asks for it may.

        It goes on in its own messages; ``reply`` is for what has to be said to them alone. A second time does nothing.
        """
        found = await self._store.of_post(event.conversation, event.post)
        where = self._addresses.reply_to(found) if found else None
        if found is None or where is None:
            await self._notices.explain(Said(words.NOT_KNOWN, private=True), event, reply)
            return
        ticket = _ticket_of(found)
        interrupted = found.answer is not None and found.answer.state is State.INTERRUPTED
        if self._sessions.closing or not interrupted or not may_change(ticket.asker, event.by.id, admin=admin):
            return
        if refusal := self._sessions.refusal(ticket.conversation, ticket.asker):
            await self._notices.explain(replace(too_busy(refusal), private=True), event, reply)
            return
        asked = replace(Asked.of(found, where, ticket), begun=found.answer)
        apologise = partial(self._notices.apologise, asked.message, where)
        self._sessions.start(ticket, partial(self._continue, asked, event.by.id), apologise)

    async def _continue(self, asked: Asked, by: int) -> None:
        if await self._store.reopen(asked.number, by):
            await self._answering.answer(asked)

    def _take_up(self, left: Unfinished, reply: Reply) -> None:
        ticket = _ticket_of(left)
        asked = Asked.of(left, reply, ticket)
        if (answer := _seen(left)) is not None:
            work = partial(self._answering.deliver, asked, answer)
        else:
            if self._clock.now() - asked.message.received_at > self._oldest_question:
                ticket.stop(State.INTERRUPTED)
            work = partial(self._answering.answer, asked)
        self._sessions.start(ticket, work, partial(self._give_up, asked))

    def _hold(self, reply: Reply, until: float) -> None:
        """Let nobody call there before the platform takes calls again: it has said so to an earlier run."""
        limits, now = reply.limits, self._clock.now()
        for bucket in (limits.sends, limits.edits, limits.typing):
            if bucket is not None:
                self._budgets.refuse(bucket, limits.bot, Limited(until - now), now)

    async def _give_up(self, asked: Asked) -> None:
        """Or every start would fail with it anew."""
        try:
            await self._store.fail(asked.number, State.FAILED)
        except StoreError:
            log.exception("an answer that cannot be taken up could not be given up either")
        await self._notices.apologise(asked.message, asked.reply)


def _ticket_of(left: Unfinished) -> Ticket:
    message = left.question.message
    return Ticket(message.conversation.key, message.id, message.author.id)


def _seen(left: Unfinished) -> Answer | None:
    """The text that its reader has to get, or has seen a part of; None when the model may begin anew.

    Another wording must not take the place of what was on the screen, so a text that was still growing is marked.
    """
    answer = left.answer
    if answer is None or answer.state is not State.STREAMING:
        return answer
    return replace(answer, state=State.INTERRUPTED) if answer.text and left.posts else None
