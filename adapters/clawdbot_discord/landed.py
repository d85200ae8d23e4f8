"""Which of a channel's messages a lost call has posted (pure).

Discord recognises a repeated nonce for a few minutes only and tells it to nobody later: messages that are read back
have none. What lasts is the key in the buttons of a growing answer; a message without buttons is known by its text.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import discord

from clawdbot_discord.controls import ids_of, key_of
from clawdbot_discord.render import without_footnote


@dataclass(frozen=True, slots=True)
class Sought:
    """What is known of a message that may be there."""

    author: int
    key: str
    """That of the part that it shows."""
    texts: frozenset[str]
    """One of them is what it says, as it was sent but for a footnote, if it has no buttons."""
    question: int
    """The message that it may point at; no other. 0 for none."""


def landed(messages: Iterable[discord.Message], sought: Sought) -> discord.Message | None:
    """The first of ``messages`` that is the one ``sought``."""
    return next((message for message in messages if _is(message, sought)), None)


def _is(message: discord.Message, sought: Sought) -> bool:
    if message.author.id != sought.author:
        return False
    if keys := _keys(message):
        return sought.key in keys
    said = {message.content, without_footnote(message.content)}
    return bool(said & sought.texts) and _answered(message) in (0, sought.question)


def _answered(message: discord.Message) -> int:
    return (message.reference.message_id if message.reference else None) or 0


def _keys(message: discord.Message) -> set[str]:
    return {key for id in ids_of(message) if (key := key_of(id))}
