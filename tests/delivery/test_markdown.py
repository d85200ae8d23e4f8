"""What may be shown of Markdown that is not finished."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawdbot.chat import State
from clawdbot.delivery.blocks import open_fence
from clawdbot.delivery.markdown import heal, marked, showable, shows, visible
from clawdbot.words import EMPTY

MIXED = """# Title

Some **bold**, *italic*, ~~struck~~ and `code`, a [link](https://example.org/a_b) and 2 * 3 = 6.

- one **item**
  - nested `item`
1. first

> quoted

| a | b |
| --- | --- |
| 1 | **2** |

```python
x = "**not bold**"
```

Last *words*."""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("This is **bo", "This is **bo**"),
        ("This is **bold*", "This is **bold**"),
        ("This is **bold **", "This is **bold**"),
        ("This is *it", "This is *it*"),
        ("***both", "***both***"),
        ("**bold and *both", "**bold and *both***"),
        ("~~gone", "~~gone~~"),
        ("Run `ls -l", "Run `ls -l`"),
        ("Run ``ls ` -l", "Run ``ls ` -l``"),
        ("This is _it", "This is _it_"),
        ("__bold and _both", "__bold and _both___"),
        ("a snake_case_name", "a snake_case_name"),
        ("**bold _both_ **", "**bold _both_**"),
        ("~~gone~", "~~gone~~"),
        ("**Run `ls", "**Run `ls`**"),
        ("**bold** and `code` end", "**bold** and `code` end"),
        ("Words **", "Words"),
        ("Words `", "Words"),
        ("5 * 3 and 2*3", "5 * 3 and 2*3"),
        ("* item", "* item"),
        (r"\*no *yes", r"\*no *yes*"),
        ("**bold\\", "**bold**"),
        ("`**code**` **b", "`**code**` **b**"),
        ("> ```\n> x\nafter **b", "> ```\n> x\nafter **b**"),
        ("- **open\n- next", "- **open\n- next"),
        ("**open\n\nnext", "**open\n\nnext"),
    ],
)
def test_open_styles_are_closed(text: str, shown: str) -> None:
    """In the last block and outside code; a sign of its own, an item's star and a product are left alone."""
    assert heal(text) == shown


@pytest.mark.parametrize(
    "end",
    [
        "\n-",
        "\n- ",
        "\n--",
        "\n=",
        "\n===",
        "\n#",
        "\n## ",
        "\n>",
        "\n> ",
        "\n1.",
        "\n12) ",
        "\n*",
        "\n+",
        "\n`",
        "\n``",
        "\n~",
    ],
)
def test_mark_that_has_no_text_yet_is_left_out(end: str) -> None:
    """It would show as an empty item, or make a heading of the line above."""
    assert heal(f"Words{end}") == "Words"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("See [the page](htt", "See the page"),
        ("See [the pa", "See the pa"),
        ("See [the page](http://a.b)", "See [the page](http://a.b)"),
        ("See ![a picture](htt", "See"),
        ("items[0", "items[0"),
    ],
)
def test_unfinished_link_is_its_text(text: str, shown: str) -> None:
    assert heal(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("```py\nx = 1", "```py\nx = 1\n```"),
        ("~~~~\nx = 1", "~~~~\nx = 1\n~~~~"),
        ("```py\nx = 1\n``", "```py\nx = 1\n```"),
        ("```py\nx = 1\n```", "```py\nx = 1\n```"),
        ("```py\n**x", "```py\n**x\n```"),
        ("1. one\n   ```py\n   x", "1. one\n   ```py\n   x\n   ```"),
        ("> ```\n> x", "> ```\n> x\n> ```"),
        ("Words\n\n```py", "Words"),
        ("Words\n\n```py\n", "Words"),
        ("````md\n```py\nx\n```\nand", "````md\n```py\nx\n```\nand\n````"),
    ],
)
def test_open_code_block_is_closed_and_an_empty_one_left_out(text: str, shown: str) -> None:
    assert heal(text) == shown


def test_table_shows_without_half_of_its_delimiter_row() -> None:
    assert heal("| a | b |\n| --- | -") == "| a | b |"


def test_finished_text_needs_no_healing() -> None:
    assert heal(MIXED) == MIXED


@pytest.mark.parametrize("end", range(len(MIXED)))
def test_every_beginning_of_a_text_is_closed(end: int) -> None:
    """No code block stays open, and healing what was healed changes nothing."""
    shown = heal(MIXED[:end])
    assert open_fence(shown)[0] is None
    assert heal(shown) == shown


