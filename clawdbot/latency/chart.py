"""The picture that goes with `/latency`: time to the first word over time, and what it is made of on each platform."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from math import ceil
from statistics import fmean, median
from typing import TYPE_CHECKING

from clawdbot.latency.timing import Timing, stages

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 1000, 560
"""Pixels: a shape that chats show whole, with text that can be read when a phone shrinks it."""

TEXT = 13.0
INK, FAINT, PAPER = "#24292f", "#d8dee4", "#ffffff"

# Colours that can be told apart by people who see fewer of them.
SERIES = (
    ("first visible", "first_visible", "#d55e00", 4.0),
    ("TTFT", "first_token", "#0072b2", 2.0),
)
"""Label, mark, colour and width; the first is drawn wider, since on a console the two lie upon each other."""

WAY = (
    ("admitted", "#8c959f", PAPER),
    ("queued", "#f0e442", INK),
    ("prefill", "#e69f00", INK),
    ("first token", "#0072b2", PAPER),
    ("first visible", "#d55e00", PAPER),
)
"""The stages up to the first visible text, with their colours and those of the figures on them."""

# More dots hide each other and take long to draw; the lines are made of all answers.
MOST_DOTS = 400
MOST_CORNERS = 48
MOST_PLATFORMS = 4


def draw(timings: Sequence[Timing], now: float) -> bytes:
    """A PNG of `WIDTH` times `HEIGHT` pixels about any number of answers; ``now`` in seconds since the epoch.

    Takes some tenths of a second: call it in a thread. It keeps no state, so several may be drawn at once.
    """
    # Here and not above: it takes half a second, which only those who ask for a chart should wait.
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.2, h_pad=0.15, wspace=0.05)
    figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100, facecolor=PAPER, layout=layout)
    seen = sorted((timing for timing in timings if timing.first_visible is not None), key=lambda timing: timing.at)
    if seen:
        left, right = figure.subplots(1, 2, width_ratios=(5, 4))
        _draw_course(left, seen, now)
        _draw_way(right, seen)
    else:
        figure.text(0.5, 0.5, "No answers yet", ha="center", va="center", fontsize=2 * TEXT, color=INK)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return picture.getvalue()


def _draw_course(axes: Axes, timings: Sequence[Timing], now: float) -> None:
    """Each answer a dot, with a line of running medians."""
    from matplotlib.ticker import MaxNLocator

    span = max(now - timings[0].at, 300.0)
    unit, name = (3600.0, "hours ago") if span > 7200 else (60.0, "minutes ago")
    for label, mark, colour, width in SERIES:
        known = [(timing.at, getattr(timing, mark)) for timing in timings if getattr(timing, mark) is not None]
        points = [((now - at) / unit, max(seconds, 0.001)) for at, seconds in known]
        if points:
            dots = points[:: ceil(len(points) / MOST_DOTS)]
            axes.plot(*_columns(dots), "o", color=colour, markersize=5, alpha=0.3, markeredgewidth=0)
            corners = _columns(_corners(points))
            axes.plot(*corners, "o-", color=colour, linewidth=width, markersize=width + 1.5, label=label)
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(low / 1.4, high * 1.8)
    axes.set_xlim(span / unit * 1.03, -span / unit * 0.03)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=(1, 2, 5, 10)))
    axes.set_xlabel(name, fontsize=TEXT - 1, color=INK)
    _dress(axes, "Time to the first word")


def _draw_way(axes: Axes, timings: Sequence[Timing]) -> None:
    """A column a platform: what the median time to the first visible text is made of."""
    platforms = [name for name, _ in Counter(timing.platform for timing in timings).most_common(MOST_PLATFORMS)]
    typical = [_typical([timing for timing in timings if timing.platform == name]) for name in platforms]
    tops = [sum(spent.values()) for spent in typical]
    feet = [0.0] * len(platforms)
    for stage, colour, ink in WAY:
        heights = [spent[stage] for spent in typical]
        bars = axes.bar(platforms, heights, 0.62, feet, color=colour, edgecolor=PAPER, label=f"→ {stage}")
        figures = [f"{height * 1000:.0f}" if height > max(tops) * 0.05 else "" for height in heights]
        axes.bar_label(bars, figures, label_type="center", fontsize=TEXT - 1, color=ink)
        feet = [foot + height for foot, height in zip(feet, heights, strict=True)]
    axes.bar_label(bars, [_duration(top) for top in tops], padding=4, fontsize=TEXT, fontweight="bold", color=INK)
    # Room for the legend above the columns, and beside a single one.
    axes.set_ylim(0, max(*tops, 0.001) * 1.45)
    axes.set_xlim(-0.6, max(len(platforms), 2) - 0.4)
    _dress(axes, "What the median is made of")


def _typical(timings: Sequence[Timing]) -> dict[str, float]:
    """The mean of each stage over the middle fifth of the answers.

    Unlike each stage's own median, these add up to about the median of the whole, which the report names.
    """
    ordered = sorted(timings, key=lambda timing: sum(_way(timing).values()))
    skip = 2 * len(ordered) // 5
    middle = [_way(timing) for timing in ordered[skip : len(ordered) - skip]]
    return {stage: fmean(spent[stage] for spent in middle) for stage, _, _ in WAY}


def _way(timing: Timing) -> dict[str, float]:
    spent = dict(stages(timing))
    return {stage: spent.get(stage, 0.0) for stage, _, _ in WAY}


def _dress(axes: Axes, title: str) -> None:
    """Title, scales and legend, the same on both sides."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    axes.set_title(title, loc="left", fontsize=TEXT + 2, fontweight="bold", color=INK, pad=12)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    axes.tick_params(labelsize=TEXT - 1, labelcolor=INK, length=0)
    if axes.get_yscale() == "log":
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    else:
        axes.yaxis.set_major_locator(MaxNLocator(6, steps=(1, 2, 5, 10)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: _duration(seconds)))
    handles, labels = axes.get_legend_handles_labels()
    legend = axes.legend(handles[::-1], labels[::-1], ncols=2, loc="upper left", fontsize=TEXT - 1, labelcolor=INK)
    legend.get_frame().set(facecolor=PAPER, edgecolor=PAPER, alpha=1)


def _corners(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Medians of runs of neighbours, as many runs as can be seen; few points stay themselves."""
    run = ceil(len(points) / min(MOST_CORNERS, max(12, len(points) // 5)))
    runs = [points[start : start + run] for start in range(0, len(points), run)]
    return [(median(x for x, _ in one), median(y for _, y in one)) for one in runs]


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _duration(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"
