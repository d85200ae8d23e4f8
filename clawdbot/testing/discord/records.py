"""What a simulated Discord remembers: who is there, what they would have seen, what the bot called."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with an account."""

    id: int
    name: str
    bot: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """How a message looked from one moment on."""

    at: float
    """Seconds of the platform's clock."""
    text: str
    buttons: tuple[str, ...] = ()
    """The ``custom_id`` of every button that could be pressed."""
    files: tuple[tuple[str, bytes], ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the message object that are not simulated: people do more than is here, with stickers and polls."""
    pinged: tuple[str, ...] = ()
    """Who got a notification by it: "everyone", "user 5", "role 7"."""
    previews: bool = True
    """Whether links in it show previews."""
    thinking: bool = False
    """Whether it is only the notice that the bot is thinking."""

    @property
    def growing(self) -> bool:
        """Whether one of the buttons stops it."""
        return any("stop" in button for button in self.buttons)


@dataclass(slots=True)
class Post:
    """A message in a channel, with everything that it ever showed."""

    id: int
    channel: int
    author: User
    history: list[Shown]
    nonce: str | None = None
    replies_to: int | None = None
    only_for: int | None = None
    """The user who alone sees it (ephemeral); None for everybody in the channel."""
    deleted: bool = False
    edited_at: float | None = None
    """Seconds since the epoch."""

    @property
    def now(self) -> Shown:
        """How it looks at present."""
        return self.history[-1]

    @property
    def text(self) -> str:
        """What it says at present."""
        return self.now.text


@dataclass(slots=True)
class Channel:
    """A place to write: a guild's text or voice channel, a thread, or a private chat with the bot."""

    id: int
    name: str
    guild: int
    """0 for a private chat."""
    parent: int = 0
    """The channel that a thread belongs to, else 0."""
    member: int = 0
    """The user at the other end of a private chat, else 0."""
    voice: bool = False
    """Whether it is a voice channel; people write beside the talk."""
    closed: int = 0
    """The error code with which the bot may not write here (50013, 50007, 50001), else 0."""
    gone: bool = False
    history_hidden: bool = False
    """Whether the bot lacks the permission to read earlier messages, and with it to point at them."""
    crowded_until: float = 0.0
    """Seconds of the platform's clock until which nobody may write here, since all together wrote too much."""
    posts: dict[int, Post] = field(default_factory=dict)

    @property
    def screen(self) -> list[Post]:
        """What everybody sees now, oldest first."""
        return [post for post in self.posts.values() if not post.deleted and post.only_for is None]

    def seen_by(self, user: User) -> list[Post]:
        """What ``user`` sees now, with the messages that nobody else sees."""
        return [post for post in self.posts.values() if not post.deleted and post.only_for in (None, user.id)]


@dataclass(slots=True)
class Interaction:
    """A slash command or a pressed button, and what the bot made of it."""

    id: int
    token: str
    kind: int
    """2 for a command, 3 for a button, 4 for an argument that is being typed."""
    channel: int
    user: User
    at: float
    pressed: Post | None = None
    """The message whose button was pressed."""
    acknowledged_at: float | None = None
    original: Post | None = None
    """The message that answers it first; None as long as there is none."""
    followups: list[Post] = field(default_factory=list)
    suggested: list[str] | None = None
    """What the bot offers for an argument that is being typed; None as long as nothing."""

    @property
    def answers(self) -> list[Post]:
        """All messages that came as its answer."""
        return [*([self.original] if self.original else []), *self.followups]


@dataclass(frozen=True, slots=True)
class Call:
    """One REST call of the bot's."""

    at: float
    """When it arrived, seconds of the platform's clock."""
    name: str
    """Method and kind of thing: "POST message", "PATCH message", "POST typing", "PATCH answer", "GET file"."""
    place: str
    """The channel's number or the interaction's token."""
    status: int
    """The HTTP status of the answer; 0 where the connection broke instead."""
    code: int = 0
    """Discord's own number for an error."""
    repeated: bool = False
    """Whether it was recognised by its nonce and changed nothing."""
