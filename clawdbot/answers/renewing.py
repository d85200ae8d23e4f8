"""Revisions of an answer under way: how they get into the store, and what is answered instead."""

from dataclasses import replace

from clawdbot.answers.draft import Draft
from clawdbot.clock import first_of
from clawdbot.delivery.live import LiveReply
from clawdbot.errors import StoreError
from clawdbot.questions.asked import Asked
from clawdbot.store import Revision, Store


class Renewing:
    """Takes them in; shared by all conversations."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def until_at_rest(self, asked: Asked, live: LiveReply, draft: Draft | None = None) -> Revision | None:
        """Let what is under way on the screen end, and store all revisions that come until then, each at once.

        Whoever revises waits for the store alone: a call may hang for a minute. The last one that has to be answered,
        None when there is none. Of the ``draft`` that they end nothing is noted any more.
        """
        live.leave_off()
        last = await self._take(asked, draft)
        while not live.at_rest:
            await first_of(live.rest(), asked.ticket.until_revised())
            last = await self._take(asked, draft) or last
        return last

    async def again(self, asked: Asked, revised: Revision | None) -> Asked | None:
        """What to answer now, if it was ``revised`` or has been since."""
        revised = await self._take(asked) or revised
        left = revised and await self._store.asked(asked.message.conversation.platform, asked.message.id)
        if not revised or not left:
            return None
        again = Asked.of(left, asked.reply, asked.ticket, unfinished=revised.unfinished, album=asked.message.album)
        return replace(again, posts=again.posts or None)

    async def _take(self, asked: Asked, draft: Draft | None = None) -> Revision | None:
        """Store all revisions that have come; the last one that has to be answered, None when there is none."""
        last = None
        with asked.ticket.taking() as revisions:
            for revision, taken in revisions:
                spent = None if draft is None else 0 if draft.over else draft.cost
                if draft is not None:
                    draft.over = True
                try:
                    fresh = await self._store.revisions.begin(asked.number, revision, spent)
                except StoreError as error:
                    fresh = True  # its answer was ended, so it is begun again as it was
                    if not taken.done():
                        taken.set_exception(error)
                else:
                    if not taken.done():
                        taken.set_result(True)
                last = revision if fresh else last
        return last
