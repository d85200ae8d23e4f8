"""The answer to a question is written anew, in its own messages.

That is one idea behind four wishes: another answer is wanted (a button, a command), the question was edited, or it goes
on in the next message, since the platform's client had cut it in two.
"""

import asyncio
import logging
from dataclasses import replace
from functools import partial

from clawdbot import words
from clawdbot.answers.answering import Answering
from clawdbot.chat import Conversation, Message, Pressed, Reply
from clawdbot.errors import StoreError
from clawdbot.questions.asked import Asked
from clawdbot.questions.intake import Intake
from clawdbot.said import Said
from clawdbot.sessions.ticket import Ticket, may_change
from clawdbot.shared import Shared
from clawdbot.store import Piece, Revision, Unfinished

log = logging.getLogger(__name__)


class Revising:
    """Lets answers begin again, those that are under way and those that are complete."""

    def __init__(self, shared: Shared, answering: Answering, intake: Intake) -> None:
        self._store = shared.store
        self._sessions = shared.sessions
        self._answering = answering
        self._intake = intake
        self._notices = shared.notices
        self._addresses = shared.addresses

    async def edited(self, message: Message, reply: Reply) -> bool:
        """Let the answer follow an edited question, or a part of one; False when it was never taken in.

        Returns when that is durable. Raises `StoreError`.
        """
        platform = message.conversation.platform
        if await self._store.revisions.seen(platform, message.event):
            return True
        found = await self._store.asked(platform, message.id)
        if found is None:
            return False
        earlier = found.question.message
        if earlier.author.id == message.author.id and found.part(message.id).text != message.text:
            piece = Piece.of(message)
            revision = Revision(message.author.id, message.event, piece, unfinished=message.unfinished)
            where = reply if message.id == earlier.id else self._addresses.reply_to(found) or reply
            under_way = self._sessions.answering(platform, earlier.id) is not None
            whole = replace(message, text=found.with_piece(piece))
            await self._intake.take(whole, reply, partial(self._apply, earlier, revision, where), in_place=under_way)
        return True

    async def joined(self, message: Message, reply: Reply) -> None:
        """Add a text to the one that it continues; where that was not taken, nothing of it is.

        Returns when that is durable. Raises `StoreError`.
        """
        platform = message.conversation.platform
        if await self._store.revisions.seen(platform, message.event):
            return
        found = await self._store.asked(platform, message.continues)
        if found is None or found.question.message.author.id != message.author.id:
            log.info("a part of a text was left alone: what it continues was not taken in")
            return
        earlier, piece = found.question.message, Piece.of(message)
        if refusal := self._intake.too_long(len(found.with_piece(piece))):
            # It is kept all the same: whoever shortens a part of the text by an edit asks the whole of it.
            if await self._store.pieces.add(found.reply, message) and not self._intake.too_long(len(earlier.text)):
                if ticket := self._sessions.answering(platform, earlier.id):
                    ticket.stop()
                self._intake.refuse(refusal, earlier, reply)
            return
        revision = Revision(None, message.event, piece, unfinished=message.unfinished)
        await self._apply(earlier, revision, self._addresses.reply_to(found) or reply)

    async def removed(self, where: Conversation, message_id: str) -> None:
        """Answer a question without a part that is there no more; nothing of it is left: not at all.

        An answer that is complete stays as it is. Raises `StoreError`.
        """
        found = await self._store.asked(where.platform, message_id)
        if found is None or found.question.message.conversation.place != where.place:
            return
        question, part = found.question.message, found.part(message_id)
        ticket, reply = self._sessions.answering(where.platform, question.id), self._addresses.reply_to(found)
        if not found.rests_on(message_id):
            if ticket is None or ticket.written or ticket.cut or reply is None:
                await self._store.pieces.silence(found.reply, message_id)
            elif part.text or part.files:
                await self._apply(question, Revision(removed=message_id), reply)
            found = await self._store.asked(where.platform, message_id)  # others may have been removed with it
        ticket = self._sessions.answering(where.platform, question.id)
        if ticket is not None and (found is None or found.rests_on(message_id)):
            ticket.stop()

    async def regenerate(self, event: Pressed, reply: Reply, *, admin: bool) -> None:
        """Write the answer anew that has the message ``event.post``, if whoever asks for it may.

        ``reply`` is for what has to be said to them alone. While it is being written that does nothing.
        """
        found = await self._store.of_post(event.conversation, event.post)
        if found is None:
            said = words.NOT_KNOWN
        elif not may_change(found.question.message.author.id, event.by.id, admin=admin) or self._is_under_way(found):
            return
        else:
            said = await self._renew(found, replace(found.question.message, author=event.by))
        if said:
            await self._notices.explain(Said(said, private=True), event, reply)

    async def retry(self, message: Message, *, admin: bool) -> Said:
        """Write the last answer of the conversation anew, if the author of ``message`` may have that."""
        found = await self._store.latest(message.conversation.key)
        if found is None:
            said = words.NOTHING_TO_RETRY
        elif not may_change(found.question.message.author.id, message.author.id, admin=admin):
            said = words.NOT_YOURS
        elif self._is_under_way(found):
            said = words.STILL_WRITING
        else:
            said = await self._renew(found, replace(found.question.message, author=message.author)) or words.RETRYING
        return Said(said, private=True)

    async def undo(self, message: Message, *, admin: bool) -> Said:
        """Forget the last exchange of the conversation, if the author of ``message`` may have that."""
        found = await self._store.latest(message.conversation.key, remembered=True)
        if found is None:
            return Said(words.NOTHING_TO_UNDO, private=True)
        asked = found.question.message
        if not may_change(asked.author.id, message.author.id, admin=admin):
            return Said(words.NOT_YOURS, private=True)
        if ticket := self._sessions.answering(asked.conversation.platform, asked.id):
            ticket.stop()
        await self._store.revisions.forget(found.reply)
        return Said(words.UNDONE)

    async def _renew(self, found: Unfinished, message: Message) -> str:
        """Write the answer to ``message``, by whoever wants it, anew; what is to be said about that, "" for nothing."""
        where = self._addresses.reply_to(found)
        if where is None:
            return words.NOT_KNOWN

        async def accept() -> None:
            if not self._is_under_way(found):  # the same may have been wanted while this one waited to be counted
                await self._apply(found.question.message, Revision(message.author.id), where)

        refusal = await self._intake.weigh(message, accept)
        return "" if refusal is None else self._intake.why(refusal)

    def _is_under_way(self, found: Unfinished) -> bool:
        """Whether its answer is being written; one whose last frame is just shown may begin again."""
        asked = found.question.message
        ticket = self._sessions.answering(asked.conversation.platform, asked.id)
        return ticket is not None and not ticket.written

    async def _apply(self, question: Message, revision: Revision, reply: Reply) -> None:
        """Let the answer to a stored question begin again, wherever it is; returns when that is durable.

        Raises `StoreError`.
        """
        platform = question.conversation.platform
        while (ticket := self._sessions.answering(platform, question.id)) is not None:
            if self._sessions.closing:
                raise asyncio.CancelledError  # it was not taken in: the platform may deliver it again
            if await ticket.revise(revision):
                return
        await self._begin(question, revision, reply)

    async def _begin(self, question: Message, revision: Revision, reply: Reply) -> None:
        ticket = Ticket(question.conversation.key, question.id, question.author.id)
        durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def answer() -> None:
            try:
                found = await self._store.asked(question.conversation.platform, question.id)
                again = found and await self._store.revise(found.reply, revision)
            except StoreError as error:
                durable.set_exception(error)
                return
            finally:
                if not durable.done():
                    durable.set_result(None)
            # None: it was delivered a second time. At the end of the bot it is left to the next start.
            if again is not None and not self._sessions.closing:
                await self._answering.answer(Asked.of(again, reply, ticket, unfinished=revision.unfinished))

        # Its place is taken before the first wait, so that nothing else begins for the same question.
        self._sessions.start(ticket, answer, partial(self._notices.apologise, question, reply))
        await durable
