"""Where a long text is cut, and that nothing of it is lost or doubled."""

import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawdbot.delivery.blocks import open_fence
from clawdbot.delivery.split import Splitter

OPENING = r"(?:[ \t>]*(?:`{3,}|~{3,})[^\n]*\n|[ \t]*\|[^\n]*\n[ \t]*\|[^\n]*\n)?"
CLOSING = r"(?:\n?[ \t>]*(?:`{3,}|~{3,}))?"
FAMILY = "👩‍👩‍👧"
SCRAPS = [
    *("word ", "Sentence. ", "\n", "\n\n", "  ", "é", "long" * 12, "問題。", FAMILY, "🇫🇷", "a\u0301", "\r\n", "\t"),
    *("```py\n", "```\n", "~~~\n", "````md\n", "```py title='a b' {1-2}\n", "    x = 1\n", "> ```\n", "> quoted\n"),
    *("1. ```sh\n", "   ```\n", "      ```js\n", "- > ~~~~\n", "```\r\n", "\u2028", "~~gone~~ "),
    *("`code` ", "``a ` b`` ", "**bold text** ", "[a b](http://c.d/e_(f)) ", "![a](b) ", "<b>", "אבג "),
    *(
        "- item\n",
        "  - inner item\n",
        "1. one\n",
        "| a | b |\n",
        "|---|:-:|\n",
        "# Heading\n",
        "<",
        "*",
        "`",
        "|",
        "> ",
    ),
]
TEXTS = st.lists(st.sampled_from(SCRAPS), max_size=80).map("".join)
SIZES = st.integers(min_value=60, max_value=200)


def up_to(size: int) -> Callable[[str], bool]:
    return lambda text: len(text) <= size


def units(size: int) -> Callable[[str], bool]:
    """As Telegram counts."""
    return lambda text: len(text.encode("utf-16-le")) // 2 <= size


def split(text: str, fits: Callable[[str], bool], size: int) -> list[str]:
    return Splitter(fits, size).parts(text)


def raw(text: str, fits: Callable[[str], bool], size: int) -> list[str]:
    """What each piece holds of the text."""
    splitter = Splitter(fits, size)
    count = len(splitter.parts(text))
    rests = [text, *(splitter.after(text, number) for number in range(1, count)), ""]
    return [rest.removesuffix(following) for rest, following in pairwise(rests)]


@given(text=TEXTS, size=SIZES)
def test_every_character_is_there_once_and_in_order(text: str, size: int) -> None:
    """A piece is its part of the text, with at most an opening line before it and a closing one behind it."""
    parts = raw(text, units(size), size)
    assert "".join(parts) == text
    for piece, part in zip(split(text, units(size), size), parts, strict=True):
        assert re.fullmatch(OPENING + re.escape(part) + CLOSING, piece)


@given(text=TEXTS, size=SIZES)
def test_every_piece_fits(text: str, size: int) -> None:
    assert all(map(units(size), split(text, units(size), size)))


@given(text=TEXTS, size=SIZES)
def test_no_piece_but_the_last_leaves_a_code_block_open(text: str, size: int) -> None:
    """And the last one as the whole text does."""
    *full, last = split(text, units(size), size)
    assert [piece for piece in full if open_fence(piece)[0] is not None] == []
    assert (open_fence(last)[0] is None) == (open_fence(text)[0] is None)


@given(text=TEXTS, size=SIZES, steps=st.lists(st.integers(min_value=1, max_value=50), max_size=40))
def test_borders_stay_while_the_text_grows(text: str, size: int, steps: list[int]) -> None:
    """However the text came, its pieces are the same as when it came at once; earlier pieces never change."""
    splitter = Splitter(units(size), size)
    at, earlier = 0, [""]
    for step in steps:
        at += step
        parts = splitter.parts(text[:at])
        assert parts[: len(earlier) - 1] == earlier[:-1]
        earlier = parts
    assert splitter.parts(text) == split(text, units(size), size)


@given(text=TEXTS, size=SIZES)
def test_borders_stay_from_one_character_to_the_next(text: str, size: int) -> None:
    """A message that was full once never changes, and no message ever goes."""
    splitter = Splitter(units(size), size)
    earlier = [""]
    for end in range(1, len(text) + 1):
        parts = splitter.parts(text[:end])
        assert parts[: len(earlier) - 1] == earlier[:-1]
        assert len(parts) >= len(earlier)
        earlier = parts
    assert earlier == split(text, units(size), size)


