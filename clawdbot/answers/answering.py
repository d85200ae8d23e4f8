"""One question on its way: from its turn in the conversation through the engine to the last frame on the screen."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import replace
from functools import partial

from clawdbot import words
from clawdbot.abilities import Phase
from clawdbot.answers.concluding import Concluding, finish, keep
from clawdbot.answers.draft import Draft, DraftJournal
from clawdbot.answers.notices import key_of
from clawdbot.answers.renewing import Renewing
from clawdbot.chat import Message, State
from clawdbot.delivery.live import LiveReply
from clawdbot.engine.admission import Place, Standing
from clawdbot.engine.protocol import Chunk, Engine, Request, Said
from clawdbot.errors import (
    EngineDead,
    EngineDown,
    GenerationFailed,
    PicturesRefused,
    PromptTooLong,
    Unreadable,
)
from clawdbot.latency.timing import WIDEST_FOOTER
from clawdbot.models import Model
from clawdbot.prompts.prompt import Prompt
from clawdbot.questions.asked import Asked
from clawdbot.questions.asking import turn_text
from clawdbot.questions.reading import Read, refused
from clawdbot.sessions.sessions import Spot, survived
from clawdbot.shared import Shared
from clawdbot.store import Answer, Trimming, Turn
from clawdbot.tasks.together import together

log = logging.getLogger(__name__)

GRACE = 0.4
"""Seconds that the rest of a text has to arrive before half of it is answered."""


class Answering:
    """Makes answers; shared by all conversations."""

    def __init__(self, shared: Shared) -> None:
        self._store = shared.store
        self._models = shared.models
        self._sessions = shared.sessions
        self._budgets = shared.budgets
        self._clock = shared.clock
        self._styles = shared.styles
        self._reading = shared.reading
        self._albums = shared.albums
        self._concluding = Concluding(shared)
        self._renewing = Renewing(shared.store)

    async def answer(self, asked: Asked) -> None:
        """Answer a question, or continue its answer; anew in the same messages whenever it is revised meanwhile."""
        with self._sessions.turn(asked.ticket) as spot:
            again: Asked | None = asked
            while again is not None:
                again = await self._try(again, spot)

    async def deliver(self, asked: Asked, answer: Answer) -> None:
        """Show an answer that an earlier run has left; the model is not asked again."""
        asked.ticket.written = True
        with self._sessions.turn(asked.ticket) as spot:
            async with asked.ticket.showing():
                await spot.come()
            async with self._live(asked, None) as live:
                async with asked.ticket.showing():
                    await finish(live, answer.text, answer.state)
                if not asked.ticket.revised:
                    await self._concluding.settle(asked.number, partial(self._store.finish, asked.number, answer))
                revised = await self._renewing.until_at_rest(asked, live)
        if (again := await self._renewing.again(asked, revised)) is not None:
            await self.answer(again)

    async def _try(self, asked: Asked, spot: Spot) -> Asked | None:
        """Answer the question as it is now; what to answer instead, if it is revised before that is done."""
        self._concluding.begin(asked.number)
        draft = Draft.after(asked.begun)
        draft.model = self._models.of(asked.ticket.conversation).name
        if asked.message.unfinished:
            draft.hidden_until = self._clock.now() + GRACE
        async with self._live(asked, draft) as live:
            if draft.text:
                live.show(draft.text)
            async with asked.ticket:
                with self._models.of(asked.ticket.conversation).host.needed():
                    if not await survived(self._make(draft, asked, live, spot)):
                        draft.fail()
            if not asked.ticket.revised:
                spot.step_out()
                await self._concluding.conclude(draft, asked, live)
            if not asked.ticket.revised:
                spot.leave()  # what is left to wait for is in nobody's way
            revised = await self._renewing.until_at_rest(asked, live, draft)
        return await self._renewing.again(asked, revised)

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
            most_parts=self._styles.default.most_messages,
            footnote=WIDEST_FOOTER if self._styles.default.footer else "",
            anew=asked.revised and draft is not None,
        )

    async def _make(self, draft: Draft, asked: Asked, live: LiveReply, spot: Spot) -> None:
        """Let the question have its turn, which ``spot`` keeps, and the engine write the answer into ``draft``."""
        try:
            if ahead := self._sessions.ahead(asked.ticket):
                live.wait(_in_line(Standing(ahead - 1, None)))  # the first of them is not in line, it is answered
                model = self._models.of(asked.ticket.conversation)
                if model.host.ready and not asked.message.files:
                    # What is too long for any prompt need not wait to be told so.
                    style = self._styles.of(asked.ticket.conversation, model.name)
                    with suppress(EngineDead):  # the next one tells it when the turn has come
                        await style.compose(await model.host.engine(), [], await _text_of(asked.message))
            asked = await self._in_turn(asked, live, spot)
            live.wait("")
            await self._write(draft, asked, live)
        except (PromptTooLong, PicturesRefused, Unreadable, EngineDown) as error:
            if draft.text:  # what was begun leaves no room to go on
                draft.fail()
                return
            if asked.message.files:  # nobody asks again what they say: a retry loads them anew
                await keep(self._store.attach(asked.number, [replace(file, text=None) for file in asked.message.files]))
            # Behind the last wait: whoever stops it in there gets no sentence as an answer.
            draft.text = _sentence(error, asked.message, self._models.of(asked.ticket.conversation).name)
            draft.failure = State.FAILED

    async def _in_turn(self, asked: Asked, live: LiveReply, spot: Spot) -> Asked:
        """Let the question have its turn and its files; a file that cannot be read is told before the turn comes."""
        # Held until the answer is in the history: the next question's prompt has to see it.
        if not (asked.message.files or asked.message.album):
            await spot.come()
            return asked
        async with together() as group:
            reading = group.create_task(self._read(asked, live))
            await spot.come()
        return replace(asked, message=reading.result().message, pictures=reading.result().pictures)

    async def _read(self, asked: Asked, live: LiveReply) -> Read:
        """Read what came along; what it says the store keeps. Raises `Unreadable`."""
        if not self._sessions.ahead(asked.ticket):
            live.wait(words.LOADING_FILES)
        whole = await self._albums.whole(asked.message)
        read = await self._reading.read(whole, asked.reply)
        await keep(self._store.attach(asked.number, read.message.files))
        return read

    async def _write(self, draft: Draft, asked: Asked, live: LiveReply) -> None:
        """Let the engine write the answer into ``draft`` and onto the screen."""
        conversation = asked.ticket.conversation
        engine: Engine | None = None
        # Twice: a question that finds its engine dead or dying is not to blame, one that kills two perhaps is.
        for tries_left in (1, 0):
            model, engine = await self._models.engine(conversation, engine, partial(self._tell, live))
            draft.model = model.name
            live.wait("")
            if asked.pictures:  # it may be another model than the one that was known when they came
                self._reading.check(asked.message)
            try:
                with model.host.needed():
                    await self._ask(model, engine, draft, asked, live)
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

    def _tell(self, live: LiveReply, phase: Phase) -> None:
        """Tell a reader what the question waits for."""
        live.wait(_until(phase, several=self._models.several))

    async def _ask(self, model: Model, engine: Engine, draft: Draft, asked: Asked, live: LiveReply) -> None:
        """Ask the engine, once more without earlier turns where pictures do not fit beside them."""
        try:
            await self._generate(model, engine, draft, asked, live)
        except PromptTooLong:
            if not asked.pictures:
                raise
            # How many tokens pictures have only the engine knows, so no room was made for them.
            await self._generate(model, engine, draft, asked, live, remembering=False)

    async def _generate(
        self, model: Model, engine: Engine, draft: Draft, asked: Asked, live: LiveReply, *, remembering: bool = True
    ) -> None:
        message, conversation = asked.message, asked.message.conversation.key
        style = self._styles.of(conversation, model.name)
        begun, whose = await _tokens_of(draft.begun, engine), engine.tokenizer.fingerprint
        history: list[Turn] = []
        if remembering:
            history = await self._store.history(conversation, whose, asked.number, model=model.name)
        made = await style.compose(engine, history, await _text_of(message), message.files, len(asked.pictures))
        # Together: a stop in between must not leave one tokenizer's tokens as another's.
        draft.tokenizer, draft.tokens, draft.question_tokens = whose, begun, made.question
        draft.given = len(begun)
        draft.opening = engine.tokenizer.opening.text
        draft.trimming = None if made.first_turn is None else Trimming(model.name, made.first_turn)
        prompt = [*made.tokens, *begun]
        async with self._place(model, engine, prompt, message, live) as place:
            live.wait("")
            draft.admitted = self._clock.now()
            name, sampling = f"{key_of(message)}-{draft.admitted:.6f}", style.sampling_after(len(begun))
            turns = _said(made, draft.begun) if asked.pictures else ()
            request = Request(name, prompt, sampling, asked.pictures, conversation, turns)
            try:
                await self._listen(engine.generate(request), place, draft, live)
            finally:
                if draft.first_token is not None:  # also of a stopped answer: what the engine has read it has read
                    model.reuse.remember(engine, conversation, made.tokens, draft.tokens)

    async def _listen(self, answer: AsyncGenerator[Chunk, None], place: Place, draft: Draft, live: LiveReply) -> None:
        async with aclosing(answer) as chunks:
            async for chunk in chunks:
                place.started()
                draft.take(chunk, self._clock.now())
                if (early := draft.hidden_until - self._clock.now()) > 0:
                    await self._clock.sleep(early)
                live.show(draft.text)
                if live.lost is not None:
                    # Nobody can see it any more; closing the generator ends the request.
                    draft.failure = State.INTERRUPTED
                    return

    def _place(
        self, model: Model, engine: Engine, prompt: Sequence[int], message: Message, live: LiveReply
    ) -> AbstractAsyncContextManager[Place]:
        """A place in the engine, with the reader told how long it takes to get one."""
        cost = model.reuse.uncached(engine, message.conversation.key, prompt)
        return model.admission.place(
            f"{message.conversation.platform}:{message.author.id}",
            cost,
            long=engine.info.is_long(cost),
            tell=lambda standing: live.wait(_in_line(standing)),
        )


async def _text_of(message: Message) -> str:
    """The text of the user turn; files can be megabytes, and putting them together would hold up the loop."""
    return await asyncio.to_thread(turn_text, message) if message.files else turn_text(message)


def _sentence(error: PromptTooLong | PicturesRefused | Unreadable | EngineDown, message: Message, model: str) -> str:
    """Why ``model`` does not answer a question, for whoever asked it."""
    match error:
        case PromptTooLong():
            return _too_long(error)
        case PicturesRefused():
            return refused(message, error)
        case Unreadable():
            return error.said
        case EngineDown():
            return words.MODEL_DOWN.format(name=model)


def _too_long(error: PromptTooLong) -> str:
    if not error.files:
        sentence = words.TOO_LONG_AT_LEAST if error.least else words.TOO_LONG
        return sentence.format(size=error.tokens, unit="tokens", limit=error.limit)
    files = "; ".join(f"{name}: {tokens:,} tokens" for name, tokens in error.files)
    return words.FILES_TOO_LONG.format(files=files, limit=error.limit)


_UNTIL = {
    Phase.LOADING: words.LOADING,
    Phase.READY: words.RESTARTING,  # or nobody would have to wait: it was found dead
    Phase.RESTARTING: words.RESTARTING,
    Phase.DOWN: words.NOT_THERE,
    Phase.ASLEEP: words.WAKING,
    Phase.WAKING: words.WAKING,
}


def _until(phase: Phase, *, several: bool) -> str:
    """What a reader is told who has to wait for the engine; how not to, where that may take minutes."""
    long = several and _UNTIL[phase] in (words.LOADING, words.RESTARTING)
    return f"{_UNTIL[phase]} {words.ANOTHER_MODEL}" if long else _UNTIL[phase]


def _in_line(standing: Standing) -> str:
    if standing.seconds is None:
        return words.IN_LINE.format(number=standing.ahead + 1)
    return words.IN_LINE_FOR.format(number=standing.ahead + 1, seconds=max(1, round(standing.seconds)))


def _said(made: Prompt, begun: Answer | None) -> Sequence[Said]:
    """What the prompt says, with an answer that is to go on."""
    return (*made.turns, Said("assistant", begun.text)) if begun and begun.text else made.turns


async def _tokens_of(begun: Answer | None, engine: Engine) -> list[int]:
    """The tokens that the answer begins with: what was written before, or what opens it, as ``engine`` reads them."""
    opening = engine.tokenizer.opening
    if begun is None:
        return list(opening.tokens)
    if begun.tokens and begun.tokenizer == engine.tokenizer.fingerprint:
        return list(begun.tokens)
    if opening.text and begun.text.startswith(opening.text):
        return [*opening.tokens, *await engine.tokenizer.encode(begun.text.removeprefix(opening.text))]
    return await engine.tokenizer.encode(begun.text)
