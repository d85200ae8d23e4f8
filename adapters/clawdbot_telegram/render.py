"""Markdown as Telegram draws it: plain text and entities, measured in UTF-16 code units. Pure."""

import re
from dataclasses import dataclass
from functools import lru_cache

from telegram import MessageEntity
from telegramify_markdown import convert, utf16_len
from telegramify_markdown.config import RenderConfig
from telegramify_markdown.entity import MessageEntity as Drawing

CACHED = 64
"""Texts whose drawing is remembered: a text is measured, sent and often sent again."""

GROWTH = 4
"""How much longer a text without a table can become at most, in UTF-16 code units: a rule grows from 3 to 8."""

MARKS = re.compile(r"[*_`~|#>\[<\\$:@]|^ *[-=]|^ {4}|\t", re.MULTILINE)
"""What can make an entity, or two: a heading is bold and underlined."""

TAG = re.compile(r"<(?=[A-Za-z/!?](?!\w*://))")
"""The beginning of an HTML tag, but not of a link in angle brackets."""

ADDRESS = re.compile(r"\[(?=\]\(|[^\[\]\n]+\]:)")
"""The beginning of a link without a text, or of an address that links elsewhere refer to: "[1]: address"."""

LESS, BRACKET = "\ufdd0", "\ufdd1"
"""Stand for "<" and "[" while the converter works: it would take a tag or an address for markup and drop it. No text
has these signs."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What goes to Telegram for a Markdown text."""

    text: str
    entities: tuple[MessageEntity, ...]

    @property
    def units(self) -> int:
        """The length of the text in UTF-16 code units."""
        return utf16_len(self.text)


class Renderer:
    """Draws Markdown for messages of at most ``text_limit`` UTF-16 code units and ``entity_limit`` entities."""

    def __init__(self, text_limit: int, entity_limit: int) -> None:
        self._text_limit = text_limit
        self._entity_limit = entity_limit
        self._certain = text_limit // GROWTH
        self._config = _plain_config()
        self.draw = lru_cache(CACHED)(self._draw)

    def fits(self, markdown: str) -> bool:
        """Whether one message has room for ``markdown``. A few microseconds when it is short, else about 1 ms."""
        if len(markdown) > 4 * self._text_limit:
            return False
        short = len(markdown) <= self._certain and "|" not in markdown
        if short and 2 * len(MARKS.findall(markdown)) <= self._entity_limit:
            return True
        drawn = self.draw(markdown)
        return drawn.units <= self._text_limit and len(drawn.entities) <= self._entity_limit

    def _draw(self, markdown: str) -> Drawn:
        """Text without space at its end, which Telegram would cut.

        HTML tags and lists of addresses are shown as they are written: an address may stand in another message than
        the links that refer to it.
        """
        hidden = ADDRESS.sub(BRACKET, TAG.sub(LESS, markdown))
        text, drawings = convert(hidden, config=self._config)
        text = text.rstrip().replace(LESS, "<").replace(BRACKET, "[")
        end = utf16_len(text)
        return Drawn(text, tuple(_entity(one, end) for one in drawings if one.offset < end))


def _entity(drawing: Drawing, end: int) -> MessageEntity:
    length = min(drawing.length, end - drawing.offset)
    return MessageEntity(drawing.type, drawing.offset, length, url=drawing.url, language=drawing.language)


def _plain_config() -> RenderConfig:
    """A configuration of our own, which nobody else can change; headings without pictures in front."""
    config = RenderConfig.isolated()
    symbols = config.markdown_symbol
    symbols.heading_level_1 = symbols.heading_level_2 = symbols.heading_level_3 = symbols.heading_level_4 = ""
    symbols.image = ""
    symbols.unordered_list_item = "•"
    return config