@given(st.integers(min_value=5, max_value=40), st.integers(min_value=60, max_value=90))
def test_visible_characters_stay_whole(count: int, size: int) -> None:
    """Emoji of several code points, flags and accents are never parted, also where only a hard cut helps."""
    for sign in (FAMILY, "🇫🇷", "a\u0301", "👍🏽", "\U0001f3f4\U000e0067\U000e0062\U000e007f"):
        pieces = split(sign * count, units(size), size)
        assert sum(piece.count(sign) for piece in pieces) == count


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("One two three.\n\nFour five. Six\nseven eight nine ten", "One two three.\n\n"),
        ("One two three four. Five\nsix seven eight nine ten", "One two three four. Five\n"),
        ("One two three four. Five six seven eight nine", "One two three four. "),
        ("One two three four five six seven eight nine", "One two three four five six "),
        ("x" * 45, "x" * 30),
        ("One two three [four five](http://six) seven", "One two three "),
        ("One two three four `five six seven eight` nine", "One two three four "),
        ("One two three **four five six seven** eight", "One two three "),
        ("One two three.\n\n# Four five\n\nSix seven eight", "One two three.\n\n"),
        ("One two three four\n- five\n  - six\n  - seven", "One two three four\n"),
        ("One two three.\n| a | b |\n| - | - |\n| c | d |", "One two three.\n"),
    ],
)
def test_best_border_in_the_latter_half_is_taken(text: str, first: str) -> None:
    """Paragraph before line before sentence before word; links, code, bold, headings, lists and tables stay whole."""
    assert split(text, up_to(30), 30)[0] == first


@pytest.mark.parametrize("fence", ["```", "~~~", "`````"])
def test_code_block_is_closed_and_opened_again_with_its_language(fence: str) -> None:
    code = "".join(f"line_{number} = {number}\n" for number in range(14))
    pieces = split(f"Look:\n{fence}python\n{code}{fence}\nDone.", up_to(90), 90)
    assert len(pieces) == 3
    assert pieces[0].endswith(f"\n{fence}")
    assert all(piece.startswith(f"{fence}python\n") for piece in pieces[1:])
    assert pieces[1].endswith(f"\n{fence}")
    assert pieces[2].endswith(f"{fence}\nDone.")


def test_code_is_cut_between_lines_and_rather_where_one_is_empty() -> None:
    text = "```\n" + "a = 1\n" * 8 + "\n" + "b = 2\n" * 8 + "```"
    assert split(text, up_to(80), 80)[0] == "```\n" + "a = 1\n" * 8 + "\n```"


@pytest.mark.parametrize("size", range(40, 80))
def test_no_piece_has_a_code_block_without_content(size: int) -> None:
    """Neither right behind the opening line nor right before the closing one is a border."""
    text = "Some words.\n\n" + "```py\nfirst = 1\nsecond = 2\n```\n\nMore.\n\n" * 6
    assert not [piece for piece in split(text, up_to(size), size) if re.search(r"```py\n+```", piece)]


def test_short_code_block_is_kept_whole_where_that_is_possible() -> None:
    text = "Some words first, then some more.\n\n```py\nx = 1\ny = 2\nz = 3\n```\n"
    assert split(text, up_to(50), 50) == ["Some words first, then some more.\n\n", "```py\nx = 1\ny = 2\nz = 3\n```\n"]


def test_marker_inside_another_fence_is_text() -> None:
    """A longer fence quotes shorter ones: they neither close nor open anything."""
    text = "````md\n" + "```py\nx\n```\n" * 10 + "````\nDone."
    assert all(piece.startswith("````md\n") for piece in split(text, up_to(60), 60)[1:])


@pytest.mark.parametrize(
    ("info", "again"),
    [("python", "python"), (" python title='a b.py' {1,3-5} and much more", "python"), ("p" * 40, "")],
)
def test_opening_line_that_is_too_long_is_shortened_to_its_language(info: str, again: str) -> None:
    pieces = split(f"```{info}\n" + "x = 1\n" * 30 + "```", up_to(90), 90)
    assert all(piece.startswith(f"```{again}\n") for piece in pieces[1:])
    assert all(open_fence(piece)[0] is None for piece in pieces)


@pytest.mark.parametrize(
    ("text", "opening"),
    [
        ("1. one\n   ```py\n" + "   x = 1\n" * 20 + "   ```\n", "   ```py\n"),
        ("1. ```py\n" + "   x = 1\n" * 20 + "   ```\n", "   ```py\n"),
        ("> ```py\n" + "> x = 1\n" * 20 + "> ```\n", "> ```py\n"),
    ],
)
def test_code_in_a_list_or_a_quote_stays_there(text: str, opening: str) -> None:
    pieces = split(text, up_to(80), 80)
    assert all(piece.startswith(opening) for piece in pieces[1:])
    assert all(open_fence(piece)[0] is None for piece in pieces)


