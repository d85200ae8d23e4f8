"""What a platform allows, and how fast an answer should grow there. `clawdbot.chat` hands these names on."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """At most ``calls`` in any ``seconds``."""

    calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Bucket:
    """Calls that share a platform's limit: all whose bucket has the same ``key``, under every one of ``rates``."""

    key: str
    rates: tuple[Rate, ...]


@dataclass(frozen=True, slots=True)
class Pace:
    """When the next frame of a growing message is wanted; the buckets may delay it further.

    Example: ``Pace(first=(0.4, 0.6), by_age=((0, 1.0), (30, 1.4), (60, 3.0)))`` shows the second frame 0.4 s after the
    first, the third 0.6 s later, and from then on one a second, slowing to one in 3 s for a reply older than a minute.
    """

    first: tuple[float, ...]
    """Seconds before the second, third, … frame."""
    by_age: tuple[tuple[float, float], ...]
    """Corners (seconds since the first frame, seconds between frames), straight lines between, level outside."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a platform allows in one place."""

    fits: Callable[[str], bool]
    """Whether a Markdown text, drawn the platform's way, fits one message. Pure; a few milliseconds at most."""
    size: int
    """About how many characters that is; where a splitter starts to look."""
    sends: Bucket
    edits: Bucket
    typing: Bucket | None
    """None where the platform shows no typing. The same bucket as ``sends`` where they share a limit."""
    bot: Bucket
    """What the whole bot may do on this platform, whose name its key begins with ("discord", "discord:commands")."""
    pace: Pace
    messages: int | None = None
    """The most messages that one reply may be, for more text is a file of the last one; None: as many as it takes.

    1 where another message could not be told from a repetition of it."""

    @property
    def platform(self) -> str:
        """The adapter's name."""
        return self.bot.key.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Drafts:
    """How fast a growing text may be shown as a draft: on the screen like a message, but none."""

    bucket: Bucket
    """What a draft spends, besides `Limits.bot`."""
    pace: Pace
    renew: float
    """Seconds after which it has to be shown again, or it disappears."""
