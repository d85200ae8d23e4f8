"""What `/latency` says. Pure: timings and readings in, Markdown out."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Literal

from clawdbot.engine.protocol import EngineInfo
from clawdbot.latency.timing import STAGES, Timing, speed, stages, summary
from clawdbot.ops.gauges import Gauges, Gpu

WIDTH = 36
"""Characters of a row: what a phone shows of a code block without wrapping."""
REPORT_SIZE = 1900
"""The most characters of `report`: one message on every platform (Discord takes 2,000)."""


MOST_MODELS = 4
"""Models that the text of `report` names; the bot's page shows all."""


@dataclass(frozen=True, slots=True)
class Group:
    """Answers that have something in common."""

    kind: Literal["platform", "model"]
    name: str

    def has(self, timing: Timing) -> bool:
        """Whether an answer is one of them."""
        return bool(getattr(timing, self.kind) == self.name)


def report(
    hour: Sequence[Timing], day: Sequence[Timing], models: Mapping[str, EngineInfo | None], gauges: Gauges
) -> str:
    """What `/latency` says, as Markdown of at most `REPORT_SIZE` characters.

    ``hour`` and ``day`` are the answers of the last hour and of the last day (those of the hour included); ``models``
    are by name, None while their engines are not there. When the text grows too long, the models and then the platforms
    with the fewest answers are left out.
    """
    groups = [*_groups("platform", day), *(_groups("model", day) if len(models) > 1 else ())]
    tail = [*_engines(models), _machine(gauges)]
    for shown in range(len(groups), -1, -1):
        text = "\n".join([*_tables(hour, day, groups[:shown]), *tail])
        if len(text) <= REPORT_SIZE:
            break
    return text


def own(timings: Sequence[Timing]) -> str:
    """What `/latency me` says about somebody's own last answers, the newest first, as Markdown."""
    if not timings:
        return "**Your last answers:** there are none yet."
    rows = [_row("first word", "tok/s", "cached", "total")]
    for timing in timings:
        seen, rate, share = timing.first_visible, timing.tokens_per_second, timing.cached_share
        cells = ("-" if rate is None else f"{rate:.3g}", "-" if share is None else f"{share:.0%}")
        rows.append(_row("no word" if seen is None else f"{seen:.2f} s", *cells, f"{timing.complete:.2f} s"))
    return "\n".join(["**Your last answers**, the newest first", "```", *rows, "```"])


def _groups(kind: Literal["platform", "model"], day: Sequence[Timing]) -> list[Group]:
    """Those of a kind that have a name, the ones with the most answers first."""
    counted = Counter(getattr(timing, kind) for timing in day)
    return [Group(kind, name) for name, _ in counted.most_common() if name]


def _tables(hour: Sequence[Timing], day: Sequence[Timing], groups: Sequence[Group]) -> list[str]:
    if not day:
        return ["**Latency:** no answers in the last hour or day yet."]
    if len(hour) == len(day):
        tables = _table("hour and day", day, groups)
    elif not hour:
        tables = ["last hour: no answers", "", *_table("last day", day, groups)]
    else:
        tables = [*_table("last hour", hour, groups), "", *_table("last day", day, groups)]
    return ["**Latency**, p50 p95 p99 in ms; → is the time since the line above", "```", *tables, "```"]


def _table(title: str, timings: Sequence[Timing], groups: Sequence[Group]) -> list[str]:
    seen = [timing for timing in timings if timing.first_visible is not None]
    rows = [_row(title, "p50", "p95", "p99"), _times("~ platform", [timing.platform_delay for timing in timings])]
    spent = [dict(stages(timing)) for timing in seen]
    rows += [_times(f"→ {stage}", [one.get(stage) for one in spent]) for stage in STAGES]
    rows.append(_times("TTFT", [timing.first_token for timing in timings]))
    for group in groups:
        mine = [timing for timing in timings if group.has(timing)]
        if mine:
            rows.append(f"{group.name[:20]}: {len(mine):,}")
            rows.append(_times("  first visible", [timing.first_visible for timing in mine]))
            rows.append(_times("  total", [timing.complete for timing in mine]))
    return [*rows, _sums(timings)]


def _sums(timings: Sequence[Timing]) -> str:
    parts = [f"{len(timings):,} answer{'s' if len(timings) != 1 else ''}"]
    rates = summary(timing.tokens_per_second for timing in timings)
    if rates.n:
        parts.append(speed(rates.p50))
    prompt = sum(timing.prompt_tokens for timing in timings)
    if prompt:
        parts.append(f"{sum(timing.cached_tokens for timing in timings) / prompt:.0%} cached")
    line = ", ".join(parts)
    return line if len(line) <= WIDTH else ",\n".join(parts)


def _times(label: str, seconds: Iterable[float | None]) -> str:
    found = summary(seconds)
    return _row(label, *(_milliseconds(value) for value in (found.p50, found.p95, found.p99)))


def _row(label: str, *cells: str) -> str:
    return f"{label:<15}" + "".join(f"{cell:>7}" for cell in cells)


def _milliseconds(seconds: float) -> str:
    if isnan(seconds):
        return "-"
    if seconds >= 100:
        return f"{seconds:.0f}s"
    return f"{seconds * 1000:z.1f}" if abs(seconds) < 0.00995 else f"{seconds * 1000:.0f}"


def _engines(models: Mapping[str, EngineInfo | None]) -> list[str]:
    """One with its settings; several in a line each."""
    if len(models) == 1:
        return _engine(*models.values())
    lines = [f"**{name}:** {_line(info)}" for name, info in models.items()]
    more = [f"and {len(lines) - MOST_MODELS} more models"] if len(lines) > MOST_MODELS else []
    return [*lines[:MOST_MODELS], *more]


def _line(info: EngineInfo | None) -> str:
    if info is None:
        return "not there yet"
    return f"`{_short(info.model, 40)}` · {_short(info.device, 40)} · {_short(info.version, 40)}"


def _engine(info: EngineInfo | None) -> list[str]:
    if info is None:
        return ["**Engine:** starting"]
    settings = [f"{info.step_budget:,} tokens a step", f"context {info.context:,}"]
    if info.long_prefill is not None:
        settings.insert(
            1, f"long prompts {info.long_prefill:,} a step" if info.long_prefill else "long prompts unbounded"
        )
    if info.chunked_prefill is not None:
        settings.insert(0, f"chunked prefill {'on' if info.chunked_prefill else 'off'}")
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
