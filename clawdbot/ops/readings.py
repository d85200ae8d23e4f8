"""What state the bot is in, read off its parts."""

from collections.abc import Mapping
from dataclasses import dataclass

from clawdbot.abilities import Connects, Phase
from clawdbot.app import App
from clawdbot.chat import Adapter
from clawdbot.engine.admission import Depth
from clawdbot.engine.protocol import EngineInfo


@dataclass(frozen=True, slots=True)
class Readings:
    """One reading."""

    closing: bool
    """Whether the bot is about to end."""
    phase: Phase
    """What the engine is doing."""
    engine: EngineInfo | None
    """The engine that runs or ran last; None before the first one is up."""
    connected: Mapping[str, bool]
    """Whether people are heard, by platform."""
    answers: int
    """Answers under way or waiting, those included whose text only has to be delivered."""
    depth: Depth
    """The line before the engine."""

    @property
    def engine_ready(self) -> bool:
        """Whether an answer can be counted on: an engine that sleeps is woken by the next question."""
        return self.phase in (Phase.READY, Phase.ASLEEP, Phase.WAKING)

    @property
    def troubles(self) -> list[str]:
        """Why nobody should count on an answer now, as sentences; empty when the bot is ready."""
        found = ["The bot is about to end."] if self.closing else []
        if not self.engine_ready:
            found.append("The engine is starting." if self.engine is None else "The engine died and is started again.")
        found += [f"{name} is not connected." for name, connected in self.connected.items() if not connected]
        return found


def read(app: App, adapters: Mapping[str, Adapter]) -> Readings:
    """The readings of ``app`` that serves ``adapters``. Call it in the event loop; it takes microseconds."""
    return Readings(
        closing=app.sessions.closing,
        phase=app.host.phase,
        engine=app.host.info,
        connected={name: name in app.serving and _hears(adapter) for name, adapter in adapters.items()},
        answers=len(app.sessions.tickets),
        depth=app.models.default.admission.depth,
    )


def _hears(adapter: Adapter) -> bool:
    """Whether it says that it is connected; one that cannot tell is, as long as it runs."""
    return not isinstance(adapter, Connects) or adapter.connected
