"""What is read can be told from what it stands on, in the light and in the dark (WCAG 2.2, level AA)."""

import re

import pytest

from clawdbot.ops.site import FILES

TEXT, SHAPES = 4.5, 3.0
"""The least contrast of text, and of shapes that mean something."""


def palettes() -> dict[str, dict[str, str]]:
    """The colours of each theme, by name."""
    css = (FILES / "page.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root \{(.*?)\}", css, flags=re.DOTALL)
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in blocks)
    return {"light": light, "dark": dark}


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    ("text", "ground"),
    [
        *((text, ground) for text in ("text", "muted", "accent", "bad", "good") for ground in ("card", "ground")),
        ("text", "mine"),
        ("text", "code"),
        ("on-accent", "accent"),
    ],
)
def test_text_can_be_read(theme: str, text: str, ground: str) -> None:
    colors = palettes()[theme]

    assert contrast(colors[text], colors[ground]) >= TEXT


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("stage", [f"s{number}" for number in range(6)])
def test_stages_can_be_told_from_the_ground(theme: str, stage: str) -> None:
    colors = palettes()[theme]

    assert min(contrast(colors[stage], colors[ground]) for ground in ("card", "code")) >= SHAPES
