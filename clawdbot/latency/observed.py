"""What the core tells whoever watches it: facts, each told once, where it happens.

Whoever takes them must be quick, must not wait and must not raise: it runs in the middle of an answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from clawdbot.errors import DeliveryError
from clawdbot.latency.timing import Timing

Verdict = Literal[
    "question", "command", "stranger", "too old", "quota", "too long", "unreadable", "busy", "queue", "share", "full"
]
"""A "question" is answered, a "command" obeyed; all others are refused, the last four for want of room."""


@dataclass(frozen=True, slots=True)
class Received:
    """Something was said to the bot, and so it was dealt with."""

    platform: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Call:
    """One call to a platform has returned."""

    platform: str
    kind: Literal["send", "edit", "draft", "typing"]
    seconds: float
    """From the moment that it was made."""
    error: DeliveryError | None
    """What it failed with; None when the platform acknowledged it."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The platform has acknowledged a frame with new text."""

    platform: str
    lag: float
    """Seconds for which the oldest of this text had been missing on the screen."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A question got a sentence instead of an answer."""

    platform: str
    model: str = ""
    """The one that was to answer."""


Fact = Timing | Received | Call | Shown | Failed
"""A `Timing` is an answer that is complete and stored."""

Observe = Callable[[Fact], None]


def answers(take: Callable[[Timing], None]) -> Observe:
    """Watches answers alone: ``take`` is told their timings."""

    def observe(fact: Fact) -> None:
        if isinstance(fact, Timing):
            take(fact)

    return observe


def together(*observers: Observe) -> Observe:
    """Tells all of them."""

    def observe(fact: Fact) -> None:
        for one in observers:
            one(fact)

    return observe


def unobserved(fact: Fact) -> None:
    """Where nobody watches."""
