"""Answers that are not complete: those that an earlier run left, and those that somebody asks to continue."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from clawdbot import words
from clawdbot.answering import Answering, Asked
from clawdbot.chat import Adapter, Pressed, Reply, State
from clawdbot.clock import Clock
from clawdbot.commands import Said
from clawdbot.delivery.pace import Budgets
from clawdbot.errors import DeliveryError, Limited, StoreError
from clawdbot.notices import Notices, too_busy
from clawdbot.sessions import Sessions, Ticket
from clawdbot.store import Answer, Store, Unfinished

log = logging.getLogger(__name__)


class Resuming:
    """Takes unfinished answers up again."""

    def __init__(
        self,
        *,
        store: Store,
        sessions: Sessions,
        answering: Answering,
        notices: Notices,
        budgets: Budgets,
        clock: Clock,
        oldest_question: float,
    ) -> None:
        """``oldest_question`` is in seconds since it was received: what is older is not answered any more."""
        self._store = store
        self._sessions = sessions
        self._answering = answering
        self._notices = notices
        self._budgets = budgets
        self._clock = clock
        self._oldest_question = oldest_question
        self._adapters: Mapping[str, Adapter] = {}
        """Those that serve, by the name of their platform."""

    async def recover(self, adapters: Mapping[str, Adapter]) -> None:
        """Take up what an earlier run of the bot left unfinished; ``adapters`` are those that will serve."""
        self._adapters = adapters
        for platform, ref, until in await self._store.held():
            if (reply := self._reply(platform, ref)) is not None:
                self._hold(reply, until)
        for left in await self._store.unfinished():
            if left.question.message.conversation.platform not in adapters:
                continue  # that platform is switched off; perhaps it comes back
            reply = self._reply_to(left)
            if reply is None:
                await self._store.fail(left.reply, State.INTERRUPTED)  # nobody is there to read it
            else:
                self._take_up(left, reply)

    async def go_on(self, event: Pressed, reply: Reply, *, admin: bool) -> None:
        """Continue the interrupted answer that has the message ``event.post``, if whoever asks for it may.

        It goes on in its own messages; ``reply`` is for what has to be said to them alone. A second time does nothing.
        """
        found = await self._store.of_post(event.conversation, event.post)
        where = self._reply_to(found) if found else None
        if found is None or where is None:
            await self._notices.explain(Said(words.NOT_KNOWN, private=True), event, reply)
            return
        ticket = _ticket_of(found)
        interrupted = found.answer is not None and found.answer.state is State.INTERRUPTED
        if self._sessions.closing or not interrupted or not (admin or ticket.asker == event.by.id):
            return
        if refusal := self._sessions.refusal(ticket.conversation, ticket.asker):
            await self._notices.explain(replace(too_busy(refusal), private=True), event, reply)
            return
        asked = Asked(found.reply, found.question.message, where, ticket, found.posts, found.answer)
        apologise = partial(self._notices.apologise, asked.message, where)
        self._sessions.start(ticket, partial(self._continue, asked), apologise)

    async def _continue(self, asked: Asked) -> None:
        if await self._store.reopen(asked.number):
            await self._answering.answer(asked)

    def _reply_to(self, left: Unfinished) -> Reply | None:
        return self._reply(left.question.message.conversation.platform, left.question.reply_ref)

    def _reply(self, platform: str, ref: str) -> Reply | None:
        """Where that leads, if the platform is served and knows it."""
        adapter = self._adapters.get(platform)
        try:
            return adapter.reply(ref) if adapter else None
        except (DeliveryError, ValueError):  # or a ref that another version of the adapter has made
            return None

    def _take_up(self, left: Unfinished, reply: Reply) -> None:
        ticket = _ticket_of(left)
        asked = Asked(left.reply, left.question.message, reply, ticket, left.posts)
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