@pytest.mark.parametrize("text", ["> ```\n> x\nafter", "```\n> ```\n```\nafter", "```\n    ```\n```\nafter"])
def test_end_of_a_code_block_is_where_markdown_sees_it(text: str) -> None:
    """With the quote that it stands in; not at a marker that is quoted or indented in the code."""
    assert open_fence(text)[0] is None


def test_line_of_code_that_is_longer_than_a_message_is_cut() -> None:
    pieces = split("```json\n" + "x" * 5000 + "\n```", up_to(2000), 2000)
    assert len(pieces) == 3
    assert sum(piece.count("x") for piece in pieces) == 5000
    assert all(piece.startswith("```json\n") and piece.endswith("\n```") for piece in pieces)


@pytest.mark.parametrize("size", range(46, 54))
def test_closing_line_at_the_limit_stays_with_its_code(size: int) -> None:
    """Neither an empty code block nor a lone marker begins the next message."""
    text = "```py\n" + "x = 1\n" * 6 + "```\n\nSome words after it."
    pieces = split(text, up_to(size), size)
    assert not [piece for piece in pieces if re.match(r"```(py\n```|\s)", piece)]
    assert all(open_fence(piece)[0] is None for piece in pieces)


def test_table_that_is_cut_has_its_head_again() -> None:
    head = "| bird | legs |\n|------|-----:|\n"
    rows = [f"| heron {number} | 2 |\n" for number in range(20)]
    pieces = split(head + "".join(rows), up_to(150), 150)
    assert len(pieces) > 2
    assert all(piece.startswith(head) and piece.endswith("|\n") for piece in pieces)
    assert "".join(piece.removeprefix(head) for piece in pieces) == "".join(rows)


@pytest.mark.parametrize("size", range(60, 100))
def test_head_of_a_table_is_not_left_without_a_row(size: int) -> None:
    text = "Some words before it.\n\n" + "| a | b |\n|---|---|\n" + "| c | d |\n" * 12
    assert not [piece for piece in split(text, up_to(size), size) if re.search(r"(?<!d )\|\n(\|---\|---\|\n)?$", piece)]


@pytest.mark.parametrize(
    "text",
    [
        "One two three four five - six seven",
        "One two three four five # six seven",
        "One two three four five > six seven",
        "One two three four five ``` six seven",
    ],
)
def test_sign_in_a_sentence_does_not_become_a_mark_at_the_top_of_a_message(text: str) -> None:
    """A dash there would be an item, a number sign a heading."""
    assert split(text, up_to(25), 25)[0] == "One two three four "


@pytest.mark.parametrize("size", range(50, 64))
def test_hard_cut_does_not_make_a_code_block_of_what_is_none(size: int) -> None:
    pieces = split("x" * 56 + " ```py\n" + "y" * 30, up_to(size), size)
    assert [piece for piece in pieces if open_fence(piece)[0] is not None] == []


def test_mark_of_an_item_stays_with_its_text() -> None:
    assert split("Some words here:\n\n1. [ ] " + "long" * 10, up_to(30), 30)[0] == "Some words here:\n\n"


def test_fits_is_asked_rarely() -> None:
    """It may take milliseconds: once for a frame that fits, a few times for a new border."""
    asked = 0

    def fits(text: str) -> bool:
        nonlocal asked
        asked += 1
        return len(text) <= 1800

    splitter = Splitter(fits, 2000)
    text = "Some words. " * 1000
    frames = range(200, len(text), 200)
    for end in frames:
        splitter.parts(text[:end])
    pieces = len(splitter.parts(text))
    assert asked <= len(frames) + 8 * pieces


def test_what_comes_after_the_last_piece_that_is_wanted_is_not_split() -> None:
    """It becomes a file."""
    pieces = Splitter(up_to(30), 30, most=2).parts("One two three. " * 10)
    assert pieces == ["One two three. One two three. "] * 2 + ["One two three. " * 6]


def test_text_that_is_another_one_is_split_anew() -> None:
    splitter = Splitter(up_to(20), 20)
    splitter.parts("One two three four five six")
    assert splitter.parts("Other words than those before") == split("Other words than those before", up_to(20), 20)


@settings(max_examples=30)
@given(st.text(max_size=400))
def test_no_text_breaks_it(text: str) -> None:
    assert "".join(raw(text, up_to(60), 60)) == text
