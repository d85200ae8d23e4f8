"""How Markdown looks on Discord."""

import pytest

from clawdbot_discord.render import SIZE, fits, render

TABLE = "| bird | legs |\n|:-----|-----:|\n| heron | 2 |"


def test_ordinary_markdown_is_sent_as_it_is() -> None:
    text = "# Birds\n\n- **heron**\n- `egret`\n\n> quoted"
    assert render(text) == text


def test_a_table_stands_in_a_code_block_with_its_columns_aligned() -> None:
    """Discord draws no tables: without a fixed pitch their columns fall apart."""
    drawn = "bird  | legs\n------+-----\nheron |    2"
    assert render(f"Look:\n\n{TABLE}\n\nDone.") == f"Look:\n\n```\n{drawn}\n```\n\nDone."


def test_a_table_without_outer_bars_is_one_too() -> None:
    assert render("bird | legs\n--- | ---\nheron | 2") == "```\nbird  | legs\n------+-----\nheron | 2\n```"


def test_cells_show_no_marks_and_every_sign_has_its_width() -> None:
    """In a code block stars would be stars; a bar in a cell is written with a backslash."""
    text = "| a | **b** |\n|---|---|\n| 問題 | `x \\| y` |\n| c |"
    assert render(text) == "```\na    | b\n-----+------\n問題 | x | y\nc    |\n```"


def test_a_table_that_is_wider_than_a_screen_is_not_padded() -> None:
    text = f"| a | b |\n|---|---|\n| {'x' * 99} | c |"
    assert render(text) == f"```\na | b\n--- | ---\n{'x' * 99} | c\n```"


def test_a_table_in_a_code_block_is_left_alone() -> None:
    text = f"```markdown\n{TABLE}\n```"
    assert render(text) == text


def test_backticks_in_a_longer_fence_do_not_end_it() -> None:
    """Discord ends a block at the next three, wherever they stand: something that is not seen comes between them."""
    drawn = render(f"````md\n```\n{TABLE}\n```\n````")
    assert drawn.replace("\u200b", "") == f"```md\n```\n{TABLE}\n```\n```"
    assert drawn.count("```") == 2


@pytest.mark.parametrize(
    ("opening", "drawn"),
    [
        ("~~~", "```"),
        ("~~~~c++", "```c++"),
        ("```python title='a b'", "```python"),
        ("``` js {1,3}", "```js"),
        ("```{.python}", "```"),
    ],
)
def test_every_code_block_is_one_that_discord_knows(opening: str, drawn: str) -> None:
    """Tildes are text there, and more than the language would stand in the code."""
    closing = opening[:4] if opening.startswith("~~~~") else opening[:3]
    assert render(f"{opening}\nx = 1\n{closing}\nafter") == f"{drawn}\nx = 1\n```\nafter"


@pytest.mark.parametrize("line", ["    ```", "> ```", "``` x", "1. ```"])
def test_a_marker_that_does_not_end_a_block_does_not_do_so_on_discord(line: str) -> None:
    assert render(f"```\n{line}\n```\nafter").count("```") == 2


def test_three_backticks_in_a_sentence_begin_no_block() -> None:
    """A pair of them around something does: that is how it is meant."""
    assert "```" not in render("Write ``` before it.")
    assert render("Write ```x``` there.") == "Write ```x``` there."


def test_code_ends_with_its_quote() -> None:
    assert render("> ```py\n> x = 1") == "> ```py\n> x = 1\n> ```"
    assert render("> ```py\n> x = 1\nafter") == "> ```py\n> x = 1\n> ```\nafter"


@pytest.mark.parametrize("text", ["a || b", "if a || b\nor c || d", "||", "|||"])
def test_bars_in_a_text_hide_nothing(text: str) -> None:
    """Discord takes all between two pairs of them for a spoiler, over lines too."""
    drawn = render(text)
    assert (drawn.replace("\u200b", ""), drawn.count("||")) == (text, 0)


@pytest.mark.parametrize("text", ["It was ||the butler||.", "Write `a || b` or ``c || d``.", "```js\na || b\n```"])
def test_spoilers_and_code_keep_their_bars(text: str) -> None:
    assert render(text) == text


@pytest.mark.parametrize("run", ["```", "````", "`````", "``````"])
def test_every_run_of_backticks_in_code_is_broken(run: str) -> None:
    assert render(f"```\n{run} x\n```").count("```") == 2


def test_code_in_a_list_or_a_quote_stays_there() -> None:
    text = "1. ```py\n   x = 1\n   ```\n\n> ```\n> y\n> ```"
    assert render(text) == text


@pytest.mark.parametrize("level", ["####", "#####", "######"])
def test_small_headings_are_the_smallest_that_there_is(level: str) -> None:
    """Discord has three sizes and shows the signs of all others."""
    assert render(f"{level} Birds\n> {level} Herons\n{level}x") == f"### Birds\n> ### Herons\n{level}x"


def test_bars_in_a_sentence_are_no_table() -> None:
    text = "either | or\nand that was it"
    assert render(text) == text


def test_white_space_around_the_text_is_left_out() -> None:
    """Discord drops it, and what it shows should be what was asked for."""
    assert render("\n\n  A heron.\n \n") == "A heron."


def test_what_counts_is_the_length_as_it_is_drawn() -> None:
    """The columns of a table are filled up with spaces."""
    text = f"| {'a' * 90} | b |\n|---|---|\n" + "| x | y |\n" * 40
    assert len(text) < SIZE < len(render(text))
    assert not fits(text)


def test_length_is_counted_in_code_points() -> None:
    assert fits("🦩" * SIZE)
    assert not fits("🦩" * (SIZE + 1))
