"""The vocabulary that adapters and core share: what can happen in a chat and what can be shown in it.

An adapter turns its platform's events into `Event`s and calls `Receive` with them; the core answers through the
`Reply` that came along. Text is Markdown everywhere here; drawing it is the adapter's affair.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel

from clawdbot.attached import Attachment
from clawdbot.limits import Bucket as Bucket
from clawdbot.limits import Drafts as Drafts
from clawdbot.limits import Limits as Limits
from clawdbot.limits import Pace as Pace
from clawdbot.limits import Rate as Rate


@dataclass(frozen=True, slots=True)
class Conversation:
    """What people and the bot say in one place, or what one person and the bot say there; it has its own history."""

    platform: str
    """The adapter's name: "discord", "telegram", "console"."""
    chat: int
    """The platform's number of the channel, group or private chat."""
    topic: int = 0
    """The number of a Telegram forum topic; 0 where there is none. A Discord thread is a chat of its own."""
    private: bool = False
    """Whether only one person and the bot are there."""
    guild: int = 0
    """The Discord guild, 0 elsewhere."""
    person: int = 0
    """Whose it is, in company where each has their own; 0: it belongs to all who are there. The core sets it."""

    @property
    def place(self) -> str:
        """Where it is: the same for all conversations there. Messages of the place are looked up by it."""
        return f"{self.platform}:{self.chat}:{self.topic}"

    @property
    def key(self) -> str:
        """What the conversation is stored under: its place, and behind that whose it is."""
        return f"{self.place}:{self.person}" if self.person else self.place


def place_of(key: str) -> str:
    """The `Conversation.place` of a `Conversation.key`."""
    return ":".join(key.split(":")[:3])


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody on a platform. Only ``id`` identifies; ``name`` is what they call themselves."""

    id: int
    name: str
    owner: bool = False
    """Whether the adapter vouches that it is the bot's owner: they sit at the machine itself."""
    roles: frozenset[int] = frozenset()
    """The roles that they have where the event is from; only Discord's servers have any."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """The message, or the part of one, that a message replies to, as far as the platform sent it along."""

    name: str
    """What its author calls themselves; empty where that is not known."""
    text: str
    own: bool = False
    """Whether it is the bot's."""
    post: str = ""
    """`Post.ref`, up to a "/", of a message of the bot's that is quoted as a whole; empty for all others."""


@dataclass(frozen=True, slots=True)
class Message:
    """What is addressed to the bot: a private message, a mention, a reply to the bot, or a command ("/latency")."""

    id: str
    """Unique on its platform and the same when the platform delivers it again."""
    conversation: Conversation
    author: Person
    text: str
    """Without the mention of the bot; commands as "/name arguments", without "@botname"."""
    received_at: float
    """When the adapter got it, seconds of `Clock.now`."""
    sent_at: float | None = None
    """When the platform says it was posted, or edited, seconds since the epoch by the platform's clock."""
    quoted: Quoted | None = None
    """What it replies to; None when that has no text or did not come along."""
    files: tuple[Attachment, ...] = ()
    beside: tuple[str, ...] = ()
    """What else it is that is neither text nor file, in words: "a sticker"."""
    album: str = ""
    """The same for all messages that the platform made of one; they are one question."""
    version: str = ""
    """Names this version of an edited text, the same when it is delivered again; "" for the first one."""
    unfinished: bool = False
    """Whether the text may go on in the next message: it is as long as the platform lets people write."""
    continues: str = ""
    """`Message.id` of the first part of a text that the platform's client cut in pieces; "" for a text of its own."""
    joint: str = ""
    """What the client lost between that text and this one, such as a line break."""

    @property
    def event(self) -> str:
        """What the event is remembered by, so that one that is delivered again is recognised."""
        return f"{self.id}~{self.version}" if self.version else self.id


@dataclass(frozen=True, slots=True)
class Edited:
    """The author changed the text of an earlier message."""

    message: Message
    """As it is now, with its `Message.version`."""
    addressed: bool = True
    """Whether it is said to the bot; what is not is of interest only where it is part of a question."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """A message was removed; ``message_id`` is its `Message.id`."""

    conversation: Conversation
    """Where; whose it is plays no part."""
    message_id: str


@dataclass(frozen=True, slots=True)
class Pressed:
    """Somebody used a control that the adapter drew on an answer."""

    conversation: Conversation
    """Where; the answer may be to somebody else than the one who pressed."""
    by: Person
    control: str
    """"stop", "regenerate" (write it anew) or "continue"."""
    post: str
    """`Post.ref` of the message that carries the control, up to a "/"; `Reply.ref` when a draft carries it."""


@dataclass(frozen=True, slots=True)
class Typing:
    """Somebody started to type."""

    conversation: Conversation
    by: Person


@dataclass(frozen=True, slots=True)
class Migrated:
    """A chat has another number from now on: it is one chat for people, and all that is known of it goes along."""

    conversation: Conversation
    """Where it was; whose it is plays no part."""
    to: Conversation


Event = Message | Edited | Deleted | Pressed | Typing | Migrated


class State(StrEnum):
    """What an answer is while a frame of it is shown; each platform draws its controls from it.

    "stop" belongs below a frame that is waiting or streaming, "continue" below one that is interrupted, "regenerate"
    below one that is final or stopped.
    """

    WAITING = "waiting"
    """No text yet: the frame is a notice that says what is being waited for."""
    STREAMING = "streaming"
    FINAL = "final"
    STOPPED = "stopped"
    """A person stopped it; what is shown stays."""
    INTERRUPTED = "interrupted"
    """A fault or a restart cut it short; the control "continue" lets it go on."""
    FAILED = "failed"
    """There is no answer, only a sentence that says so."""
    NOTICE = "notice"
    """It is no answer: something that the bot says about itself."""

    @property
    def lasting(self) -> bool:
        """Whether this is the last state: its frame has to reach the screen."""
        return self not in (State.WAITING, State.STREAMING)


@dataclass(frozen=True, slots=True)
class File:
    """Something to attach."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Frame:
    """All that one of the platform's messages should show: whole text every time, so that it can be repeated."""

    text: str
    state: State
    files: tuple[File, ...] = ()
    private: bool = False
    """Only for the asker's eyes, where the platform can do that."""
    last: bool = True
    """Whether this is the answer's last message so far; only that one carries controls."""
    footnote: str = ""
    """A line about the answer that is no part of its text: drawn small below it, plain characters as they are, where
    it takes no more room than a paragraph in italics."""


