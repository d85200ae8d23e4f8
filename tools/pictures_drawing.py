"""Draws what `pictures.py` has recorded, as pages that headless Chromium turns into PNG files."""

import subprocess
from dataclasses import dataclass
from datetime import date
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image, ImageChops

MOMENTS = 4
"""States of an answer that a strip has room for."""
SHARP = 2
"""Pixels of a file for each pixel of a page."""
COLOURS = 256
"""More make the files larger and nothing clearer."""
MARGIN = 20


@dataclass(frozen=True)
class Moment:
    """What an answer showed from ``at`` on, seconds after its question was posted."""

    at: float
    html: str
    buttons: list[str]


@dataclass(frozen=True)
class Growth:
    """One answer from its first text to its last."""

    platform: str
    asker: str
    """Empty where the platform shows no names."""
    question: str
    moments: list[Moment]


@dataclass(frozen=True)
class Report:
    """What `/latency` said; ``chart`` is a PNG in base64."""

    asker: str
    private: bool
    html: str
    chart: str


@dataclass(frozen=True)
class Record:
    """One run; ``rtt`` in seconds."""

    day: date
    model: str
    version: str
    device: str
    rtt: float
    grown: list[Growth]
    report: Report

    @property
    def origin(self) -> str:
        """Where the figures come from."""
        return (
            f"{self.day}: {self.model}, {self.version}, {self.device}; simulated platforms, round trip "
            f"{self.rtt * 1000:.0f} ms"
        )


STYLE = """
* { box-sizing: border-box; margin: 0 }
body { font: 14px/1.4 "Noto Sans", sans-serif; background: #fff; color: #24292f; padding: 20px; width: 1080px }
h1 { font-size: 15px; font-weight: 600; margin: 0 0 8px }
h1 small { font-weight: 400; color: #57606a; font-size: 13px }
.strip { display: grid; grid-auto-columns: 1fr; grid-auto-flow: column; gap: 12px; margin-bottom: 22px }
.strip > div { display: flex; flex-direction: column }
.time { font-size: 20px; font-weight: 600; color: #0072b2; padding: 0 2px 4px; font-variant-numeric: tabular-nums }
.screen { border-radius: 8px; padding: 12px; flex: 1 }
.edited { display: block; font-size: 11px; opacity: 0.55 }
.button { display: inline-block; padding: 3px 14px; border-radius: 5px; font-weight: 500; font-size: 13px }
p + p, ol, ul, pre { margin-top: 6px }
ol, ul { padding-left: 20px }
.origin { color: #57606a; font-size: 13px }
code { font-family: "Noto Sans Mono", "DejaVu Sans Mono", monospace; font-size: 13px }

.discord { background: #313338; color: #dbdee1 }
.discord .asked { color: #949ba4; font-size: 12.5px; margin-bottom: 8px }
.discord .asked b, .discord .who b { color: #f2f3f5; font-weight: 600 }
.discord .who { margin-bottom: 2px }
.discord .app { background: #5865f2; color: #fff; font-size: 10px; border-radius: 3px; padding: 1px 4px;
    margin-left: 4px }
.discord .button { background: #4e5058; color: #fff; margin-top: 8px }
.discord pre { background: #2b2d31; border: 1px solid #1e1f22; border-radius: 4px; padding: 8px 10px; line-height: 1.3 }
.discord p code { background: #2b2d31; border-radius: 3px; padding: 1px 4px }

.telegram { background: #cfdfb7 }
.telegram .asked { background: #e3fdc9; border-radius: 12px 12px 3px 12px; padding: 6px 10px; margin: 0 0 8px 40px;
    font-size: 13px }
.telegram .edited { text-align: right; margin-bottom: -2px }
.telegram .said { background: #fff; border-radius: 12px 12px 12px 3px; padding: 6px 10px; margin-right: 12px }
.telegram .button { background: #8aa872; color: #fff; display: block; text-align: center; margin: 4px 12px 0 0 }

.wide { width: 660px; padding: 16px 18px }
.below { width: 660px; margin-top: 8px }
.wide img { width: 620px; border-radius: 8px; display: block; margin-top: 10px }
.wide .only { color: #949ba4; font-size: 12px; margin-top: 8px }
"""


