"""Where the time of an answer went: one answer's marks, percentiles over many, and what `/latency` says about them.

Everything here is pure: numbers in, numbers and text out.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan, nan

from clawdbot.engine.protocol import EngineInfo
from clawdbot.ops.gauges import Gauges, Gpu

STAGES = ("admitted", "queued", "prefill", "first token", "first visible", "complete")
"""The marks of an answer in order; a stage is the time from the mark before (at first: receipt) to the one it names."""

REPORT_SIZE = 1900
"""The most characters of `report`: one message on every platform (Discord takes 2,000)."""

# Marks are rounded to this grid, about a microsecond. It is a power of two, so that differences and sums of marks are
# exact in floating point and stages add up to the total to the last bit.
_GRID = 2**20

_MARKS = (
    "admitted",
    "asked",
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
    """It had its turn, a slot and a prompt."""
    asked: float | None
    """The engine was called."""
    queued: float | None
    """The engine core put it into its waiting queue."""
    scheduled: float | None
    """Prefill began."""
    first_token: float | None
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

    def __post_init__(self) -> None:
        for name in _MARKS:
            mark = getattr(self, name)
            if mark is not None:
                object.__setattr__(self, name, round(mark * _GRID) / _GRID)

    @property
    def ttft(self) -> float | None:
        """Time to first token: from receipt to the engine's first token."""
        return self.first_token

    @property
    def total(self) -> float:
        """From receipt to the complete answer on the screen."""
        return self.complete

    @property
    def tokens_per_second(self) -> float | None:
        """How fast the engine wrote after its first token; None for fewer than two tokens."""
        if self.first_token is None or self.last_token is None or self.output_tokens < 2:
            return None
        seconds = self.last_token - self.first_token
        return (self.output_tokens - 1) / seconds if seconds > 0 else None


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
    """One line about one answer: ``first word 0.24 s · 17 tok/s · 31 prompt tokens, 16 cached · total 1.90 s``."""
    seen = timing.first_visible
    parts = ["no word" if seen is None else f"first word {seen:.2f} s"]
    if timing.tokens_per_second is not None:
        parts.append(_rate(timing.tokens_per_second))
    parts.append(f"{timing.prompt_tokens:,} prompt tokens, {timing.cached_tokens:,} cached")
    parts.append(f"total {timing.total:.2f} s")
    return " · ".join(parts)


def report(hour: Sequence[Timing], day: Sequence[Timing], info: EngineInfo | None, gauges: Gauges) -> str:
    """What `/latency` says, as Markdown of at most `REPORT_SIZE` characters.

    ``hour`` and ``day`` are the answers of the last hour and of the last day (those of the hour included); ``info`` is
    None while the engine starts. When the text grows too long, the platforms with the fewest answers are left out.
    """
    names = [name for name, _ in Counter(timing.platform for timing in day).most_common()]
    tail = [*_engine(info), _machine(gauges)]
    for shown in range(len(names), -1, -1):
        text = "\n".join([*_tables(hour, day, names[:shown]), *tail])
        if len(text) <= REPORT_SIZE:
            break
    return text


def _tables(hour: Sequence[Timing], day: Sequence[Timing], platforms: Sequence[str]) -> list[str]:
    if not day:
        return ["**Latency:** no answers in the last hour or day yet."]
    if len(hour) == len(day):
        tables = _table("hour and day", day, platforms)
    elif not hour:
        tables = ["last hour: no answers", "", *_table("last day", day, platforms)]
    else:
        tables = [*_table("last hour", hour, platforms), "", *_table("last day", day, platforms)]
    return ["**Latency**, p50 p95 p99 in ms; → is the time since the line above", "```", *tables, "```"]


def _table(title: str, timings: Sequence[Timing], platforms: Sequence[str]) -> list[str]:
    seen = [timing for timing in timings if timing.first_visible is not None]
    rows = [_row(title, "p50", "p95", "p99"), _times("~ platform", [timing.platform_delay for timing in timings])]
    spent = [dict(stages(timing)) for timing in seen]
    rows += [_times(f"→ {stage}", [one.get(stage) for one in spent]) for stage in STAGES]
    rows.append(_times("TTFT", [timing.ttft for timing in timings]))
    for name in platforms:
        mine = [timing for timing in timings if timing.platform == name]
        if mine:
            rows.append(f"{name[:20]}: {len(mine):,}")
            rows.append(_times("  first visible", [timing.first_visible for timing in mine]))
            rows.append(_times("  total", [timing.total for timing in mine]))
    return [*rows, _sums(timings)]


def _sums(timings: Sequence[Timing]) -> str:
    parts = [f"{len(timings):,} answer{'s' if len(timings) != 1 else ''}"]
    rates = summary(timing.tokens_per_second for timing in timings)
    if rates.n:
        parts.append(_rate(rates.p50))
    prompt = sum(timing.prompt_tokens for timing in timings)
    if prompt:
        parts.append(f"{sum(timing.cached_tokens for timing in timings) / prompt:.0%} cached")
    return ", ".join(parts)


def _times(label: str, seconds: Iterable[float | None]) -> str:
    found = summary(seconds)
    return _row(label, *(_milliseconds(value) for value in (found.p50, found.p95, found.p99)))


def _row(label: str, *cells: str) -> str:
    # 36 characters: what a phone shows of a code block without wrapping.
    return f"{label:<15}" + "".join(f"{cell:>7}" for cell in cells)


def _milliseconds(seconds: float) -> str:
    if isnan(seconds):
        return "-"
    if seconds >= 100:
        return f"{seconds:.0f}s"
    return f"{seconds * 1000:.1f}" if abs(seconds) < 0.00995 else f"{seconds * 1000:.0f}"


def _rate(tokens_per_second: float) -> str:
    return f"{tokens_per_second:.0f} tok/s" if tokens_per_second >= 9.95 else f"{tokens_per_second:.1f} tok/s"


def _engine(info: EngineInfo | None) -> list[str]:
    if info is None:
        return ["**Engine:** starting"]
    settings = [
        f"chunked prefill {'on' if info.chunked_prefill else 'off'}",
        f"{info.step_budget:,} tokens a step",
        f"long prompts {info.long_prefill:,} a step" if info.long_prefill else "long prompts unbounded",
        f"context {info.context:,}",
        *(f"{name} {value}" for name, value in info.extra.items()),
    ]
    name = f"**Engine:** `{_short(info.model)}` · {_short(info.device)} · {_short(info.version)}"
    return [name, _short(" · ".join(settings), 300)]


def _machine(gauges: Gauges) -> str:
    own = f"CPU {gauges.cpu:.1f} cores, {_gib(gauges.memory)} GiB"
    if not gauges.gpus:
        return f"**Process:** {own}"
    return f"**GPU:** {_gpus(gauges.gpus)} · process {own}"


def _gpus(gpus: Sequence[Gpu]) -> str:
    name = _short(gpus[0].name, 40)
    count = f"{len(gpus)} × " if len(gpus) > 1 else ""
    busy = sum(gpu.busy for gpu in gpus) / len(gpus)
    used, total = sum(gpu.memory_used for gpu in gpus), sum(gpu.memory_total for gpu in gpus)
    return f"{count}{name}, {busy:.0%} busy, {_gib(used)} of {_gib(total)} GiB"


def _gib(size: int) -> str:
    return f"{size / 2**30:,.1f}"


def _short(text: str, size: int = 80) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"
