"""What an adapter, or a post of its, may be besides. None has to be; the core asks each."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from clawdbot.menu import Suggest


@runtime_checkable
class Connects(Protocol):
    """An adapter that knows whether its platform's people are heard; any other is taken to hear them while it runs."""

    @property
    def connected(self) -> bool:
        """Whether they are heard just now."""
        ...


class Phase(StrEnum):
    """What the engine is doing, as far as those who wait for it are concerned."""

    LOADING = "loading"
    """It is opened for the first time."""
    READY = "ready"
    RESTARTING = "restarting"
    """It died, and is opened again."""
    DOWN = "down"
    """It could not be opened, or not so far; that is tried further."""
    ASLEEP = "asleep"
    """It was closed, since nobody needed it."""
    WAKING = "waking"


@dataclass(frozen=True, slots=True)
class Load:
    """What the whole bot is doing, on all platforms together."""

    engine: Phase
    answering: int
    """Answers that the model reads for or writes."""
    waiting: int
    """Questions that wait for that."""


@runtime_checkable
class ShowsLoad(Protocol):
    """An adapter whose platform has a place where everybody sees what the bot is doing."""

    def show_load(self, load: Load) -> None:
        """Take the load, which is another than before; it is shown when the platform lets the adapter do so."""
        ...


@runtime_checkable
class Suggests(Protocol):
    """An adapter whose platform offers arguments of commands while they are typed."""

    def suggest_by(self, suggest: Suggest) -> None:
        """Take what knows the suggestions; called before `run`."""
        ...


@runtime_checkable
class Stepwise(Protocol):
    """A `clawdbot.chat.Post` that needs several calls for some frames, such as one for each file.

    `Reply.send` and `Post.edit` make a single one each, so that every call is counted; the core edits on until it is
    done.
    """

    @property
    def unfinished(self) -> bool:
        """Whether something of the last frame is still to be posted, by an edit with the same frame."""
        ...
