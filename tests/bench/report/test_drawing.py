"""Every result becomes a picture, without a warning (which would fail here)."""

import io
import subprocess
import sys
from dataclasses import replace

import pytest
from PIL import Image, ImageColor

from clawdbot.bench.records import parse
from clawdbot.bench.report.drawing import CHOSEN, COLOURS, WIDTH, draw
from clawdbot.bench.report.panels import Bars, Series, Sheet, sheet

from ..results import ALL, LOAD, ORIGIN, TTFT, delivered, mixed


def colours(picture: bytes) -> set[tuple[int, ...]]:
    """Those of more than a few pixels."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    found = image.getcolors(image.width * image.height) or []
    return {colour for count, colour in found if count > 50 and isinstance(colour, tuple)}


@pytest.mark.parametrize("name", ALL)
def test_each_kind_of_result_makes_a_picture(name: str) -> None:
    image = Image.open(io.BytesIO(draw(sheet(parse(ALL[name], "file")))))

    assert (image.format, image.width) == ("PNG", WIDTH)
    assert 150 < image.height < 2000


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(ORIGIN | {"platforms": {"discord": delivered(None)}}, id="nothing that ever came"),
        pytest.param(LOAD | {"policies": {"off": mixed(0.0)}}, id="no time at all"),
        pytest.param(LOAD | {"policies": {"off": mixed(1e7), "on": mixed(0.01)}}, id="hours beside microseconds"),
        pytest.param(TTFT | {"rows": TTFT["rows"][:1]}, id="a single row"),
    ],
)
def test_odd_results_make_a_picture(content: dict[str, object]) -> None:
    assert Image.open(io.BytesIO(draw(sheet(parse(content, "file"))))).width == WIDTH


def test_what_is_recommended_has_a_colour_of_its_own() -> None:
    bars = Bars("Two", ["one", "other"], [Series("", [1.0, 2.0])])
    recommended, other = ImageColor.getrgb(CHOSEN), ImageColor.getrgb(COLOURS[0])

    assert {recommended, other} <= colours(draw(Sheet([replace(bars, chosen="one")], 1)))
    assert recommended not in colours(draw(Sheet([bars], 1)))


def test_more_bars_make_a_higher_picture() -> None:
    """So that they stay as thick as they are, and their figures readable."""
    heights = []
    for number in (2, 20):
        bars = Bars("Some", [f"{label}" for label in range(number)], [Series("", [1.0] * number)])
        heights.append(Image.open(io.BytesIO(draw(Sheet([bars], 1)))).height)

    assert heights[1] > 2 * heights[0]


def test_importing_the_module_costs_nothing() -> None:
    """The drawing library takes half a second to import, which a command that draws nothing never waits for."""
    code = "import sys, clawdbot.bench.report.drawing; print({'matplotlib', 'numpy'} & set(sys.modules))"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"set()\n"
