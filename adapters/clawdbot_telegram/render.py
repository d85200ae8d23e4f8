"""Markdown as Telegram draws it: plain text and entities, measured in UTF-16 code units. Pure."""

import re
from dataclasses import dataclass
from functools import lru_cache

from telegram import MessageEntity
from telegramify_markdown import convert, utf16_len
from telegramify_markdown.config import RenderConfig
from telegramify_markdown.entity import MessageEntity as Drawing

from clawdbot_telegram.unnamed import names_in, unnamed

CACHED = 64
"""Texts whose drawing is remembered: a text is measured, sent and often sent again."""

LONGER_LINE, LONGER_MARK = 6, 8
"""How many units a line, and a mark among several at its beginning, can become longer when they are drawn: numbers of
items get more digits, an item in an item gets a line of its own, a rule of three signs is drawn with eight."""

UNSURE = re.compile(r"[|$\\]")
"""Tables and formulas can become anything."""

MARKS = re.compile(r"^[ \t]*((?:(?:[-*_+>]|\d+[.)])[ \t]*){2,})", re.MULTILINE)
STYLES = re.compile(r"[*_`~]")
"""An entity takes two of these at least."""

BOLD = re.compile(r"(?<!\S)\*\*(?=[^\s*`])[^*`\n]*(?<=\w)\*\*(?![\w*])")
"""Four of them that make one for certain."""

LINKS = re.compile(r"[\[<>]| {4}|\t")
"""One of these makes an entity: a link, a quote, indented code."""

HEADINGS = re.compile(r"(?<![^\s>])#{1,6}(?!\S)|[-=]\s*$", re.MULTILINE)
"""These make two: a heading is bold and underlined."""

DEEP = re.compile(r"(?P<indent>(?= {4}| *\t)[ \t]+)(?:(?:[-*+]|\d{1,9}[.)])[ \t]|`{3}|~{3})")
"""The beginning of a message that goes on with an inner list, or with code in it."""

SURROGATES = re.compile("[\ud800-\udfff]")

TAG = re.compile(r"<(?=[A-Za-z/!?](?!\w*://))")
"""The beginning of an HTML tag, but not of a link in angle brackets."""

EMPTY_LINK = re.compile(r"\[(?=\]\()")
"""The beginning of a link without a text."""

ADDRESS = re.compile(r"\](?=:)")
"""Part of an address that links elsewhere refer to: "[1]: address"."""

FORMULA = re.compile(
    r"(\$\$[^$]*[^$\s][^$]*\$\$|\$(?=[^\s$])(?:[^$\n]*[\\^_{}=][^$\n]*|[A-Za-z]\w?)(?<!\s)\$(?![\w$]))|\$"
)
"""A formula, as the only group; or a "$" that is none, as in "$5-$10", which would lose its signs."""

SPOILER = re.compile(r"(\|\|(?=[^\s|])[^|\n*_~`\[\]]*(?<=\S)\|\|)|\|(?=\|)")
"""Hidden text, as the only group; or bars that hide none, as in "a || b", after which the next such bars would."""

BELOW = "\n\n"
"""Between a text and its footnote."""

LESS, OPENING, CLOSING, DOLLAR, BAR = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3", "\ufdd4"
"""Stand for signs while the converter works: it would take a tag, an address, a price or an "or" for markup and drop
it. No text has these signs."""
SIGNS = str.maketrans({LESS: "<", OPENING: "[", CLOSING: "]", DOLLAR: "$", BAR: "|"})


@dataclass(frozen=True, slots=True)
class Drawn:
    """What goes to Telegram for a Markdown text."""

    text: str
    entities: tuple[MessageEntity, ...]

    @property
    def units(self) -> int:
        """The length of the text in UTF-16 code units."""
        return utf16_len(self.text)


