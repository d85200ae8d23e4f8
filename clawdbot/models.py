"""The models that answer: each has an engine of its own, and each conversation has one of them."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from clawdbot.abilities import Phase
from clawdbot.clock import Clock, first_of
from clawdbot.commands.choices import Choice
from clawdbot.engine.admission import Admission
from clawdbot.engine.host import EngineHost
from clawdbot.engine.protocol import Engine
from clawdbot.engine.reuse import Reuse
from clawdbot.errors import ClawdBotError
from clawdbot.prompts.warming import Warming

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 10.0, 600.0
"""Seconds before an engine that never came up is tried again; doubled each time. Most need their admin."""


@dataclass(frozen=True, slots=True)
class Model:
    """One model, with all that is about it alone."""

    name: str
    """What people call it."""
    host: EngineHost
    """Where its engine comes from."""
    admission: Admission
    """Who enters that next."""
    reuse: Reuse
    """What that has read before."""
    warming: Warming
    """What that reads before anybody asks."""


class Models:
    """All models."""

    def __init__(self, choice: Choice, models: Sequence[Model], clock: Clock) -> None:
        """``choice``: which one each conversation has; ``models``: all that it names, the default first."""
        self.choice = choice
        self.default = models[0]
        self._models = {model.name: model for model in models}
        self._clock = clock

    def __iter__(self) -> Iterator[Model]:
        """All of them, the default first."""
        return iter(self._models.values())

    @property
    def several(self) -> bool:
        """Whether there are any to choose among."""
        return len(self._models) > 1

    def of(self, conversation: str) -> Model:
        """The one that answers in ``conversation`` (a `Conversation.key`)."""
        return self._models[self.choice.of(conversation)]

    async def engine(
        self,
        conversation: str,
        instead_of: Engine | None = None,
        tell: Callable[[Phase], None] = lambda phase: None,
    ) -> tuple[Model, Engine]:
        """The model that answers there with its engine, as soon as there is one; not ``instead_of``, which was dead.

        ``tell`` is called with what is waited for, and again when that changes. Whoever waits gets another model's when
        that one is chosen meanwhile. Raises `EngineDown`.
        """
        while True:
            model = self.of(conversation)
            if model.host.ready and instead_of is None:
                return model, await model.host.engine()
            with model.host.needed():
                coming = asyncio.ensure_future(model.host.engine(instead_of, tell))
                await first_of(coming, self.choice.other(conversation, model.name))
            if coming.done() and not coming.cancelled():
                return model, coming.result()

    async def keep(self, model: Model) -> None:
        """Keep the engine of ``model`` open until cancelled, whatever becomes of the others.

        One that cannot be started is tried again. Raises why when it is the last one of which that shows: without any
        there is nothing to go on for, and the admin has to mend it.
        """
        pause = FIRST_PAUSE
        while True:
            try:
                await model.host.run()
            except Exception as error:
                if all(each.host.failed for each in self):
                    raise
                foreseen = isinstance(error, ClawdBotError)
                reason = (model.name, pause, error)
                log.exception("the model %s cannot be used; next try in %.0f s: %s", *reason, exc_info=not foreseen)
            await self._clock.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
