"""What is drawn of each bench's results: panels of bars and courses, without a drawing library (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from clawdbot.bench.records import (
    Delivered,
    Delivery,
    Kind,
    Load,
    Loaded,
    Overhead,
    Remote,
    Scale,
    Stop,
    Times,
    Ttft,
    Tuning,
    Turns,
    Warmth,
)
from clawdbot.bench.tune.candidates import GOALS, recommend

Unit = Literal["ms", "tok/s", "tokens"]

FIGURES = {
    "to_engine": "To engine: posted to asked",
    "added_first_visible": "Added first visible: token to screen",
    "tax": "Tax: the bot's part of the first word",
    "staleness": "Staleness: age of the screen",
    "freeze": "Freeze: longest without a change",
    "finish_lag": "Finish lag: last token to whole text",
}
"""Of `Delivered`, in the order of an answer's life, with what they are."""


@dataclass(frozen=True, slots=True)
class Series:
    """One value for each label of its panel, and a larger one behind it; None where there is none."""

    name: str
    values: Sequence[float | None]
    beyond: Sequence[float | None] = ()
    """Such as the 95th percentile of what ``values`` has the median of; empty for a series of single values."""


@dataclass(frozen=True, slots=True)
class Bars:
    """A group of bars for each label, one bar a series."""

    title: str
    labels: Sequence[str]
    series: Sequence[Series]
    unit: Unit = "ms"
    chosen: str | None = None
    """The label that is made to stand out."""


@dataclass(frozen=True, slots=True)
class Course:
    """Values over a number that counts up."""

    title: str
    places: Sequence[int]
    series: Sequence[Series]
    """A line; or several, piled up."""
    marks: Sequence[int]
    """Places at which something happened."""
    unit: Unit


Panel = Bars | Course


@dataclass(frozen=True, slots=True)
class Sheet:
    """All panels of one picture."""

    panels: Sequence[Panel]
    columns: int
    """How many stand side by side."""
    note: str = ""
    """How to read it."""


def sheet(found: Kind) -> Sheet:
    """The picture of a file's results."""
    match found:
        case Ttft():
            return _ttft(found)
        case Load():
            return _mixed(found.policies)
        case Tuning():
            best = recommend(found.measurements, GOALS[found.options.profile])
            return _mixed({str(one.candidate): one for one in found.measurements}, str(best.candidate))
        case Turns():
            return _turns(found)
        case Delivery():
            return _delivery(found)
        case Overhead():
            sides = {"engine alone": found.raw_ttft, "through the bot": found.bot_ttft}
            return _sides(f"Time to first readable text, {found.pairs} pairs", sides)
        case Remote():
            return _sides(f"Time to first token, {found.pairs} pairs", found.sides)
        case Warmth():
            return _warmth(found)
        case Stop():
            return _stop(found)
        case Scale():
            return _scale(found)


def _ttft(found: Ttft) -> Sheet:
    models = list(dict.fromkeys(row.model for row in found.rows))
    modes = list(dict.fromkeys(row.mode for row in found.rows))
    lengths = sorted({row.prompt_tokens for row in found.rows})
    times = {(row.model, row.mode, row.prompt_tokens): row.ttft for row in found.rows}
    panels = []
    for model in models:
        series = [
            _series(f"chunked prefill {mode}", [times.get((model, mode, length)) for length in lengths])
            for mode in modes
        ]
        panels.append(Bars(f"{model}: time to first token", [f"{length:,} tokens" for length in lengths], series))
    return Sheet(panels, min(2, len(panels)), "dark p50, light p95")


def _mixed(rows: Mapping[str, Loaded], chosen: str | None = None) -> Sheet:
    labels, figures = list(rows), list(rows.values())
    gaps = Series("", [one.token_gap.p50 for one in figures], [one.token_gap.p99 for one in figures])
    work = Series("", [one.work_tok_s or one.throughput_tok_s for one in figures])
    panels = [
        Bars("Short prompts: first token", labels, [_series("", [one.short_ttft for one in figures])], "ms", chosen),
        Bars("Long prompts: first token", labels, [_series("", [one.long_ttft for one in figures])], "ms", chosen),
        Bars("Gap between tokens", labels, [gaps], "ms", chosen),
        Bars("Tokens a second, prompts included", labels, [work], "tok/s", chosen),
    ]
    note = "dark p50, light p95 (of gaps: p99)"
    return Sheet(panels, 2, f"{note}; orange: recommended" if chosen else note)


def _turns(found: Turns) -> Sheet:
    turns = [row.turn for row in found.rows]
    trims = [row.turn for row in found.rows if row.trimmed]
    tokens = [
        Series("from the prefix cache", [row.cached_tokens for row in found.rows]),
        Series("read", [row.prompt_tokens - row.cached_tokens for row in found.rows]),
    ]
    panels = [
        Course("Time to first token by turn", turns, [Series("", [row.ttft for row in found.rows])], trims, "ms"),
        Course("Prompt tokens by turn", turns, tokens, trims, "tokens"),
    ]
    return Sheet(panels, 1, "dotted: the oldest turns were dropped")


def _delivery(found: Delivery) -> Sheet:
    names = list(found.platforms)
    sides: dict[str, list[Delivered | None]] = {
        "ClawdBot": [platform.bot for platform in found.platforms.values()],
        "minimal bot": [platform.ideal for platform in found.platforms.values()],
    }
    panels = [
        Bars(
            title,
            names,
            [
                _series(name, [None if one is None else getattr(one, figure) for one in side])
                for name, side in sides.items()
                if any(side)
            ],
        )
        for figure, title in FIGURES.items()
    ]
    return Sheet(panels, 2, "dark p50, light p95")


def _sides(title: str, sides: Mapping[str, Times]) -> Sheet:
    percentiles = ("p50", "p95", "p99", "max")
    series = [Series(name, [getattr(times, one) for one in percentiles]) for name, times in sides.items()]
    return Sheet([Bars(title, percentiles, series)], 1)


def _warmth(found: Warmth) -> Sheet:
    title = f"First token of the next question after {found.prompt_tokens:,} tokens"
    return Sheet([Bars(title, list(found.ways), [_series("", list(found.ways.values()))])], 1, "dark p50, light p95")


def _scale(found: Scale) -> Sheet:
    title = f"{found.conversations:,} conversations: {found.cpu_share:.2f} cores, {found.rss_mib:,.0f} MiB"
    return Sheet([Bars(title, list(found.waits), [_series("", list(found.waits.values()))])], 1, "dark p50, light p95")


def _stop(found: Stop) -> Sheet:
    ways = {"all": found.press_to_abort, **found.moments}
    title = f"From a stop to the engine's abort, {found.press_to_abort.n} stops"
    return Sheet([Bars(title, list(ways), [_series("", list(ways.values()))])], 1, "dark p50, light p95")


def _series(name: str, times: Sequence[Times | None]) -> Series:
    """Medians before 95th percentiles."""
    return Series(
        name,
        [None if one is None else one.p50 for one in times],
        [None if one is None else one.p95 for one in times],
    )