def footed(drawn: Drawn, footnote: str) -> Drawn:
    """``drawn`` with ``footnote`` below it in italics, as it is written; Telegram has no smaller letters."""
    if not footnote:
        return drawn
    text = f"{drawn.text}{BELOW}{footnote}"
    italic = MessageEntity(MessageEntity.ITALIC, utf16_len(drawn.text + BELOW), utf16_len(footnote))
    return Drawn(text, (*drawn.entities, italic))


class Renderer:
    """Draws Markdown for messages of at most ``text_limit`` UTF-16 code units and ``entity_limit`` entities."""

    def __init__(self, text_limit: int, entity_limit: int) -> None:
        self._text_limit = text_limit
        self._entity_limit = entity_limit
        self._config = _plain_config()
        self.draw = lru_cache(CACHED)(self._draw)

    def fits(self, markdown: str) -> bool:
        """Whether one message has room for ``markdown``. 0.1 ms where it is plain, else a few milliseconds."""
        if len(markdown) > 4 * self._text_limit:
            return False
        if self._certainly_fits(markdown):
            return True
        drawn = self.draw(markdown)
        return drawn.units <= self._text_limit and len(drawn.entities) <= self._entity_limit

    def _certainly_fits(self, markdown: str) -> bool:
        """Whether it fits whatever its marks become: to draw a text to its end only for its length takes long."""
        longest = utf16_len(markdown) + LONGER_LINE * (markdown.count("\n") + 1)
        if longest > self._text_limit or UNSURE.search(markdown):
            return False
        longest += LONGER_MARK * sum(map(len, MARKS.findall(markdown))) + names_in(markdown)
        most = len(STYLES.findall(markdown)) / 2 - len(BOLD.findall(markdown))
        most += len(LINKS.findall(markdown)) + 2 * len(HEADINGS.findall(markdown))
        return longest <= self._text_limit and most <= self._entity_limit

    def _draw(self, markdown: str) -> Drawn:
        """Text without space at its end, which Telegram would cut.

        HTML tags, prices and lists of addresses are shown as they are written: an address may stand in another message
        than the links that refer to it.
        """
        sound = SURROGATES.sub("\ufffd", _outdented(markdown))
        text, drawings = convert(_guarded(sound), config=self._config)
        text = text.rstrip().translate(SIGNS)
        end = utf16_len(text)
        return Drawn(*unnamed(text, [_entity(one, end) for one in drawings if one.offset < end]))


def _guarded(markdown: str) -> str:
    """``markdown`` with `SIGNS` for what the converter should leave as it is written."""
    guarded = ADDRESS.sub(CLOSING, EMPTY_LINK.sub(OPENING, TAG.sub(LESS, markdown)))
    guarded = SPOILER.sub(lambda found: found[1] or BAR, guarded)
    return FORMULA.sub(lambda found: found[1] or DOLLAR, guarded)


def _outdented(markdown: str) -> str:
    """``markdown`` with its first block moved to the margin where it would be taken for indented code."""
    deep = DEEP.match(markdown)
    if deep is None:
        return markdown
    width = len(deep["indent"])
    lines = markdown.split("\n")
    in_code = False
    for number, line in enumerate(lines):
        own = len(line) - len(line.lstrip(" \t"))
        if line.strip() and own < width and not in_code:
            break
        lines[number] = line[min(own, width) :]
        in_code ^= lines[number].startswith(("```", "~~~"))
    return "\n".join(lines)


def _entity(drawing: Drawing, end: int) -> MessageEntity:
    length = min(drawing.length, end - drawing.offset)
    language = drawing.language and drawing.language.split()[0]
    return MessageEntity(drawing.type, drawing.offset, length, url=drawing.url, language=language)


def _plain_config() -> RenderConfig:
    """A configuration of our own, which nobody else can change; headings without pictures in front."""
    config = RenderConfig.isolated()
    symbols = config.markdown_symbol
    symbols.heading_level_1 = symbols.heading_level_2 = symbols.heading_level_3 = symbols.heading_level_4 = ""
    symbols.image = ""
    symbols.unordered_list_item = "•"
    return config
