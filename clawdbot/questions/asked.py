"""A question on its way to an answer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from PIL.Image import Image

from clawdbot.chat import Message, Reply
from clawdbot.sessions.ticket import Ticket
from clawdbot.store import Answer, Unfinished


@dataclass(frozen=True, slots=True)
class Asked:
    """A stored question that is to be answered, or its answer to be delivered."""

    number: int
    """The id of its reply in the store."""
    message: Message
    reply: Reply
    ticket: Ticket
    posts: Sequence[str | None] | None = None
    """The messages that were put up before, perhaps none, as `LiveReply` takes them; None at the first try."""
    begun: Answer | None = None
    """An interrupted answer that is to be continued."""
    revised: bool = False
    """Whether it was asked for anew: its time says nothing about how fast questions are answered."""
    pictures: tuple[Image, ...] = ()
    """Those that came along, as soon as they were read."""

    @classmethod
    def of(cls, left: Unfinished, reply: Reply, ticket: Ticket, *, unfinished: bool = False, album: str = "") -> Self:
        """What there is of it in the store, to be answered; ``unfinished``, ``album``: how the question may go on."""
        message = replace(left.question.message, unfinished=unfinished, album=album)
        return cls(left.reply, message, reply, ticket, left.posts, revised=left.revised)
