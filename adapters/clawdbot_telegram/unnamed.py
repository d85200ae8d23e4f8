"""Takes out of a drawn text what would call people: an answer names them and does not ring at their doors. Pure."""

import re
from collections.abc import Collection, Sequence
from itertools import accumulate

from telegram import MessageEntity

JOINER = "\u2060"
"""Is not seen, takes no room, and keeps Telegram from reading the name behind an "@"."""

NAME = re.compile(r"(?<!\w)@(?=[A-Za-z0-9_])")
CODE = (MessageEntity.CODE, MessageEntity.PRE)
"""Telegram looks for no names in these."""


def names_in(markdown: str) -> int:
    """How many names there are at most, each of which makes the text one UTF-16 code unit longer."""
    return len(NAME.findall(markdown))


def unnamed(text: str, entities: Sequence[MessageEntity]) -> tuple[str, tuple[MessageEntity, ...]]:
    """``text`` in which "@name" is but text, without the links that Telegram takes for people ("tg://user?id=1")."""
    kept = [entity for entity in entities if not (entity.url or "").lower().startswith("tg:")]
    ends = [name.end() for name in NAME.finditer(text)]
    if not ends:
        return text, tuple(kept)
    code = [(entity.offset, entity.offset + entity.length) for entity in kept if entity.type in CODE]
    units = [0, *accumulate(1 + (sign > "\uffff") for sign in text)]
    found = {units[end] for end in ends if not _inside(units[end], code)}
    pieces = NAME.split(text)
    marked = pieces[0] + "".join(
        f"@{JOINER if units[end] in found else ''}{piece}" for end, piece in zip(ends, pieces[1:], strict=True)
    )
    return marked, tuple(_moved(entity, found) for entity in kept)


def _inside(at: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start < at < end for start, end in spans)


def _moved(entity: MessageEntity, joiners: Collection[int]) -> MessageEntity:
    """``entity`` in the text that has a joiner at each of these places of the former one."""
    end = entity.offset + entity.length
    before = sum(at <= entity.offset for at in joiners)
    within = sum(entity.offset < at <= end for at in joiners)
    return MessageEntity(
        entity.type, entity.offset + before, entity.length + within, url=entity.url, language=entity.language
    )
