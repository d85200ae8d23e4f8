"""Every beginning of many texts, laid out and drawn as each platform does it: what a growing answer shows."""

from collections.abc import Callable
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from telegram import MessageEntity

from clawdbot.chat import Bucket, Frame, Limits, Pace, State
from clawdbot.delivery.blocks import open_fence
from clawdbot.delivery.layout import Layout
from clawdbot_discord.render import render
from clawdbot_telegram.render import Drawn, Renderer

CORPUS = {
    path.stem: path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parent / "corpus").glob("*.md"))
}
TEXTS = {**CORPUS, "everything": "\n\n".join(CORPUS.values()), "crlf": CORPUS["code"].replace("\n", "\r\n")}

FREE = Bucket("free", ())
MOST = 1000
"""Messages of one answer: more than any of these texts needs."""
UNITS, ENTITIES = 400, 12
"""A small Telegram, so that there are borders everywhere."""
POINTS = 300
"""A small Discord."""

TELEGRAM = Renderer(UNITS, ENTITIES)
each_text = pytest.mark.parametrize("name", TEXTS)


def limits(fits: Callable[[str], bool], size: int) -> Limits:
    pace = Pace(first=(), by_age=((0.0, 1.0),))
    return Limits(fits=fits, size=size, sends=FREE, edits=FREE, typing=None, bot=FREE, pace=pace)


def on_telegram() -> Layout:
    return Layout(limits(TELEGRAM.fits, UNITS), MOST)


def on_discord() -> Layout:
    return Layout(limits(lambda text: len(render(text)) <= POINTS, POINTS), MOST)


@cache
def grown(platform: Callable[[], Layout], name: str) -> list[list[Frame]]:
    """What is shown of a text after each of its characters."""
    layout, text = platform(), TEXTS[name]
    # The whole corpus one character at a time would only repeat what its files show.
    step = 41 if name == "everything" else 1
    return [layout.growing(text[:end]) for end in range(0, len(text) + step, step)]


def texts(shown: list[list[Frame]]) -> list[str]:
    """Every text that is ever shown, once."""
    return list(dict.fromkeys(frame.text for frames in shown for frame in frames))


def is_sound(drawn: Drawn) -> bool:
    """Whether Telegram takes it: entities cover whole characters inside the text and lie apart or in one another."""
    raw = drawn.text.encode("utf-16-le")
    for one in drawn.entities:
        part = raw[2 * one.offset : 2 * (one.offset + one.length)]
        if not 0 < one.length == len(part) // 2 or part.decode("utf-16-le", "ignore").encode("utf-16-le") != part:
            return False
    return bool(drawn.text.strip()) and not any(crossing(one, two) for one, two in combinations(drawn.entities, 2))


def crossing(one: MessageEntity, two: MessageEntity) -> bool:
    first, second = sorted(((one.offset, one.offset + one.length), (two.offset, two.offset + two.length)))
    return first[0] < second[0] < first[1] < second[1]


@each_text
def test_every_beginning_has_sound_entities_on_telegram(name: str) -> None:
    wrong = {text for text in texts(grown(on_telegram, name)) if not is_sound(TELEGRAM.draw(text))}
    assert wrong == set()


@each_text
def test_every_message_is_within_the_limits_of_telegram(name: str) -> None:
    drawn = [TELEGRAM.draw(text) for text in texts(grown(on_telegram, name))]
    assert max(one.units for one in drawn) <= UNITS
    assert max(len(one.entities) for one in drawn) <= ENTITIES


@each_text
def test_every_message_is_within_the_limit_of_discord(name: str) -> None:
    drawn = [render(text) for text in texts(grown(on_discord, name))]
    assert max(map(len, drawn)) <= POINTS
    assert all(drawn)


@each_text
def test_no_code_block_is_left_open_on_discord(name: str) -> None:
    """Three backticks open a block there and the next three close it, wherever they stand."""
    assert [text for text in texts(grown(on_discord, name)) if render(text).count("```") % 2] == []


@each_text
@pytest.mark.parametrize("platform", [on_telegram, on_discord])
def test_a_message_that_is_full_never_changes(platform: Callable[[], Layout], name: str) -> None:
    """Only the last one grows; a notification or a quoted message keeps its text."""
    shown = grown(platform, name)
    moved = [
        later
        for earlier, later in pairwise(shown)
        if [f.text for f in earlier[:-1]] != [f.text for f in later][: len(earlier) - 1]
    ]
    assert moved == []


@each_text
@pytest.mark.parametrize("platform", [on_telegram, on_discord])
def test_the_finished_text_is_laid_out_as_it_grew(platform: Callable[[], Layout], name: str) -> None:
    """Whether it came in a thousand pieces or at once."""
    finished = platform().final(TEXTS[name], State.FINAL)
    assert [frame.text for frame in finished[:-1]] == [frame.text for frame in grown(platform, name)[-1][:-1]]
    assert [frame for frame in finished if open_fence(frame.text)[0] is not None] == []
