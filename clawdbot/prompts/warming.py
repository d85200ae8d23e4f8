"""Prompts that are read before anybody asks, so that the engine's prefix cache has them when somebody does.

Both kinds go through the engine in its spare time and make way for every question (`Admission.in_spare_time`). A
request that is cut short is not lost: the cache keeps each block that was read by then.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from clawdbot.clock import Clock
from clawdbot.engine.admission import Admission
from clawdbot.engine.host import OpenedEngine, OpenEngine
from clawdbot.engine.protocol import Engine, Request, Sampling, exhaust
from clawdbot.engine.reuse import Reuse
from clawdbot.errors import EngineError, StoreError
from clawdbot.prompts.style import Styles
from clawdbot.sessions.sessions import Sessions, guarded
from clawdbot.store import Store

log = logging.getLogger(__name__)

PAUSE = 60.0
"""Seconds before the same conversation is read ahead again: people type more often than they ask."""
WORTHWHILE = 128
"""Fewer missing tokens are read within a step or two when the question comes."""


class Warming:
    """Reads ahead what every prompt begins with, and the history where somebody types; one prompt at a time."""

    def __init__(
        self,
        model: str,
        *,
        store: Store,
        sessions: Sessions,
        admission: Admission,
        reuse: Reuse,
        clock: Clock,
        styles: Styles,
    ) -> None:
        """``model``: the name of the one whose engine this is about, and so are ``admission`` and ``reuse``."""
        self._model = model
        self._store = store
        self._sessions = sessions
        self._admission = admission
        self._reuse = reuse
        self._clock = clock
        self._styles = styles
        self._engine: Engine | None = None
        """The engine while it is open, unless it keeps nothing that it has read."""
        self._reading: asyncio.Task[None] | None = None
        """What is being read ahead, or was last."""
        self._lately: dict[str, float] = {}
        """When each conversation was last thought of, seconds of `Clock.now`; those of the last `PAUSE` alone."""

    def around(self, open_engine: OpenEngine) -> OpenEngine:
        """``open_engine``, with the system prompt read as soon as the engine is there, every time that it starts."""
        return partial(self._opened, open_engine)

    def expect(self, conversation: str) -> None:
        """Somebody may ask something in ``conversation`` (a `Conversation.key`) soon. Returns at once."""
        now = self._clock.now()
        if self._engine is None or not (self._reading is None or self._reading.done()):
            return
        self._lately = {key: at for key, at in self._lately.items() if now - at < PAUSE}
        if conversation not in self._lately:
            self._lately[conversation] = now
            self._reading = asyncio.create_task(guarded(partial(self._read_history, self._engine, conversation)))

    @asynccontextmanager
    async def _opened(self, open_engine: OpenEngine) -> AsyncIterator[OpenedEngine]:
        async with open_engine() as engine:
            if not engine.info.cache_tokens:
                yield engine
                return
            self._engine = engine
            # Not before the engine is handed out: a question that came while it started is not to wait for this.
            self._reading = asyncio.create_task(guarded(partial(self._read_opening, engine)))
            try:
                yield engine
            finally:
                self._engine = None
                self._reading.cancel()
                await asyncio.wait((self._reading,))

    async def _read_opening(self, engine: Engine) -> None:
        """Read what every prompt begins with."""
        style = self._styles.usual(self._model)
        if not style.system_prompt:
            return
        try:
            made = await style.compose(engine, [], "")
            # The cache keeps whole blocks alone; a system prompt that fills none gains nothing.
            opening = made.tokens[: made.beginning - made.beginning % engine.info.cache_block]
            if opening and await self._read(engine, "", opening):
                self._reuse.share(engine, opening)
        except EngineError as error:
            log.info("the system prompt was not read ahead: %s", error)

    async def _read_history(self, engine: Engine, conversation: str) -> None:
        """Read a conversation's next prompt up to its question, unless the cache has it anyway."""
        try:
            history = await self._store.history(conversation, engine.tokenizer.fingerprint, model=self._model)
            if not history:
                return
            made = await self._styles.of(conversation, self._model).compose(engine, history, "")
            beginning = made.tokens[: made.beginning]
            if self._is_warm(engine, conversation, beginning):
                return
            if await self._read(engine, conversation, beginning):
                self._reuse.remember(engine, conversation, beginning, ())
        except (EngineError, StoreError) as error:
            log.info("a conversation was not read ahead: %s", error)

    def _is_warm(self, engine: Engine, conversation: str, beginning: Sequence[int]) -> bool:
        if any(ticket.conversation == conversation for ticket in self._sessions.tickets):
            return True  # the engine reads this very history for an answer that is on its way
        return self._reuse.uncached(engine, conversation, beginning) < WORTHWHILE

    async def _read(self, engine: Engine, conversation: str, tokens: list[int]) -> bool:
        """Whether the engine has read them to the end. They are of ``conversation``, or of all when that is ""."""
        name = f"ahead/{conversation}/{self._clock.now():.6f}"
        whole = await self._admission.in_spare_time(lambda: read(engine, name, tokens, conversation))
        of = conversation or "the opening"
        log.debug("%s: %d tokens read ahead%s", of, len(tokens), "" if whole else ", not to the end")
        return whole


async def read(engine: Engine, name: str, tokens: list[int], conversation: str = "") -> None:
    """Let ``engine`` read a prompt and forget the one token that it has to write.

    ``name`` is the request's id, ``conversation`` as in `Request`. Raises what `Engine.generate` raises.
    """
    shortest = Sampling(max_tokens=1, temperature=0.0)
    await exhaust(engine, Request(name, tokens, shortest, conversation=conversation))
