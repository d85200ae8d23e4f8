"""What state the bot is in, read off its parts."""

from collections.abc import Mapping
from dataclasses import dataclass

from clawdbot.abilities import Connects, Phase
from clawdbot.app import App
from clawdbot.chat import Adapter
from clawdbot.engine.admission import Depth
from clawdbot.engine.protocol import EngineInfo


@dataclass(frozen=True, slots=True)
class ModelReading:
    """One model."""

    name: str
    """What people call it."""
    phase: Phase
    """What its engine is doing."""
    engine: EngineInfo | None
    """The engine that runs or ran last; None before the first one is up."""
    depth: Depth
    """The line before that."""

    @property
    def ready(self) -> bool:
        """Whether an answer can be counted on: an engine that sleeps is woken by the next question."""
        return self.phase in (Phase.READY, Phase.ASLEEP, Phase.WAKING)


@dataclass(frozen=True, slots=True)
class Readings:
    """One reading."""

    closing: bool
    """Whether the bot is about to end."""
    models: tuple[ModelReading, ...]
    """The default first: whoever has chosen nothing goes by that one alone."""
    connected: Mapping[str, bool]
    """Whether people are heard, by platform."""
    answers: int
    """Answers under way or waiting, those included whose text only has to be delivered."""

    @property
    def default(self) -> ModelReading:
        """The model that answers whoever has chosen nothing."""
        return self.models[0]

    @property
    def depth(self) -> Depth:
        """All lines together."""
        lines = [model.depth for model in self.models]
        return Depth(*(sum(getattr(line, part) for line in lines) for part in ("waiting", "inside", "reading")))

    @property
    def troubles(self) -> list[str]:
        """Why nobody should count on an answer now, as sentences; empty when the bot is ready."""
        found = ["The bot is about to end."] if self.closing else []
        if not self.default.ready:
            found.append(_TROUBLES[self.default.phase])
        found += [f"{name} is not connected." for name, connected in self.connected.items() if not connected]
        return found


def read(app: App, adapters: Mapping[str, Adapter]) -> Readings:
    """The readings of ``app`` that serves ``adapters``. Call it in the event loop; it takes microseconds."""
    return Readings(
        closing=app.sessions.closing,
        models=tuple(
            ModelReading(model.name, model.host.phase, model.host.info, model.admission.depth) for model in app.models
        ),
        connected={name: name in app.serving and _hears(adapter) for name, adapter in adapters.items()},
        answers=len(app.sessions.tickets),
    )


_TROUBLES = {
    Phase.LOADING: "The engine is starting.",
    Phase.RESTARTING: "The engine died and is started again.",
    Phase.DOWN: "The engine cannot be started; that is tried again.",
}


def _hears(adapter: Adapter) -> bool:
    """Whether it says that it is connected; one that cannot tell is, as long as it runs."""
    return not isinstance(adapter, Connects) or adapter.connected
