"""Pictures of results: a `Sheet` as PNG, in the style of the chart of `/latency`."""

from __future__ import annotations

import io
from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from clawdbot.bench.records import figure
from clawdbot.bench.report.panels import Bars, Course, Panel, Series, Sheet, Unit
from clawdbot.latency.chart import FAINT, INK, PAPER, TEXT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 1000
"""Pixels, as the chart of `/latency` has."""
BAR, AROUND = 30, 82
"""Pixels of height for a bar, and for a panel's title and margins."""
COURSE = 300
"""Pixels of height of a course."""

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#8c959f")
"""Of series; they can be told apart by people who see fewer of them."""
CHOSEN = "#d55e00"
BEHIND = 0.35
"""How strong the larger value behind a bar is."""


def draw(sheet: Sheet) -> bytes:
    """A PNG, `WIDTH` pixels wide and as high as it needs to be. Takes some tenths of a second."""
    # Here and not above: it takes half a second, which no other command should wait for.
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    lines = ceil(len(sheet.panels) / sheet.columns)
    heights = [
        max(_height(panel) for panel in sheet.panels[line * sheet.columns : (line + 1) * sheet.columns])
        for line in range(lines)
    ]
    layout = ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.12, wspace=0.04)
    size = (WIDTH / 100, (sum(heights) + AROUND / 2) / 100)
    drawn = Figure(figsize=size, dpi=100, facecolor=PAPER, layout=layout)
    grid = drawn.subplots(lines, sheet.columns, squeeze=False, height_ratios=heights)
    for place, axes in enumerate(grid.flat):
        if place >= len(sheet.panels):
            axes.set_visible(False)
            continue
        match sheet.panels[place]:
            case Bars() as bars:
                _draw_bars(axes, bars)
            case Course() as course:
                _draw_course(axes, course)
    _explain(drawn, sheet)
    picture = io.BytesIO()
    drawn.savefig(picture, format="png")
    return picture.getvalue()


def _height(panel: Panel) -> int:
    if isinstance(panel, Course):
        return COURSE
    return AROUND + BAR * len(panel.labels) * len(panel.series)


def _draw_bars(axes: Axes, panel: Bars) -> None:
    """Horizontal, so that long labels can be read; the first label and series on top."""
    thick = 0.8 / len(panel.series)
    for number, series in enumerate(panel.series):
        places = [place - 0.4 + (number + 0.5) * thick for place in range(len(panel.labels))]
        colours = [CHOSEN if label == panel.chosen else COLOURS[number % len(COLOURS)] for label in panel.labels]
        if series.beyond:
            axes.barh(places, _lengths(series.beyond), thick * 0.86, color=colours, alpha=BEHIND)
        axes.barh(places, _lengths(series.values), thick * 0.86, color=colours, label=series.name)
        for place, text, end in zip(places, _texts(series, panel.unit), _ends(series), strict=True):
            axes.annotate(
                text, (end, place), (5, 0), textcoords="offset points", va="center", fontsize=TEXT - 3, color=INK
            )
    axes.set_yticks(range(len(panel.labels)), panel.labels)
    axes.invert_yaxis()
    # Room for the figures behind the longest bar.
    axes.set_xlim(0, max(end for series in panel.series for end in (*_ends(series), 0.001)) * 1.4)
    axes.xaxis.set_visible(False)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.spines["left"].set_color(FAINT)
    _dress(axes, panel.title)


def _draw_course(axes: Axes, panel: Course) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    if len(panel.series) == 1:
        axes.plot(panel.places, _lengths(panel.series[0].values), "o-", color=COLOURS[0], markersize=4, linewidth=1.5)
    else:
        feet = [0.0] * len(panel.places)
        for number, series in enumerate(panel.series):
            lengths = _lengths(series.values)
            axes.bar(panel.places, lengths, 0.9, feet, color=COLOURS[number % len(COLOURS)], label=series.name)
            feet = [foot + length for foot, length in zip(feet, lengths, strict=True)]
    for mark in panel.marks:
        axes.axvline(mark - 0.5, color=INK, linewidth=1, linestyle=":")
    axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
    axes.set_xlim(panel.places[0] - 0.7, panel.places[-1] + 0.7)
    axes.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=(1, 2, 5, 10)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f} {panel.unit}"))
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    _dress(axes, panel.title)


def _dress(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=TEXT, fontweight="bold", color=INK, pad=8)
    axes.tick_params(labelsize=TEXT - 2, labelcolor=INK, length=0)


def _explain(drawn: Figure, sheet: Sheet) -> None:
    """One line below all panels: the colours, then the note."""
    from matplotlib.patches import Patch

    most = max((panel.series for panel in sheet.panels), key=len)
    named = [series.name for series in most if series.name]
    handles = [Patch(color=COLOURS[number % len(COLOURS)], label=name) for number, name in enumerate(named)]
    if sheet.note:
        handles.append(Patch(color=PAPER, label=sheet.note))
    if handles:
        drawn.legend(
            handles=handles,
            loc="outside lower left",
            ncols=len(handles),
            fontsize=TEXT - 2,
            labelcolor=INK,
            frameon=False,
        )


def _lengths(values: Sequence[float | None]) -> list[float]:
    return [value or 0.0 for value in values]


def _ends(series: Series) -> list[float]:
    """Where the bars of a series end, with what is behind them."""
    beyond = series.beyond or series.values
    return [max(pair) for pair in zip(_lengths(series.values), _lengths(beyond), strict=True)]


def _texts(series: Series, unit: Unit) -> list[str]:
    """The figures of each bar; a dash where there is none."""
    found = []
    for value, beyond in zip(series.values, series.beyond or series.values, strict=True):
        both = f"{figure(value)} / {figure(beyond)}" if series.beyond else figure(value)
        found.append("-" if value is None else f"{both} {unit}")
    return found