@settings(max_examples=300)
@given(
    st.lists(
        st.sampled_from(
            ["a", " ", "\n", "*", "**", "`", "```", "~~~", "~~", "[", "](", ")", "- ", "> ", "#", "\\", "="]
        )
    )
)
def test_no_text_breaks_it(scraps: list[str]) -> None:
    text = "".join(scraps)
    assert open_fence(heal(text))[0] is None
    assert showable(text) <= 2


@pytest.mark.parametrize("scrap", ["** ", "-\n", "[", "[a](b ", "`", "~ ", "> ", "```\n", " ", "*a ", "|\n"])
def test_model_that_repeats_itself_is_no_trouble(scrap: str) -> None:
    """Thousands of the same mark cost no recursion and no quadratic time."""
    assert len(heal(f"Words {scrap * 4000}.")) >= 6
    assert len(heal(f"Words {scrap * 4000}")) >= 5


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<think>Let me see.</think>\n\nHello", "Hello"),
        ("<thinking>Let me see.</thinking>Hello", "Hello"),
        ("<think>Let me see", ""),
        ("<think>a</think><think>b</think>Hello", "Hello"),
        ("<reasoning>Let me see.</reasoning>\nHello", "Hello"),
        ("<Think>Let me see.</Think>Hello", "Hello"),
        ("<think>a<think>b</think>c</think>Hello", "Hello"),
        ("<think>They ask for <think> tags.</think>Hello", "Hello"),
        ("<think>a <thinking> b</think>Hello", "Hello"),
        ("Okay, they greet me.\n</think>\n\nHello", "Hello"),
        ("Okay.\n</think>\n\nHello <think>hm</think>there", "Hello there"),
        ("```xml\n</think>\n```", "```xml\n</think>\n```"),
        ("<think>a</think>The tag </think> ends it.", "The tag </think> ends it."),
        ("1. ```xml\n   <think>x</think>\n   ```", "1. ```xml\n   <think>x</think>\n   ```"),
        ("Hello\n<think>again</think>\nthere", "Hello\n\nthere"),
        ("a < b", "a < b"),
        ("Write `<think>` first", "Write `<think>` first"),
        ("```xml\n<think>x</think>\n```", "```xml\n<think>x</think>\n```"),
        ("<thinker>", "<thinker>"),
        ("Hello <", "Hello <"),
    ],
)
def test_thoughts_are_hidden(text: str, shown: str) -> None:
    """Also when they never end; in code the tag is a word like any other."""
    assert visible(text) == shown


@pytest.mark.parametrize("end", ["<", "<th", "<think", "<thinkin", "<reason", "<TH"])
def test_beginning_of_the_tag_is_hidden_while_the_text_grows(end: str) -> None:
    assert visible(f"Hello {end}", growing=True) == "Hello "


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        (" \n\t", 0),
        ("**", 0),
        ("#", 0),
        ("# ", 0),
        ("- ", 0),
        ("> ", 0),
        ("```python", 0),
        ("```python\nx", 1),
        ("I", 1),
        ("**I", 1),
        ("- a", 1),
        ("I'", 2),
        ("42", 2),
        ("1. A", 1),
        ("👍🏽", 2),
        ("你", 1),
        ("\u200b\u0301", 0),
        ("A long text", 2),
    ],
)
def test_characters_that_a_reader_sees_are_counted_to_two(text: str, count: int) -> None:
    assert showable(text) == count


@pytest.mark.parametrize("text", ["", "```", "> ", "-", "*", "1.", "``` ```", "```py\n```", "\n\n", "> ```\n>\n> ```"])
def test_finished_text_that_shows_nothing_is_told_from_one_that_does(text: str) -> None:
    assert not shows(text)
    assert marked(text, State.FINAL) == EMPTY


@pytest.mark.parametrize("text", ["5", "?", "x = 1", "> ```\nafter", "你", "```\n=\n```", "***", "*" * 50, "__", "\\"])
def test_short_finished_text_is_shown(text: str) -> None:
    assert shows(text)
    assert marked(text, State.FINAL) == text


def test_code_block_that_the_model_left_open_is_closed() -> None:
    """Discord shows its marks instead of a block; the mark of a stopped answer would stand in it."""
    assert marked("```py\nx = 1", State.FINAL) == "```py\nx = 1\n```"
    assert marked("> ```py\n> x = 1\n\n", State.FINAL) == "> ```py\n> x = 1\n> ```"
    assert marked("```py\nx = 1", State.STOPPED).startswith("```py\nx = 1\n```\n\n")
