"""Whose a conversation is. Pure.

Adapters know the place of an event; what is said there belongs to all of them or, by setting, to each person apart.
"""

from dataclasses import replace
from typing import Literal

from clawdbot.chat import Conversation, Edited, Event, Message, Person, Typing

Groups = Literal["shared", "per_user"]
"""``[sessions] groups``."""


def settled(event: Event, groups: Groups) -> Event:
    """``event`` in the conversation that it belongs to.

    A control or a removal stays with its place alone: the answer that it is about may be to somebody else.
    """
    if groups == "shared":
        return event
    match event:
        case Message():
            return _own(event)
        case Edited():
            return replace(event, message=_own(event.message))
        case Typing():
            return replace(event, conversation=_of(event.conversation, event.by))
        case _:
            return event


def _own(message: Message) -> Message:
    return replace(message, conversation=_of(message.conversation, message.author))


def _of(where: Conversation, person: Person) -> Conversation:
    """The conversation of ``person`` there; a private chat is one person's anyhow, and keeps its key."""
    return where if where.private else replace(where, person=person.id)
