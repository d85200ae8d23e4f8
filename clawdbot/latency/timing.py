"""Where the time of an answer went: its marks and stages, and percentiles over many answers.

Everything here is pure: numbers in, numbers and a line of text out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isnan, nan

STAGES = ("admitted", "queued", "prefill", "first token", "first visible", "complete")
"""The marks of an answer in order; a stage is the time from the mark before (at first: receipt) to the one it names."""

# Marks are rounded to this grid, about a microsecond. It is a power of two, so that differences and sums of marks are
# exact in floating point and stages add up to the total to the last bit.
_GRID = 2**20

_MARKS = (
    "admitted",
    "queued",
    "scheduled",
    "first_token",
    "showable",
    "first_visible",
    "last_token",
    "complete",
)


@dataclass(frozen=True, slots=True)
class Timing:
    """One answer's marks: seconds after its question was received, on one monotonic clock.

    A mark that was never reached is None (an answer stopped early).
    """

    platform: str
    conversation: str
    """`Conversation.key`."""
    at: float
    """When the question was received, seconds since the epoch."""
    platform_delay: float | None
    """Receipt minus the platform's own time of posting; approximate: another clock, whole seconds on Telegram."""
    admitted: float | None
    """It had its turn, a slot and a prompt, and the engine was called."""
    queued: float | None
    """The engine core put it into its waiting queue."""
    scheduled: float | None
    """Prefill began."""
    first_token: float | None
    """The engine had its first token: the time to first token, TTFT."""
    showable: float | None
    """The first token that makes two visible characters."""
    first_visible: float | None
    """The platform acknowledged the first text of the answer."""
    last_token: float | None
    complete: float
    """The platform acknowledged the whole answer, or the last frame of a stopped one."""
    prompt_tokens: int
    cached_tokens: int
    """How much of the prompt the prefix cache served."""
    output_tokens: int
    state: str
    """`State` in which the answer ended: "final", "stopped", …"""
    model: str = ""
    """What people call the model that made it; "" when nobody knows any more."""

    def __post_init__(self) -> None:
        for name in _MARKS:
            mark = getattr(self, name)
            if mark is not None:
                object.__setattr__(self, name, round(mark * _GRID) / _GRID)

    @property
    def tokens_per_second(self) -> float | None:
        """How fast the engine wrote after its first token; None for fewer than two tokens."""
        if self.first_token is None or self.last_token is None or self.output_tokens < 2:
            return None
        seconds = self.last_token - self.first_token
        return (self.output_tokens - 1) / seconds if seconds > 0 else None

    @property
    def cached_share(self) -> float | None:
        """How much of the prompt the prefix cache served, 0 to 1; None when the engine did not say."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else None


def stages(timing: Timing) -> tuple[tuple[str, float], ...]:
    """The stages of an answer in order, (name, seconds), each from the mark before to the one that it is named for.

    A mark that was not reached has no stage. The seconds are never negative and add up exactly to ``timing.complete``:
    the engine core's stamps may lie a hair before the core's own, so a mark is taken not to lie before its predecessor
    nor after the end.
    """
    engine = (timing.queued, timing.scheduled, timing.first_token)
    found = []
    reached = 0.0
    for name, mark in zip(STAGES, (timing.admitted, *engine, timing.first_visible, timing.complete), strict=True):
        if mark is not None:
            end = max(reached, min(mark, timing.complete))
            found.append((name, end - reached))
            reached = end
    return tuple(found)


def percentile(values: Iterable[float], percent: float) -> float:
    """The value below which ``percent`` (0 to 100) of ``values`` lie, with straight lines between neighbours.

    The same as numpy's default method "linear". Raises `ValueError` when there are no values.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values")
    place = (len(ordered) - 1) * percent / 100
    low = min(int(place), len(ordered) - 1)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@dataclass(frozen=True, slots=True)
class Summary:
    """Percentiles of ``n`` values, in their unit. Without values all but ``n`` are nan, which no bound ever accepts."""

    p50: float
    p95: float
    p99: float
    max: float
    n: int

    def to_map(self) -> dict[str, float | int | None]:
        """The same for a JSON file: seconds become milliseconds, nan becomes None."""
        seconds = {"p50": self.p50, "p95": self.p95, "p99": self.p99, "max": self.max}
        times = {name: None if isnan(value) else round(value * 1000, 3) for name, value in seconds.items()}
        return {**times, "n": self.n}


def summary(values: Iterable[float | None]) -> Summary:
    """The percentiles of those ``values`` that are not None."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return Summary(nan, nan, nan, nan, 0)
    return Summary(percentile(known, 50), percentile(known, 95), percentile(known, 99), known[-1], len(known))


def footer(timing: Timing) -> str:
    """What is known of one answer, to stand below it: ``first word 0.24 s · 17 tok/s · 80% cached``."""
    parts = []
    if timing.first_visible is not None:
        parts.append(f"first word {timing.first_visible:.2f} s")
    if timing.tokens_per_second is not None:
        parts.append(speed(timing.tokens_per_second))
    if timing.cached_share is not None:
        parts.append(f"{timing.cached_share:.0%} cached")
    return " · ".join(parts)


WIDEST_FOOTER = "first word 0000.00 s · 0000 tok/s · 100% cached"
"""No `footer` is longer, unless somebody waits for hours."""


def closing_line(timing: Timing) -> str:
    """The `footer` with all else that a console has room for: ``… · 31 prompt tokens · total 1.90 s``."""
    silent = "no word" if timing.first_visible is None else ""
    parts = (silent, footer(timing), f"{timing.prompt_tokens:,} prompt tokens", f"total {timing.complete:.2f} s")
    return " · ".join(filter(None, parts))


def speed(tokens_per_second: float) -> str:
    """As text, with a digit after the point where it counts."""
    return f"{tokens_per_second:.0f} tok/s" if tokens_per_second >= 9.95 else f"{tokens_per_second:.1f} tok/s"
