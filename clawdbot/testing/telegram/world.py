"""What exists on the simulated Telegram: people, chats, topics and messages, with all that each message ever showed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from clawdbot.chat import File
from clawdbot.clock import Clock
from clawdbot.testing.telegram.files import Files, Sent
from clawdbot.testing.telegram.wire import Json


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with an account, or a bot."""

    id: int
    name: str
    username: str = ""
    is_bot: bool = False

    def json(self) -> Json:
        """As the Bot API's ``User``."""
        named = {"username": self.username} if self.username else {}
        return {"id": self.id, "is_bot": self.is_bot, "first_name": self.name, **named}


class Kind(StrEnum):
    """What a chat is."""

    PRIVATE = "private"
    GROUP = "group"
    SUPERGROUP = "supergroup"


@dataclass(frozen=True, slots=True)
class Button:
    """A button below a message; ``data`` comes back when it is pressed."""

    text: str
    data: str


@dataclass(frozen=True, slots=True)
class Entity:
    """A stretch of a text with a meaning or a style; offset and length in UTF-16 code units."""

    type: str
    offset: int
    length: int
    extra: tuple[tuple[str, Any], ...] = ()
    """Further fields of the wire, such as ``url`` or ``language``."""

    def json(self) -> Json:
        """As the Bot API's ``MessageEntity``."""
        return {"type": self.type, "offset": self.offset, "length": self.length, **dict(self.extra)}


@dataclass(frozen=True, slots=True)
class Look:
    """What a message showed from ``at`` on (seconds of the simulator's `Clock.now`)."""

    at: float
    text: str
    entities: tuple[Entity, ...] = ()
    keyboard: tuple[tuple[Button, ...], ...] = ()
    file: File | None = None
    """A picture or document of the bot's; ``text`` is its caption then."""
    sent: Sent | None = None
    """What a person sent; ``text`` is its caption."""
    number: int = 0
    """The number of ``sent`` among the files."""

    @property
    def growing(self) -> bool:
        """Whether one of the buttons stops it."""
        return any(button.partition(":")[0] == "stop" for button in self.buttons)

    @property
    def buttons(self) -> tuple[str, ...]:
        """The data of all buttons."""
        return tuple(button.data for row in self.keyboard for button in row)

    def same(self, other: "Look") -> bool:
        """Whether a person could not tell the two apart."""
        mine = (self.text, self.entities, self.keyboard, self.file)
        return mine == (other.text, other.entities, other.keyboard, other.file)


@dataclass(slots=True)
class Shown:
    """A message on the screen of everybody in its chat."""

    id: int
    chat: "Chat"
    author: User
    date: int
    """When it was posted, whole seconds since the epoch."""
    looks: list[Look]
    """All that it ever showed, oldest first."""
    topic: int = 0
    reply_to: int = 0
    """The id of the message that it answers, 0 for none."""
    album: str = ""
    """The same for all messages of one album; empty outside of one."""
    deleted_at: float | None = None
    too_old: bool = False
    """Whether Telegram tells the bot no more of it than its number and its chat."""

    @property
    def look(self) -> Look:
        """What it shows now."""
        return self.looks[-1]

    @property
    def text(self) -> str:
        """The text that it shows now."""
        return self.look.text

    @property
    def at(self) -> float:
        """When it appeared, by the simulator's clock."""
        return self.looks[0].at

    def pressed_json(self) -> Json:
        """As the press of a button names it: ``InaccessibleMessage`` where it is too old."""
        if self.too_old:
            return {"message_id": self.id, "date": 0, "chat": self.chat.json()}
        return self.json()

    def json(self) -> Json:
        """As the Bot API's ``Message``."""
        look = self.look
        body: Json = {"message_id": self.id, "date": self.date, "chat": self.chat.json(), "from": self.author.json()}
        captioned = look.file or look.sent
        label, entities = ("caption", "caption_entities") if captioned else ("text", "entities")
        if look.text:
            body[label] = look.text
        if look.entities:
            body[entities] = [entity.json() for entity in look.entities]
        if look.file:
            name = look.file.name
            body["document"] = {"file_id": name, "file_unique_id": name, "file_name": name}
        if look.sent:
            body |= look.sent.json(look.number)
        if self.album:
            body["media_group_id"] = self.album
        if look.keyboard:
            rows = [[{"text": b.text, "callback_data": b.data} for b in row] for row in look.keyboard]
            body["reply_markup"] = {"inline_keyboard": rows}
        if len(self.looks) > 1:
            body["edit_date"] = self.date + int(look.at - self.at)
        if self.topic:
            body |= {"message_thread_id": self.topic, "is_topic_message": True}
        answered = self.chat.find(self.reply_to)
        if answered:
            body["reply_to_message"] = {k: v for k, v in answered.json().items() if k != "reply_to_message"}
        return body