def draw_strips(record: Record, to: Path, chromium: str) -> None:
    """Some states of each answer side by side, a strip for each platform."""
    _draw("".join(map(_strip, record.grown)) + _origin(record), to, chromium)


def draw_report(record: Record, to: Path, chromium: str) -> None:
    """`/latency` as the admin sees it."""
    report = record.report
    only = '<div class="only">Only you can see this</div>' if report.private else ""
    page = f"""
        <div class="screen discord wide">
            <div class="asked"><b>{escape(report.asker)}</b> used <b>/latency</b></div>{_WHO}{report.html}
            <img src="data:image/png;base64,{report.chart}">{only}
        </div>
        <p class="below">{_origin(record)}</p>"""
    _draw(page, to, chromium)


_WHO = '<div class="who"><b>ClawdBot</b><span class="app">APP</span></div>'


def _strip(growth: Growth) -> str:
    chosen, all_of_them = _chosen(growth.moments), len(growth.moments)
    states = f"{len(chosen)} of the {all_of_them}" if len(chosen) < all_of_them else f"the {all_of_them}"
    title = (
        f"{growth.platform} <small>{states} states of one message, by the time since the question was posted</small>"
    )
    screens = "".join(_screen(growth, moment) for moment in chosen)
    return f'<h1>{title}</h1><div class="strip">{screens}</div>'


def _chosen(moments: list[Moment]) -> list[Moment]:
    """The first two, the last, and those nearest to even distances in time between."""
    if len(moments) <= MOMENTS:
        return moments
    first, second, *between, last = moments
    distance = (last.at - second.at) / (MOMENTS - 2)
    wanted = [second.at + step * distance for step in range(1, MOMENTS - 2)]
    return [first, second, *(min(between, key=lambda one: abs(one.at - at)) for at in wanted), last]


def _screen(growth: Growth, moment: Moment) -> str:
    buttons = "".join(f'<span class="button">{escape(label)}</span>' for label in moment.buttons)
    question = escape(growth.question)
    edited = '<span class="edited">edited</span>' if moment is not growth.moments[0] else ""
    if growth.platform == "Discord":
        asked = f'<div class="asked">↱ <b>{escape(growth.asker)}</b> @ClawdBot {question}</div>'
        said = f"{_WHO}{moment.html}{edited}{buttons}"
    else:
        asked = f'<div class="asked">{question}</div>'
        said = f'<div class="said">{moment.html}{edited}</div>{buttons}'
    time = f'<div class="time">{moment.at:.2f} s</div>'
    return f'<div>{time}<div class="screen {growth.platform.lower()}">{asked}{said}</div></div>'


def _origin(record: Record) -> str:
    return f'<span class="origin">{escape(record.origin)}</span>'


def _draw(body: str, to: Path, chromium: str) -> None:
    """Draw a page on a sheet that is too large and cut the rest off."""
    with TemporaryDirectory(prefix="clawdbot-drawing-") as folder:
        page, drawn = Path(folder, "page.html"), Path(folder, "page.png")
        page.write_text(f'<!doctype html><meta charset="utf-8"><style>{STYLE}</style>{body}', encoding="utf-8")
        quiet = ("no-first-run", "disable-background-networking", "disable-component-update", "disable-sync")
        flags = ("headless", "no-sandbox", "disable-gpu", "hide-scrollbars", *quiet)
        sheet = (f"--window-size=1120,1800 --force-device-scale-factor={SHARP}").split()
        browser = [chromium, *(f"--{flag}" for flag in flags), *sheet, f"--user-data-dir={folder}/profile"]
        subprocess.run([*browser, f"--screenshot={drawn}", page.as_uri()], check=True, capture_output=True)
        with Image.open(drawn) as image:
            whole = image.convert("RGB")
    empty = Image.new("RGB", whole.size, whole.getpixel((0, 0)))
    left, top, right, bottom = ImageChops.difference(whole, empty).getbbox() or (0, 0, *whole.size)
    used = (max(0, left - MARGIN), max(0, top - MARGIN), right + MARGIN, bottom + MARGIN)
    whole.crop(used).quantize(COLOURS).save(to, optimize=True)
