"""The end of an answer: its last frame on the screen, its turn in the history, its timing."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial

from clawdbot import words
from clawdbot.answers.draft import Draft
from clawdbot.chat import Message, State
from clawdbot.delivery.live import LiveReply
from clawdbot.errors import DeliveryError, StoreError
from clawdbot.latency.observed import Failed
from clawdbot.latency.timing import Timing, footer
from clawdbot.questions.asked import Asked
from clawdbot.said import Said
from clawdbot.shared import Shared

log = logging.getLogger(__name__)


class Concluding:
    """Ends answers; shared by all conversations."""

    def __init__(self, shared: Shared) -> None:
        self._store = shared.store
        self._sessions = shared.sessions
        self._notices = shared.notices
        self._clock = shared.clock
        self._observe = shared.observe
        """Is told the timing of every answer, when it is complete and stored, and of those that failed."""
        self._footer = shared.styles.default.footer
        """Whether the latency stands below an answer."""
        self._owed: dict[int, Callable[[], Awaitable[None]]] = {}
        """What the store did not take of answers that their readers have, by the number of the reply."""

    async def conclude(self, draft: Draft, asked: Asked, live: LiveReply) -> None:
        """Bring the answer to its reader for certain, and into the store as far as that is possible.

        A revision ends that early: what it finds in the store is what counts.
        """
        state = asked.ticket.cut or draft.failure or State.FINAL
        if (state is State.FAILED or not draft.text) and await self._bring_back(draft, state, asked, live):
            return
        if state is State.FAILED:
            async with asked.ticket.showing():
                await finish(live, draft.text, state)
            await keep(self._store.fail(asked.number, state))
            self._observe(Failed(asked.message.conversation.platform, draft.model))
            return
        answer = draft.answer(state)
        await keep(self._store.answered(asked.number, answer))
        async with asked.ticket.showing():
            await finish(live, draft.text, state, self._footnote(draft, state, asked, live))
        if asked.ticket.revised:
            return
        # A continued answer has the timing of its first run; one that was asked for anew has none.
        timing = None if draft.begun or asked.revised else self._timing(draft, state, asked.message, live)
        tokens = draft.cost if timing is None else 0
        write = partial(self._store.finish, asked.number, answer, timing, draft.trimming, tokens=tokens)
        await self.settle(asked.number, write)
        if timing is not None:
            self._observe(timing)

    async def _bring_back(self, draft: Draft, state: State, asked: Asked, live: LiveReply) -> bool:
        """Show the former answer again, since there is no new one; False when there was none before."""
        try:
            former = await self._store.revisions.take_back(asked.number)
        except StoreError:
            log.exception("a former answer could not be looked up")
            return False
        if former is None:
            return False
        async with asked.ticket.showing():
            await finish(live, former.text, former.state)
        if not asked.ticket.revised:
            await self.settle(asked.number, partial(self._store.finish, asked.number, former, tokens=draft.cost))
        if state is State.FAILED:  # in a task of its own: a platform may take it hours later
            why = Said(draft.text or words.NO_NEW_ANSWER, private=True)
            self._sessions.spawn(partial(self._notices.tell, why, asked.message, asked.reply))
        return True

    def _footnote(self, draft: Draft, state: State, asked: Asked, live: LiveReply) -> str:
        """What is known of the latency so far.

        Nothing of an answer that goes on or is written anew: whoever reads it has not waited since the question came.
        """
        if not self._footer or state is not State.FINAL or draft.begun or asked.revised:
            return ""
        return footer(self._timing(draft, state, asked.message, live))

    def begin(self, number: int) -> None:
        """The answer to that question is written: what the store did not take of a former one has come too late."""
        self._owed.pop(number, None)

    async def settle(self, number: int, write: Callable[[], Awaitable[None]]) -> None:
        """Store that an answer is complete, and the same of those for which there was no room before."""
        self._owed[number] = write
        for each in [number, *self._owed]:
            late = self._owed.pop(each, None)
            if late is not None and not await keep(late()):
                self._owed[each] = late
                return  # the others would fail as well

    def _timing(self, draft: Draft, state: State, message: Message, live: LiveReply) -> Timing:
        received = message.received_at
        now = self._clock.now()
        usage = draft.usage

        def mark(at: float | None) -> float | None:
            return None if at is None else at - received

        at = self._clock.wall() - (now - received)
        return Timing(
            platform=message.conversation.platform,
            conversation=message.conversation.key,
            at=at,
            platform_delay=None if message.sent_at is None else at - message.sent_at,
            admitted=mark(draft.admitted),
            queued=mark(usage.queued if usage else None),
            scheduled=mark(usage.scheduled if usage else None),
            first_token=mark(usage.first_token if usage else draft.first_token),
            showable=mark(live.first_showable),
            # A mark below no text is no first word.
            first_visible=mark(live.first_visible if live.first_showable is not None else None),
            last_token=mark(usage.last_token if usage else draft.last_token),
            complete=(live.complete or now) - received,
            prompt_tokens=usage.prompt_tokens if usage else 0,
            cached_tokens=(usage.cached_tokens or 0) if usage else 0,
            output_tokens=usage.output_tokens if usage else len(draft.tokens),
            state=state.value,
            model=draft.model,
        )


async def finish(live: LiveReply, text: str, state: State, footnote: str = "") -> None:
    """Show a finished text, as far as its platform takes it."""
    try:
        await live.finish(text, state, footnote=footnote)
    except DeliveryError as error:
        # Gone, forbidden or refused for good: the platform has said its last word.
        log.warning("an answer cannot be shown: %s", error)


async def keep(write: Awaitable[None]) -> bool:
    """Whether the store took it."""
    try:
        await write
    except StoreError:
        log.exception("an answer could not be stored; that is tried again after the next one")
        return False
    return True
