"""The models that answer: each has an engine of its own, and each conversation has one of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clawdbot.choices import Choice
from clawdbot.engine.admission import Admission
from clawdbot.engine.host import EngineHost
from clawdbot.engine.reuse import Reuse
from clawdbot.warming import Warming


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

    def __init__(self, choice: Choice, models: Sequence[Model]) -> None:
        """``choice``: which one each conversation has; ``models``: all that it names, the default first."""
        self.choice = choice
        self.default = models[0]
        self._models = {model.name: model for model in models}

    def __iter__(self) -> Iterator[Model]:
        """All of them, the default first."""
        return iter(self._models.values())

    def of(self, conversation: str) -> Model:
        """The one that answers in ``conversation`` (a `Conversation.key`)."""
        return self._models[self.choice.of(conversation)]
