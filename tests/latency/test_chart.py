"""The chart of `/latency` is drawn whatever happened, without holding anything up."""

import io
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from PIL import Image, ImageColor

from clawdbot.latency.chart import HEIGHT, INK, PAPER, SERIES, WAY, WIDTH, draw
from clawdbot.latency.timing import Timing

NOW = 1_800_000_000.0
PLATFORMS = ("discord", "telegram", "console", "matrix", "irc")


def answers(number: int, platforms: int = 3, span: float = 86_400.0) -> list[Timing]:
    """As many answers, evenly spread over the last ``span`` seconds; every seventh stopped before its first word."""
    made = []
    for index in range(number):
        wait = 0.05 + 0.01 * (index * 7919 % 31)
        marks = (0.01, 0.03, 0.03 + wait, 0.15 + wait, 0.15 + wait, 0.2 + wait, 4.0, 4.2)
        platform = PLATFORMS[index % platforms]
        at = NOW - span * (number - index) / number
        made.append(Timing(platform, f"{platform}:1:0", at, 0.1, *marks, 100, 50, 80, "final"))
    return [stopped(one) if index % 7 == 6 else one for index, one in enumerate(made)]


def stopped(timing: Timing) -> Timing:
    """Before its first word."""
    return replace(timing, first_token=None, first_visible=None, last_token=None)


def colours(picture: bytes) -> dict[str, int]:
    """How many pixels of each of the chart's own colours there are."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    counts = {colour: count for count, colour in image.getcolors(WIDTH * HEIGHT) or []}
    names = {INK, PAPER, *(colour for _, _, colour, _ in SERIES), *(colour for _, colour, _ in WAY)}
    return {name: counts.get(ImageColor.getrgb(name), 0) for name in names}


@pytest.mark.parametrize(
    "timings",
    [
        pytest.param([], id="none"),
        pytest.param(answers(1), id="one"),
        pytest.param([stopped(one) for one in answers(1)], id="one that was stopped"),
        pytest.param(answers(3, platforms=1, span=600.0), id="three in ten minutes"),
        pytest.param(answers(200, platforms=5), id="on five platforms"),
        pytest.param(answers(10_000), id="ten thousand"),
        pytest.param([replace(one, first_token=None) for one in answers(5)], id="of an engine without figures"),
        pytest.param([replace(one, first_visible=0.0, complete=0.0) for one in answers(5)], id="in no time"),
        pytest.param([replace(one, at=NOW + 60) for one in answers(5)], id="of a clock that was set back"),
    ],
)
def test_any_answers_make_a_picture(timings: list[Timing]) -> None:
    """Of the size that chats show whole, and without a warning (which would fail here)."""
    image = Image.open(io.BytesIO(draw(timings, NOW)))
    assert (image.format, image.size) == ("PNG", (WIDTH, HEIGHT))


def test_every_series_and_stage_can_be_seen() -> None:
    """Each in its colour; where there is nothing to show, none of them."""
    full, empty = colours(draw(answers(50), NOW)), colours(draw([], NOW))
    drawn = set(full) - {INK, PAPER}
    assert all(full[colour] > 50 for colour in drawn)
    assert all(empty[colour] == 0 for colour in drawn)
    assert empty[INK] > 0


def test_several_can_be_drawn_at_once() -> None:
    """Two admins ask at the same moment; drawing shares no state between threads."""
    timings = answers(30)
    with ThreadPoolExecutor(3) as threads:
        pictures = list(threads.map(lambda _: draw(timings, NOW), range(3)))
    assert pictures == [draw(timings, NOW)] * 3


def test_importing_the_module_costs_nothing() -> None:
    """The drawing library takes half a second to import, which a bot that draws no chart never waits for."""
    code = "import sys, clawdbot.latency.chart; print({'matplotlib', 'numpy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"set()\n"
