"""How Markdown looks on Telegram, and whether it fits."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawdbot_telegram.place import Place
from clawdbot_telegram.render import Renderer

MIXED = """# Herons 🪶

A **heron** is a *bird* that `waits`, see [the page](https://example.org/heron_(bird)) or <https://example.org>.

- one
  - two ~~three~~
1. first

| name | legs |
|------|------|
| grey heron | 2 |

> said by somebody

```python
for bird in birds:
    print(f"<b>{bird}</b>")
```

x < y, use <br> here, אבג and 👩‍👩‍👧 end
---
"""

DENSE = [
    *("# a\n", "a\n-\n", "a\n=\n", "---\n\n", "- [x] a\n", "> a\n\n", "```\na\n```\n", "\n\n    a\n\n", "\n\n\ta\n\n"),
    *("**a** ", "*a*`b`", "||a||", "~~a~~", "$a$ ", "[a](b:c) ", "![a](b) ", "http://a.bc ", "a@b.co ", "<b>a</b>"),
    *(
        "😀",
        "\n",
        "1. a\n",
        "- 1. a\n",
        "- > a\n",
        "* * *\n",
        "    - a\n",
        "-     a\n",
        "> # a\n",
        "_a_",
        "__a__",
        "<a:b>",
    ),
    *(" **a b** ", "**a", "** ", "a**", "*", "**a**b", "_", "`"),
    *("- # a\n", "1. a\n-\n", "a\n==\n", "~a~ ", "word ", "\r\n", "&amp;", "a  \n", "[a", "](b)"),
]
"""Much markup in little text."""


@pytest.fixture
def renderer() -> Renderer:
    return Renderer(4096, 100)


@pytest.mark.parametrize(
    ("markdown", "text", "kinds"),
    [
        ("**bold** and `code`", "bold and code", ["bold", "code"]),
        ("# Head\ntext", "Head\ntext", ["bold", "underline"]),
        ("- a\n- b", "• a\n• b", []),
        ("[a](https://example.org)", "a", ["text_link"]),
        ("```py\nx = 1\n```", "x = 1", ["pre"]),
        ("1. a (b)! - c.", "1. a (b)! - c.", []),
    ],
)
def test_marks_become_entities(renderer: Renderer, markdown: str, text: str, kinds: list[str]) -> None:
    drawn = renderer.draw(markdown)
    assert (drawn.text, sorted(entity.type for entity in drawn.entities)) == (text, kinds)


@pytest.mark.parametrize(
    ("markdown", "text", "kinds"),
    [
        ("    - inner\n    - next\n- outer", "• inner\n• next\n• outer", []),
        ("\t1. inner\n\t   - next", "1. inner\n  • next", []),
        ("      ```py\n      x = 1\n      ```\n   more", "x = 1\nmore", ["pre"]),
        ("      ```py\nx = 1\n      ```", "x = 1", ["pre"]),
        ("    x = 1", "x = 1", ["pre"]),
    ],
)
def test_message_that_goes_on_in_an_inner_list_is_no_code(
    renderer: Renderer, markdown: str, text: str, kinds: list[str]
) -> None:
    """Its indent, which the list gave a meaning to, would make code of it; code that is indented by itself stays."""
    drawn = renderer.draw(markdown)
    assert (drawn.text, [entity.type for entity in drawn.entities]) == (text, kinds)


@pytest.mark.parametrize("info", ["python", "python title='a b'", " python {1,3}"])
def test_code_has_its_language_and_nothing_else(renderer: Renderer, info: str) -> None:
    (code,) = renderer.draw(f"```{info}\nx = 1\n```").entities
    assert code.language == "python"


@pytest.mark.parametrize(
    ("markdown", "text", "entities"),
    [
        ("[ping](tg://user?id=1) it", "ping it", []),
        ("[a](TG://resolve?domain=b)", "a", []),
        ("😀 @ada and **@bob_b**", "😀 @\u2060ada and @\u2060bob_b", [("bold", 13, 7)]),
        ("**bold** @ada", "bold @\u2060ada", [("bold", 0, 4)]),
        ("`@ada` and\n```\n@property\n```", "@ada and\n@property", [("code", 0, 4), ("pre", 9, 9)]),
        ("mail a@example.org, @ home", "mail a@example.org, @ home", []),
    ],
)
def test_nobody_is_called(renderer: Renderer, markdown: str, text: str, entities: list[tuple[str, int, int]]) -> None:
    """Telegram would ring at the door of whoever a text names by "@" or by a link to an account."""
    drawn = renderer.draw(markdown)
    assert (drawn.text, [(one.type, one.offset, one.length) for one in drawn.entities]) == (text, entities)


def test_names_are_counted_where_a_text_is_measured(renderer: Renderer) -> None:
    """Each becomes a unit longer."""
    names = "@ada " * 720
    assert [renderer.fits(names), renderer.fits(names[:3000])] == [False, True]


def test_half_a_character_is_shown_as_a_broken_one(renderer: Renderer) -> None:
    assert renderer.draw("a\ud83d").text == "a\ufffd"


@pytest.mark.parametrize("markdown", ["", "```", "```py", "> ", "\n\n", "#"])
def test_some_texts_show_nothing(renderer: Renderer, markdown: str) -> None:
    assert renderer.draw(markdown).text == ""


@pytest.mark.parametrize("tag", ["<br>", "</p>", "<b>bold</b>", "<!-- note -->", "<script src='x'>"])
def test_html_is_shown_as_it_is_written(renderer: Renderer, tag: str) -> None:
    """The converter takes tags for markup and drops them; an answer about HTML would lose its subject."""
    assert renderer.draw(f"Write {tag} here.").text == f"Write {tag} here."


@pytest.mark.parametrize(
    "code", ["`<br>`", "``<br>``", "```html\n<br>\n```", "~~~\n<br>\n~~~", "```\n<br>", "    <br>"]
)
def test_tags_in_code_are_shown_too(renderer: Renderer, code: str) -> None:
    drawn = renderer.draw(code)
    assert (drawn.text, len(drawn.entities)) == ("<br>", 1)


@pytest.mark.parametrize(
    "markdown",
    [
        "[1]: https://example.org",
        "See [the page][1].\n\n[1]: https://example.org 'Herons'",
        "> [1]: https://example.org",
        "[\n[1]: https://example.org",
        "[the\npage]: https://example.org",
        "- [page]:\n  https://example.org",
        "[](https://example.org)",
        "![](https://example.org)",
        "```\n[1]: https://example.org\n```",
    ],
)
def test_no_address_is_swallowed(renderer: Renderer, markdown: str) -> None:
    """A list of sources at the end of an answer often stands in another message than what refers to it."""
    drawn = renderer.draw(markdown)
    assert "https://example.org" in drawn.text
    assert "\\" not in drawn.text


@pytest.mark.parametrize(
    "text",
    ["It costs $5-$10.", "Set $HOME/bin:$PATH first.", "US$5/US$6", "$$$$", "$$", "5$", "$1, $2 and $3", "$a b$"],
)
def test_prices_and_names_keep_their_signs(renderer: Renderer, text: str) -> None:
    """Between two of them the converter would see a formula."""
    assert renderer.draw(text).text == text


@pytest.mark.parametrize("text", ["a || b", "if a || b\n\nor c || d", "||", "|||| a", "||a\n\nb||"])
def test_bars_in_a_text_hide_nothing(renderer: Renderer, text: str) -> None:
    """The converter takes all between two pairs of them for a spoiler, over paragraphs and across other styles."""
    drawn = renderer.draw(text)
    assert (drawn.text, [entity.type for entity in drawn.entities if entity.type == "spoiler"]) == (text, [])


def test_a_spoiler_is_hidden(renderer: Renderer) -> None:
    (hidden,) = renderer.draw("It was ||the butler||.").entities
    assert (hidden.type, hidden.offset, hidden.length) == ("spoiler", 7, 10)


@pytest.mark.parametrize(
    ("formula", "text"), [("$x$", "x"), ("$a^2 + b^2 = c^2$", "a² + b² = c²"), ("$$x + y$$", "x + y")]
)
def test_formulas_are_told_from_prices(renderer: Renderer, formula: str, text: str) -> None:
    (drawn,) = renderer.draw(f"So {formula} is it.").entities
    assert (renderer.draw(f"So {formula} is it.").text, drawn.offset) == (f"So {text} is it.", 3)


@pytest.mark.parametrize("code", ["`echo $A$B`", "```sh\necho $A-$B\n```"])
def test_signs_in_code_stay_too(renderer: Renderer, code: str) -> None:
    assert renderer.draw(code).text in ("echo $A$B", "echo $A-$B")


def test_a_link_in_angle_brackets_stays_a_link(renderer: Renderer) -> None:
    (link,) = renderer.draw("<https://example.org>").entities
    assert link.url == "https://example.org"


def test_every_beginning_of_a_text_can_be_drawn(renderer: Renderer) -> None:
    """A growing answer shows all of them: entities lie in the text and cover whole signs, counted in UTF-16 units."""
    for end in range(len(MIXED) + 1):
        drawn = renderer.draw(MIXED[:end])
        raw = drawn.text.encode("utf-16-le")
        for entity in drawn.entities:
            part = raw[2 * entity.offset : 2 * (entity.offset + entity.length)]
            assert len(part) == 2 * entity.length > 0
            part.decode("utf-16-le")
        assert drawn.text == drawn.text.rstrip()


@given(st.text(alphabet=st.sampled_from("ab 1.*_`~|#>[]()<\\$-\n😀é"), max_size=60))
def test_any_text_can_be_drawn(markdown: str) -> None:
    drawn = Renderer(4096, 100).draw(markdown)
    assert all(0 <= one.offset < one.offset + one.length <= drawn.units for one in drawn.entities)


class TestFits:
    def test_the_drawn_text_is_measured(self, renderer: Renderer) -> None:
        """The address of a link takes no room."""
        link = "[a](https://example.org/" + "b" * 60 + ") "
        assert renderer.fits(link * 90)

    def test_utf16_units_count(self, renderer: Renderer) -> None:
        assert renderer.fits("😀" * 2048)
        assert not renderer.fits("😀" * 2048 + "x")

    def test_no_more_than_a_hundred_entities(self, renderer: Renderer) -> None:
        """Telegram ignores the rest in silence."""
        assert renderer.fits("**b** " * 100)
        assert not renderer.fits("**b** " * 101)

    @pytest.mark.parametrize("size", [10, 1000, 4096, 40_000])
    def test_it_agrees_with_the_drawing(self, renderer: Renderer, size: int) -> None:
        for text in ("word " * (size // 5), "😀" * size, "---\n\n" * (size // 5), "| a | b |\n|-|-|\n| c | d |\n" * 9):
            drawn = renderer.draw(text)
            if len(text) <= 4 * 4096:
                assert renderer.fits(text) == (drawn.units <= 4096 and len(drawn.entities) <= 100)
            else:
                assert not renderer.fits(text)

    @given(st.lists(st.sampled_from(DENSE), min_size=5, max_size=200).map("".join), st.integers(1, 512))
    def test_what_is_taken_for_certain_is_true(self, markdown: str, length: int) -> None:
        """Short texts are not drawn to be measured; then they have to fit whatever is in them."""
        renderer = Renderer(300, 20)
        text = markdown[:length]
        if renderer.fits(text):
            drawn = renderer.draw(text)
            assert drawn.units <= 300
            assert len(drawn.entities) <= 20

    @pytest.mark.parametrize("text", ["\t" * 4000 + "x", "\t " * 2000, " " * 4000 + "x"])
    def test_white_space_is_read_once(self, renderer: Renderer, text: str) -> None:
        """Each way to part it was tried: 0.8 s of everybody's time for one message."""
        started = time.thread_time()
        renderer.draw(text)
        assert time.thread_time() - started < 0.1

    def test_a_full_message_is_measured_in_a_few_milliseconds(self, renderer: Renderer) -> None:
        text = (MIXED * 12)[:4000]
        started = time.perf_counter()
        for at in range(20):
            renderer.fits(text + str(at))
        assert (time.perf_counter() - started) / 20 < 0.05


def test_a_place_comes_back_from_its_ref() -> None:
    assert Place.of(Place(-100, 3, 5).ref) == Place(-100, 3, 5)