class Post(Protocol):
    """One message of the bot's on a platform."""

    @property
    def ref(self) -> str:
        """Names it within its `Reply`; can be stored. It may be another one after an edit; both name the same.

        What stands behind a "/" is the adapter's own affair: events name the message by what is before it.
        """
        ...

    async def edit(self, frame: Frame) -> None:
        """Show ``frame`` instead. Returns when the platform has acknowledged it; a text that is already there counts.

        Raises `DeliveryError`.
        """
        ...


class Reply(Protocol):
    """Where one answer goes: it knows chat, topic and the message that is answered."""

    @property
    def ref(self) -> str:
        """Brings the same reply back through `Adapter.reply`; can be stored."""
        ...

    @property
    def limits(self) -> Limits:
        """What the platform allows there; the same object, or an equal one, every time."""
        ...

    async def send(self, frame: Frame, key: str) -> Post:
        """Post a new message. ``key`` is the same for every try of the same part (25 characters at most).

        Raises `DeliveryError`.
        """
        ...

    def post(self, ref: str) -> Post:
        """The message that an earlier `send` returned, by its ``ref``."""
        ...

    async def typing(self) -> None:
        """Show "typing" for the few seconds that the platform gives it. Raises `DeliveryError`."""
        ...


@runtime_checkable
class Drafting(Protocol):
    """What a `Reply` may be besides: one that shows a growing text as a draft, whose message is sent at the end."""

    @property
    def drafts(self) -> Drafts | None:
        """None where there are none. It may become None at any time: then the text grows by edits of a message."""
        ...

    async def draft(self, frame: Frame) -> None:
        """Show ``frame`` as the draft, in place of the one before; the next `Reply.send` takes it away.

        A crash does so, too, and nothing is left. Raises `DeliveryError`.
        """
        ...


Receive = Callable[[Event, Reply], Awaitable[None]]
"""Hands an event to the core, which owns all that follows. Returns at once; what it returns is done when the event is
durable (or refused for good) and the platform may be told that it was received. It is cancelled when the bot ends
before that, and raises nothing else. Waiting for it is optional."""


class Adapter(Protocol):
    """One platform."""

    async def run(self, receive: Receive) -> None:
        """Serve until cancelled. Raises `AdapterError` when the platform cannot be served; may be called again."""
        ...

    def reply(self, ref: str) -> Reply:
        """Where an unfinished answer goes, after a restart; usable while `run` runs.

        Raises `Gone` when nobody waits for it any more, ValueError for what is no `Reply.ref` of this adapter.
        """
        ...


@runtime_checkable
class CatchesUp(Protocol):
    """An adapter whose platform keeps what was said while the bot was away, but does not say where to look."""

    def catch_up(self, chats: Sequence[Conversation]) -> None:
        """Take the private ``chats`` of earlier runs, the latest first; what is new in them is fetched by `run`."""
        ...


@dataclass(frozen=True, slots=True)
class Account:
    """What a platform says about the bot."""

    name: str
    """By which people know it there."""
    notes: tuple[str, ...] = ()
    """What is good to know, as sentences."""
    doubts: tuple[str, ...] = ()
    """What is set there and is hardly meant: sentences that say what to do."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """What an entry point of the group ``clawdbot.adapters`` names: a platform that can be configured."""

    settings: type[BaseModel]
    """Validates the table ``[adapters.NAME]``; its field ``token`` is filled from CLAWDBOT_NAME_TOKEN.

    Where that is required and missing, the bot does not start; the field's ``description`` says how to get one."""
    build: Callable[[Any], Adapter]
    """Takes an instance of ``settings``. Must not block or connect."""
    check_token: Callable[[Any], object] | None = None
    """Takes an instance of ``settings``. Raises `Unauthorized` when its token cannot be one; asks nobody."""
    account: Callable[[Any], Awaitable[Account]] | None = None
    """Takes an instance of ``settings`` and asks the platform whose token that is, changing nothing.

    Raises `Unauthorized`, `Unreachable` when there was no connection, `Unsure` when no answer came in time, or another
    `DeliveryError`; no text of these holds the token."""
    owners: bool = False
    """Whether everybody there is the bot's owner (`Person.owner`), so that nobody has to be listed."""
    hosted: bool = False
    """Whether people come through the bot's own web server: it builds a `clawdbot.hosted.Hosted`."""
