"""How Markdown looks on Discord."""

from clawdbot_discord.render import SIZE, fits, render

TABLE = "| bird | legs |\n|:-----|-----:|\n| heron | 2 |"


def test_ordinary_markdown_is_sent_as_it_is() -> None:
    text = "# Birds\n\n- **heron**\n- `egret`\n\n> quoted"
    assert render(text) == text


def test_a_table_stands_in_a_code_block() -> None:
    """Discord draws no tables: without a fixed pitch their columns fall apart."""
    assert render(f"Look:\n\n{TABLE}\n\nDone.") == f"Look:\n\n```\n{TABLE}\n```\n\nDone."


def test_a_table_without_outer_bars_is_one_too() -> None:
    assert render("bird | legs\n--- | ---\nheron | 2") == "```\nbird | legs\n--- | ---\nheron | 2\n```"


def test_a_table_in_a_code_block_is_left_alone() -> None:
    text = f"```markdown\n{TABLE}\n```"
    assert render(text) == text


def test_a_longer_fence_is_not_closed_by_a_shorter_one() -> None:
    text = f"````\n```\n{TABLE}\n````"
    assert render(text) == text


def test_bars_in_a_sentence_are_no_table() -> None:
    text = "either | or\nand that was it"
    assert render(text) == text


def test_white_space_around_the_text_is_left_out() -> None:
    """Discord drops it, and what it shows should be what was asked for."""
    assert render("\n\n  A heron.\n \n") == "A heron."


def test_what_counts_is_the_length_as_it_is_drawn() -> None:
    """The code block around a table takes room as well."""
    row = "| x | y |\n"
    text = "| a | b |\n|---|---|\n" + row * 198
    assert len(text.strip()) < SIZE < len(render(text))
    assert not fits(text)


def test_length_is_counted_in_code_points() -> None:
    assert fits("🦩" * SIZE)
    assert not fits("🦩" * (SIZE + 1))
