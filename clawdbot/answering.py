"""One question on its way: from its turn in the conversation through the engine to the last frame on the screen."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from dataclasses import dataclass, field
from hashlib import blake2s

from clawdbot import words
from clawdbot.chat import Message, Reply, State
from clawdbot.clock import Clock
from clawdbot.delivery.live import LiveReply
from clawdbot.delivery.pace import Budgets
from clawdbot.engine.admission import Admission, Place, Standing
from clawdbot.engine.host import EngineHost
from clawdbot.engine.protocol import Chunk, Engine, Request, Sampling, Usage
from clawdbot.engine.reuse import Reuse
from clawdbot.errors import DeliveryError, EngineDead, GenerationFailed, PromptTooLong, StoreError
from clawdbot.latency import Timing
from clawdbot.prompt import Prompt, compose, room
from clawdbot.sessions import Sessions, Ticket, survived
from clawdbot.store import Answer, Store, Turn

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Style:
    """How answers are made."""

    system_prompt: str
    sampling: Sampling
    history_share: float
    """The part of the prompt's room that earlier turns may fill, 0 to 1."""
    most_messages: int
    """An answer that needs more messages is completed as a file."""

    async def compose(self, engine: Engine, history: Sequence[Turn], question: str) -> Prompt:
        """The prompt for ``engine`` that asks ``question`` after ``history``. Raises `PromptTooLong`."""
        within = room(engine.info.context, self.sampling.max_tokens, self.history_share)
        return await compose(engine.tokenizer, self.system_prompt, history, question, within)


@dataclass(slots=True)
class Draft:
    """What is known of one answer while it is made. Times are seconds of `Clock.now`."""

    text: str = ""
    tokens: list[int] = field(default_factory=list)
    model: str = ""
    question_tokens: list[int] | None = None
    first_turn: int | None = None
    admitted: float | None = None
    first_token: float | None = None
    last_token: float | None = None
    usage: Usage | None = None
    failure: State | None = None
    """The state in which a fault leaves the answer; None as long as there was none."""

    def take(self, chunk: Chunk, now: float) -> None:
        """Add what the engine has written."""
        self.last_token = now
        if self.first_token is None:
            self.first_token = now
        self.text += chunk.text
        self.tokens += chunk.tokens
        self.usage = chunk.usage

    def forget(self) -> None:
        """Forget what an engine wrote that died before its tokens made any text."""
        self.tokens, self.first_token, self.last_token = [], None, None

    def fail(self) -> None:
        """Note a fault: it cuts a text short, or there will be none."""
        self.failure = State.INTERRUPTED if self.text else State.FAILED

    def answer(self, state: State) -> Answer:
        """What of it is stored."""
        return Answer(self.text, state, self.model, self.question_tokens, self.tokens)