DRAFT_LIFE = 30.0
"""Seconds for which a draft is shown that is not sent again."""


@dataclass(slots=True)
class Draft:
    """A text that the bot was still writing: seen by the person, but no message."""

    at: float
    """When it appeared, by the simulator's clock."""
    number: int
    """The ``draft_id``."""
    text: str
    """Empty for "Thinking…"."""
    entities: tuple[Entity, ...] = ()
    stoppable: bool = False
    """Whether a Stop button is beside it."""
    kept: bool = False
    """Whether it stays when that is pressed."""
    ended_at: float | None = None
    """When another one, a message or the person's Stop took it away; it is gone after `DRAFT_LIFE` seconds anyhow."""

    def shown(self, now: float) -> bool:
        """Whether it is on the screen ``now``."""
        return self.ended_at is None and now - self.at < DRAFT_LIFE


@dataclass(slots=True)
class Chat:
    """A private chat or a group."""

    id: int
    kind: Kind
    title: str
    topics: set[int] = field(default_factory=set)
    """Ids of its forum topics; General is none of them."""
    forum: bool = False
    messages: list[Shown] = field(default_factory=list)
    closed: str = ""
    """Why the bot may not write here ("bot was blocked by the user"); empty when it may."""
    drafts: list[Draft] = field(default_factory=list)
    """All that the bot ever showed here, oldest first."""
    draftless: bool = False
    """Whether drafts are refused here."""
    fileless: bool = False
    """Whether files are refused here."""
    moved_to: int = 0
    """The supergroup that this group has become; 0 for all others."""

    @property
    def private(self) -> bool:
        """Whether this is a chat of one person and the bot."""
        return self.kind is Kind.PRIVATE

    def json(self) -> Json:
        """As the Bot API's ``Chat``."""
        body: Json = {"id": self.id, "type": self.kind.value}
        body |= {"first_name": self.title} if self.private else {"title": self.title}
        return body | ({"is_forum": True} if self.forum else {})

    def find(self, message_id: int) -> Shown | None:
        """The message with this id, None when there is none or it was deleted."""
        at = message_id - 1
        if 0 <= at < len(self.messages) and self.messages[at].deleted_at is None:
            return self.messages[at]
        return None


class World:
    """All chats of one bot. ``changed`` is called after every change that somebody could see."""

    def __init__(self, bot: User, clock: Clock, changed: Callable[[], None]) -> None:
        self.bot = bot
        self.clock = clock
        self.changed = changed
        self.chats: dict[int, Chat] = {}
        self.users: dict[int, User] = {}
        self.files = Files(clock)

    def post(self, chat: Chat, author: User, look: Look, topic: int = 0, reply_to: int = 0, album: str = "") -> Shown:
        """A new message. Ids count within a chat, so two chats have the same ones, as on Telegram."""
        date = int(self.clock.wall())
        shown = Shown(len(chat.messages) + 1, chat, author, date, [look], topic, reply_to, album)
        chat.messages.append(shown)
        if author is self.bot:
            self.end_draft(chat)
        self.changed()
        return shown

    def show_draft(self, chat: Chat, draft: Draft) -> None:
        """Show a draft in place of the one before."""
        self.end_draft(chat)
        chat.drafts.append(draft)
        self.changed()

    def end_draft(self, chat: Chat) -> None:
        """Take away the draft that is being shown, if there is one."""
        now = self.clock.now()
        if chat.drafts and chat.drafts[-1].shown(now):
            chat.drafts[-1].ended_at = now
            self.changed()

    def change(self, shown: Shown, look: Look) -> None:
        """Another look of a message."""
        shown.looks.append(look)
        self.changed()

    def delete(self, shown: Shown) -> None:
        """Take a message off the screen."""
        shown.deleted_at = self.clock.now()
        self.changed()

    def user(self, user_id: int, name: str = "") -> User:
        """The person with this id, made up when nobody has asked before."""
        return self.users.setdefault(user_id, User(user_id, name or f"Person {user_id}"))

    def chat(self, chat_id: int) -> Chat:
        """A chat by its id; the private chat of a person comes into being when asked for.

        Raises KeyError for a group that nobody has made.
        """
        if chat_id > 0 and chat_id not in self.chats:
            self.chats[chat_id] = Chat(chat_id, Kind.PRIVATE, self.user(chat_id).name)
        return self.chats[chat_id]
