"""One question on its way: from its turn in the conversation through the engine to the last frame on the screen."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from functools import partial

from clawdbot import words
from clawdbot.abilities import Phase
from clawdbot.albums import Albums
from clawdbot.asking import turn_text
from clawdbot.chat import Message, Reply, State
from clawdbot.clock import Clock
from clawdbot.delivery.live import LiveReply
from clawdbot.delivery.pace import Budgets
from clawdbot.draft import Draft, DraftJournal
from clawdbot.engine.admission import Admission, Place, Standing
from clawdbot.engine.host import EngineHost
from clawdbot.engine.protocol import Chunk, Engine, Request
from clawdbot.engine.reuse import Reuse
from clawdbot.errors import DeliveryError, EngineDead, GenerationFailed, PromptTooLong, StoreError, Unreadable
from clawdbot.latency import WIDEST_FOOTER, Timing, footer
from clawdbot.notices import key_of
from clawdbot.observed import Failed, Observe
from clawdbot.reading import Reading
from clawdbot.sessions import Sessions, Ticket, survived
from clawdbot.store import Answer, Store
from clawdbot.style import Styles
from clawdbot.together import together

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """A stored question that is to be answered, or its answer to be delivered."""

    number: int
    """The id of its reply in the store."""
    message: Message
    reply: Reply
    ticket: Ticket
    posts: Sequence[str | None] | None = None
    """The messages that were put up before, perhaps none, as `LiveReply` takes them; None at the first try."""
    begun: Answer | None = None
    """An interrupted answer that is to be continued."""


class Answering:
    """Makes answers; shared by all conversations."""

    def __init__(
        self,
        *,
        store: Store,
        host: EngineHost,
        sessions: Sessions,
        admission: Admission,
        reuse: Reuse,
        budgets: Budgets,
        clock: Clock,
        styles: Styles,
        reading: Reading,
        albums: Albums,
        observe: Observe,
    ) -> None:
        """``observe`` is told the timing of every answer, when it is complete and stored, and of those that failed."""
        self._store = store
        self._host = host
        self._sessions = sessions
        self._admission = admission
        self._reuse = reuse
        self._budgets = budgets
        self._clock = clock
        self._styles = styles
        self._style = styles.default
        self._reading = reading
        self._albums = albums
        self._observe = observe
        self._owed: list[Callable[[], Awaitable[None]]] = []
        """What the store did not take of answers that their readers have."""

    async def answer(self, asked: Asked) -> None:
        """Answer a question, or continue its answer."""
        draft = Draft.after(asked.begun)
        async with AsyncExitStack() as stack:
            live = await stack.enter_async_context(self._live(asked, draft))
            if draft.text:
                live.show(draft.text)
            async with asked.ticket:
                with self._host.needed():
                    if not await survived(self._make(draft, asked, live, stack)):
                        draft.fail()
            await self._conclude(draft, asked.ticket.cut or draft.failure or State.FINAL, asked, live)

    async def deliver(self, asked: Asked, answer: Answer) -> None:
        """Show an answer that an earlier run has left; the model is not asked again."""
        asked.ticket.written = True
        async with self._sessions.turn(asked.ticket), self._live(asked, None) as live:
            await _finish(live, answer.text, answer.state)
            await self._settle(partial(self._store.finish, asked.number, answer))

    def _live(self, asked: Asked, draft: Draft | None) -> LiveReply:
        posts = asked.ticket.posts
        posts.update(ref for ref in (asked.reply.ref, *(asked.posts or ())) if ref is not None)
        return LiveReply(
            asked.reply,
            key=key_of(asked.message),
            budgets=self._budgets,
            clock=self._clock,
            journal=DraftJournal(self._store, asked.number, posts, draft),
            posts=asked.posts,
            most_parts=self._style.most_messages,
            footnote=WIDEST_FOOTER if self._style.footer else "",
        )

    async def _make(self, draft: Draft, asked: Asked, live: LiveReply, stack: AsyncExitStack) -> None:
        """Let the question have its turn, which ``stack`` keeps, and the engine write the answer into ``draft``."""
        try:
            if ahead := self._sessions.ahead(asked.ticket):
                live.wait(_in_line(Standing(ahead - 1, None)))  # the first of them is not in line, it is answered
                if self._host.ready and not asked.message.files:
                    # What is too long for any prompt need not wait to be told so.
                    style = self._styles.of(asked.ticket.conversation)
                    await style.compose(await self._host.engine(), [], turn_text(asked.message))
            asked = await self._in_turn(asked, live, stack)
            live.wait("")
            await self._write(draft, asked, live)
        except (PromptTooLong, Unreadable) as error:
            if draft.text:  # what was begun leaves no room to go on
                draft.fail()
                return
            draft.text = error.said if isinstance(error, Unreadable) else _too_long(error)
            draft.failure = State.FAILED

    async def _in_turn(self, asked: Asked, live: LiveReply, stack: AsyncExitStack) -> Asked:
        """Let the question have its turn and its files; a file that cannot be read is told before the turn comes."""
        # Held until the answer is in the history: the next question's prompt has to see it.
        turn = self._sessions.turn(asked.ticket)
        if not (asked.message.files or asked.message.album):
            await stack.enter_async_context(turn)
            return asked
        async with together() as group:
            reading = group.create_task(self._read(asked, live))
            await stack.enter_async_context(turn)
        return replace(asked, message=reading.result())

    async def _read(self, asked: Asked, live: LiveReply) -> Message:
        """The message with what its files say, which the store keeps. Raises `Unreadable`."""
        if not self._sessions.ahead(asked.ticket):
            live.wait(words.LOADING_FILES)
        whole = await self._albums.whole(asked.message)
        message = await self._reading.read(whole, asked.reply)
        await _keep(self._store.attach(asked.number, message.files))
        return message

    async def _write(self, draft: Draft, asked: Asked, live: LiveReply) -> None:
        """Let the engine write the answer into ``draft`` and onto the screen."""
        engine: Engine | None = None
        # Twice: a question that finds its engine dead or dying is not to blame, one that kills two perhaps is.
        for tries_left in (1, 0):
            live.wait(words.RESTARTING if engine is not None else _UNTIL[self._host.phase])
            engine = await self._host.engine(instead_of=engine)
            live.wait("")
            try:
                await self._generate(engine, draft, asked, live)
            except EngineDead:
                log.warning("the engine died during an answer")
                if tries_left and not draft.grown:
                    draft.forget()
                    continue  # nothing of it was shown, so the question just waits for the next engine
                draft.fail()
            except GenerationFailed:
                log.exception("an answer failed")
                draft.fail()
            return

    async def _generate(self, engine: Engine, draft: Draft, asked: Asked, live: LiveReply) -> None:
        message, conversation = asked.message, asked.message.conversation.key
        style = self._styles.of(conversation)
        begun = await _tokens_of(draft.begun, engine)
        draft.model, draft.tokens = engine.info.model, begun
        history = await self._store.history(conversation, draft.model, before=asked.number)
        made = await style.compose(engine, history, turn_text(message), message.files)
        draft.question_tokens, draft.first_turn = made.question, made.first_turn
        prompt = [*made.tokens, *begun]
        async with self._place(engine, prompt, message, live) as place:
            live.wait("")
            draft.admitted = self._clock.now()
            request = Request(f"{key_of(message)}-{draft.admitted:.6f}", prompt, style.sampling_after(len(begun)))
            try:
                await self._listen(engine.generate(request), place, draft, live)
            finally:
                if draft.first_token is not None:  # also of a stopped answer: what the engine has read it has read
                    self._reuse.remember(engine, conversation, made.tokens, draft.tokens)

    async def _listen(self, answer: AsyncGenerator[Chunk, None], place: Place, draft: Draft, live: LiveReply) -> None:
        async with aclosing(answer) as chunks:
            async for chunk in chunks:
                place.started()
                draft.take(chunk, self._clock.now())
                live.show(draft.text)
                if live.lost is not None:
                    # Nobody can see it any more; closing the generator ends the request.
                    draft.failure = State.INTERRUPTED
                    return

    def _place(
        self, engine: Engine, prompt: Sequence[int], message: Message, live: LiveReply
    ) -> AbstractAsyncContextManager[Place]:
        """A place in the engine, with the reader told how long it takes to get one."""
        cost = self._reuse.uncached(engine, message.conversation.key, prompt)
        return self._admission.place(
            f"{message.conversation.platform}:{message.author.id}",
            cost,
            long=engine.info.is_long(cost),
            tell=lambda standing: live.wait(_in_line(standing)),
        )

    async def _conclude(self, draft: Draft, state: State, asked: Asked, live: LiveReply) -> None:
        """Bring the answer to its reader for certain, and into the store as far as that is possible."""
        if state is State.FAILED:
            await _finish(live, draft.text, state)
            await _keep(self._store.fail(asked.number, state))
            self._observe(Failed(asked.message.conversation.platform))
            return
        answer = draft.answer(state)
        await _keep(self._store.answered(asked.number, answer))
        await _finish(live, draft.text, state, self._footnote(draft, state, asked.message, live))
        # The timing of a continued answer is that of its first run.
        timing = None if draft.begun else self._timing(draft, state, asked.message, live)
        await self._settle(partial(self._store.finish, asked.number, answer, timing, draft.first_turn))
        if timing is not None:
            self._observe(timing)

    def _footnote(self, draft: Draft, state: State, message: Message, live: LiveReply) -> str:
        """What is known of the latency so far; nothing of an answer that goes on after an interruption."""
        if not self._style.footer or state is not State.FINAL or draft.begun:
            return ""
        return footer(self._timing(draft, state, message, live))

    async def _settle(self, write: Callable[[], Awaitable[None]]) -> None:
        """Store that an answer is complete, and the same of those for which there was no room before."""
        owed, self._owed = [*self._owed, write], []
        for each in owed:
            if not await _keep(each()):
                self._owed.append(each)

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
            cached_tokens=usage.cached_tokens if usage else 0,
            output_tokens=usage.output_tokens if usage else len(draft.tokens),
            state=state.value,
        )


def _too_long(error: PromptTooLong) -> str:
    if not error.files:
        return words.TOO_LONG.format(size=error.tokens, unit="tokens", limit=error.limit)
    files = "; ".join(f"{name}: {tokens:,} tokens" for name, tokens in error.files)
    return words.FILES_TOO_LONG.format(files=files, limit=error.limit)


_UNTIL = {
    Phase.LOADING: words.LOADING,
    Phase.READY: "",
    Phase.RESTARTING: words.RESTARTING,
    Phase.ASLEEP: words.WAKING,
    Phase.WAKING: words.WAKING,
}
"""What a reader is told who has to wait for the engine."""


def _in_line(standing: Standing) -> str:
    if standing.seconds is None:
        return words.IN_LINE.format(number=standing.ahead + 1)
    return words.IN_LINE_FOR.format(number=standing.ahead + 1, seconds=max(1, round(standing.seconds)))


async def _finish(live: LiveReply, text: str, state: State, footnote: str = "") -> None:
    try:
        await live.finish(text, state, footnote=footnote)
    except DeliveryError as error:
        # Gone, forbidden or refused for good: the platform has said its last word.
        log.warning("an answer cannot be shown: %s", error)


async def _keep(write: Awaitable[None]) -> bool:
    """Whether the store took it."""
    try:
        await write
    except StoreError:
        log.exception("an answer could not be stored; that is tried again after the next one")
        return False
    return True


async def _tokens_of(begun: Answer | None, engine: Engine) -> list[int]:
    """The tokens of what was written before, as ``engine`` reads them."""
    if begun is None:
        return []
    if begun.tokens and begun.model == engine.info.model:
        return list(begun.tokens)
    return await engine.tokenizer.encode(begun.text)