def key_of(message: Message) -> str:
    """Names the answer to ``message`` in 16 characters, the same after a restart."""
    return blake2s(f"{message.conversation.key}/{message.id}".encode(), digest_size=8).hexdigest()


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
        style: Style,
        observe: Callable[[Timing], None],
    ) -> None:
        """``observe`` is told the timing of every answer, when it is complete and stored."""
        self._store = store
        self._host = host
        self._sessions = sessions
        self._admission = admission
        self._reuse = reuse
        self._budgets = budgets
        self._clock = clock
        self._style = style
        self._observe = observe

    async def answer(
        self, ticket: Ticket, message: Message, reply: Reply, number: int, posts: Sequence[str] | None = None
    ) -> None:
        """Answer the stored question ``number``.

        ``posts`` are the messages that an earlier run has put up, perhaps none; None when this is the first try.
        """
        draft = Draft()
        async with AsyncExitStack() as stack:
            live = await stack.enter_async_context(self._live(ticket, message, reply, number, posts))
            async with ticket:
                if not await survived(self._make(draft, ticket, message, live, stack)):
                    draft.fail()
            await self._conclude(draft, ticket.cut or draft.failure or State.FINAL, message, live, number)

    async def deliver(
        self, ticket: Ticket, message: Message, reply: Reply, number: int, posts: Sequence[str], answer: Answer
    ) -> None:
        """Show an answer that an earlier run finished but could not deliver; the model is not asked again."""
        ticket.written = True
        async with self._sessions.turn(ticket), self._live(ticket, message, reply, number, posts) as live:
            await _finish(live, answer.text, answer.state)
            await _keep(self._store.finish(number, answer))

    def _live(
        self, ticket: Ticket, message: Message, reply: Reply, number: int, posts: Sequence[str] | None
    ) -> LiveReply:
        ticket.posts.update(posts or ())
        return LiveReply(
            reply,
            key=key_of(message),
            budgets=self._budgets,
            clock=self._clock,
            journal=_Journal(self._store, number, ticket),
            posts=posts,
            most_parts=self._style.most_messages,
        )

    async def _make(
        self, draft: Draft, ticket: Ticket, message: Message, live: LiveReply, stack: AsyncExitStack
    ) -> None:
        """Let the question have its turn, which ``stack`` keeps, and the engine write the answer into ``draft``."""
        try:
            if ahead := self._sessions.ahead(ticket):
                live.wait(_in_line(Standing(ahead - 1, None)))  # the first of them is not in line, it is answered
                if self._host.ready:  # what is too long for any prompt need not wait to be told so
                    await self._style.compose(await self._host.engine(), [], message.text)
            # Held until the answer is in the history: the next question's prompt has to see it.
            await stack.enter_async_context(self._sessions.turn(ticket))
            live.wait("")
            await self._write(draft, message, live)
        except PromptTooLong as error:
            draft.text = words.TOO_LONG.format(size=error.tokens, unit="tokens", limit=error.limit)
            draft.failure = State.FAILED

    async def _write(self, draft: Draft, message: Message, live: LiveReply) -> None:
        """Let the engine write the answer into ``draft`` and onto the screen."""
        engine: Engine | None = None
        # Twice: a question that finds its engine dead or dying is not to blame, one that kills two perhaps is.
        for tries_left in (1, 0):
            if engine is not None or not self._host.ready:
                live.wait(words.LOADING if engine is None else words.RESTARTING)
            engine = await self._host.engine(instead_of=engine)
            live.wait("")
            try:
                await self._generate(engine, draft, message, live)
            except EngineDead:
                log.warning("the engine died during an answer")
                if tries_left and not draft.text:
                    draft.forget()
                    continue  # nothing was shown, so the question just waits for the next engine
                draft.fail()
            except GenerationFailed:
                log.exception("an answer failed")
                draft.fail()
            return

    async def _generate(self, engine: Engine, draft: Draft, message: Message, live: LiveReply) -> None:
        draft.model = engine.info.model
        history = await self._store.history(message.conversation.key, draft.model)
        made = await self._style.compose(engine, history, message.text)
        draft.question_tokens, draft.first_turn = made.question, made.first_turn
        async with self._place(engine, made.tokens, message, live) as place:
            live.wait("")
            draft.admitted = self._clock.now()
            request = Request(f"{key_of(message)}-{draft.admitted:.6f}", made.tokens, self._style.sampling)
            try:
                await self._listen(engine.generate(request), place, draft, live)
            finally:
                if draft.first_token is not None:  # also of a stopped answer: what the engine has read it has read
                    self._reuse.remember(engine, message.conversation.key, made.tokens, draft.tokens)

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
            long=cost > (engine.info.long_prefill or engine.info.step_budget),
            tell=lambda standing: live.wait(_in_line(standing)),
        )

    async def _conclude(self, draft: Draft, state: State, message: Message, live: LiveReply, number: int) -> None:
        """Bring the answer to its reader for certain, and into the store as far as that is possible."""
        if state is State.FAILED:
            await _finish(live, draft.text, state)
            await _keep(self._store.fail(number, state))
            return
        answer = draft.answer(state)
        await _keep(self._store.answered(number, answer))
        await _finish(live, draft.text, state)
        timing = self._timing(draft, state, message, live)
        await _keep(self._store.finish(number, answer, timing, draft.first_turn))
        self._observe(timing)

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


def _in_line(standing: Standing) -> str:
    if standing.seconds is None:
        return words.IN_LINE.format(number=standing.ahead + 1)
    return words.IN_LINE_FOR.format(number=standing.ahead + 1, seconds=max(1, round(standing.seconds)))


async def _finish(live: LiveReply, text: str, state: State) -> None:
    try:
        await live.finish(text, state)
    except DeliveryError as error:
        # Gone, forbidden or refused for good: the platform has said its last word.
        log.warning("an answer cannot be shown: %s", error)


async def _keep(write: Awaitable[None]) -> None:
    try:
        await write
    except StoreError:
        log.exception("an answer could not be stored; the next start takes its question up again")


class _Journal:
    """What is noted of one answer on its way to the screen."""

    def __init__(self, store: Store, number: int, ticket: Ticket) -> None:
        self._store = store
        self._number = number
        self._ticket = ticket

    async def posted(self, part: int, post: str) -> None:
        self._ticket.posts.add(post)
        await self._store.posted(self._number, part, post)
