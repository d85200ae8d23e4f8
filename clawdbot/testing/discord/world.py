"""The simulated Discord itself: its people, channels and messages, and the rules for what the bot sends."""

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from clawdbot.clock import Clock
from clawdbot.testing.discord import payloads
from clawdbot.testing.discord.payloads import Json
from clawdbot.testing.discord.records import Channel, Post, Shown, User

MESSAGE_SIZE = 2000
"""Code points in one message."""
NONCE_SIZE = 25
NONCE_LIFE = 300.0
"""For how many seconds a repeated nonce is recognised ("the past few minutes"), unless told otherwise."""
HIDDEN = 50001
"""The error code for a channel that the bot does not see at all."""
OLD = 3600.0
"""Seconds after which edits of a message are rationed."""

Emit = Callable[[str, Json, Channel | None], None]
"""Tells the gateway about an event: its name, its data, where it happened (None: everywhere)."""
Files = Sequence[tuple[str, bytes]]
Address = Callable[[Post, int, str], str]


class Refusal(Exception):
    """A call that Discord refuses: HTTP ``status``, its own ``code`` and a text."""

    def __init__(self, status: int, code: int, text: str) -> None:
        self.status = status
        self.code = code
        self.text = text
        super().__init__(text)


class World:
    """One guild, its channels and threads, private chats, and all messages in them."""

    def __init__(self, clock: Clock, emit: Emit) -> None:
        self.clock = clock
        self.emit = emit
        self._count = itertools.count(1)
        self.guild = self.new_id()
        self.bot = User(self.new_id(), "ClawdBot", bot=True)
        self.bot_role = self.new_id()
        self.users: dict[int, User] = {self.bot.id: self.bot}
        self.channels: dict[int, Channel] = {}
        self.nonce_life = NONCE_LIFE
        self.address: Address = lambda post, number, name: ""
        """Where a file of a message can be loaded, by the message, the file's number and its name."""

    def new_id(self) -> int:
        return payloads.snowflake(self.clock.wall(), next(self._count))

    def add_user(self, name: str, *, bot: bool = False) -> User:
        user = User(self.new_id(), name, bot)
        self.users[user.id] = user
        return user

    def add_channel(self, name: str, parent: int = 0, *, voice: bool = False) -> Channel:
        channel = Channel(self.new_id(), name, self.guild, parent, voice=voice)
        self.channels[channel.id] = channel
        self.emit("THREAD_CREATE" if parent else "CHANNEL_CREATE", payloads.of_channel(channel), channel)
        return channel

    def private(self, user: User) -> Channel:
        """The private chat of ``user`` and the bot."""
        for channel in self.channels.values():
            if channel.member == user.id:
                return channel
        channel = Channel(self.new_id(), user.name, guild=0, member=user.id)
        self.channels[channel.id] = channel
        return channel

    def is_old(self, post: Post) -> bool:
        """Whether edits of ``post`` are rationed."""
        return self.clock.wall() - _posted_at(post) > OLD

    def channel(self, number: int, *, reading: bool = False) -> Channel:
        """A channel that the bot names. Raises `Refusal`.

        Who may not write there may read, unless the channel is hidden from them altogether.
        """
        channel = self.channels.get(number)
        if channel is None or channel.gone:
            raise Refusal(404, 10003, "Unknown Channel")
        if channel.closed and not (reading and channel.closed != HIDDEN):
            raise Refusal(403, channel.closed, "Missing Access")
        return channel

    def post(self, channel: Channel, number: int) -> Post:
        """A message that the bot names. Raises `Refusal`."""
        post = channel.posts.get(number)
        if post is None or post.deleted or post.only_for is not None:
            raise Refusal(404, 10008, "Unknown Message")
        return post

    def write(
        self,
        author: User,
        channel: Channel,
        text: str,
        replies_to: int | None = None,
        files: Files = (),
        more: Json | None = None,
    ) -> Post:
        """A person, or another bot, posts ``text``, with ``files`` and with ``more`` fields of the message object."""
        look = replace(self._look(text, files, None, replies_to), more=more or {})
        return self._announce(channel, Post(self.new_id(), channel.id, author, [look], replies_to=replies_to))

    def create(self, channel: Channel, body: Json, files: Files, only_for: int | None = None) -> tuple[Post, bool]:
        """The bot posts a message; and whether its nonce was known, so that nothing is posted. Raises `Refusal`."""
        nonce = None if body.get("nonce") is None else str(body["nonce"])
        if nonce is not None and len(nonce) > NONCE_SIZE:
            raise Refusal(400, 50035, "Invalid Form Body: nonce must be 25 or fewer in length.")
        if nonce is not None and body.get("enforce_nonce") and (known := self._by_nonce(channel, nonce)):
            return known, True
        replies_to = self._referenced(channel, body.get("message_reference"))
        look = self._look(_content(body), files, body.get("allowed_mentions"), replies_to)
        look = replace(look, buttons=_buttons(body), previews=not body.get("flags", 0) & payloads.NO_PREVIEWS)
        if not look.text and not files:
            raise Refusal(400, 50006, "Cannot send an empty message")
        post = Post(self.new_id(), channel.id, self.bot, [look], nonce, replies_to, only_for)
        return self._announce(channel, post), False

    def change(self, channel: Channel, post: Post, body: Json, files: Files) -> Post:
        """The bot edits its message; what ``body`` does not name stays. Raises `Refusal`."""
        if post.author != self.bot:
            raise Refusal(403, 50005, "Cannot edit a message authored by another user")
        old = post.now
        text = _content(body) if "content" in body else old.text
        kept = old.files
        if "attachments" in body:
            names = {str(entry["id"]) for entry in body["attachments"] if "filename" not in entry}
            kept = tuple(file for number, file in enumerate(old.files, 1) if str(number) in names)
        all_files = (*kept, *files)
        look = self._look(text, all_files, body.get("allowed_mentions"), None)
        look = replace(look, buttons=_buttons(body) if "components" in body else old.buttons, previews=old.previews)
        if "flags" in body:
            look = replace(look, previews=not (body["flags"] or 0) & payloads.NO_PREVIEWS)
        if not look.text and not all_files:
            raise Refusal(400, 50006, "Cannot send an empty message")
        return self.show(channel, post, look)

    def show(self, channel: Channel, post: Post, look: Shown) -> Post:
        """Let ``post`` look like ``look`` from now on."""
        post.history.append(look)
        post.edited_at = self.clock.wall()
        self._tell("MESSAGE_UPDATE", channel, post)
        return post

    def repeat(self, channel: Channel, post: Post) -> None:
        """Announce ``post`` once more."""
        self._tell("MESSAGE_CREATE", channel, post)

    def rewrite(self, channel: Channel, post: Post, text: str) -> Post:
        """A person edits their own message."""
        return self.show(channel, post, self._look(text, post.now.files, None, None))

    def remove(self, channel: Channel, post: Post) -> None:
        """Delete ``post``."""
        post.deleted = True
        data: Json = {"id": str(post.id), "channel_id": str(channel.id)}
        self.emit("MESSAGE_DELETE", data | ({"guild_id": str(channel.guild)} if channel.guild else {}), channel)

    def message_json(self, channel: Channel, post: Post, *, nested: bool = True) -> Json:
        """``post`` as Discord sends it, with the message that it replies to."""
        mentions = tuple(user for user in self.users.values() if f"<@{user.id}>" in post.text)
        roles = (self.bot_role,) if f"<@&{self.bot_role}>" in post.text else ()
        files = [
            payloads.of_file(number, name, data, self.address(post, number, name))
            for number, (name, data) in enumerate(post.now.files, 1)
        ]
        body = payloads.of_post(post, channel, mentions=mentions, roles=roles, wall=_posted_at(post), files=files)
        if nested and post.replies_to:
            answered = channel.posts.get(post.replies_to)
            body["referenced_message"] = None
            if answered and not answered.deleted:
                body["referenced_message"] = self.message_json(channel, answered, nested=False)
        return body

    def new_message_json(self, channel: Channel, post: Post) -> Json:
        """``post`` as Discord sends it once, when it is new: with its nonce, which is kept nowhere."""
        return self.message_json(channel, post) | ({} if post.nonce is None else {"nonce": post.nonce})

    def who(self, user: User, channel: Channel) -> Json:
        """How an event names the one who caused it: a member in a guild, else a user."""
        if not channel.guild:
            return {"user": payloads.of_user(user)}
        return {"member": payloads.of_member(user, [], self.clock.wall())}

    def guild_json(self) -> Json:
        """The guild with all that is in it, as GUILD_CREATE sends it."""
        inside = [channel for channel in self.channels.values() if channel.guild and not channel.gone]
        members = [(self.bot, [self.bot_role])]
        return {
            "id": str(self.guild),
            "name": "Simulated guild",
            "owner_id": str(self.bot.id),
            "unavailable": False,
            "member_count": len(self.users),
            "roles": [
                payloads.of_role(self.guild, "@everyone"),
                payloads.of_role(self.bot_role, self.bot.name, self.bot.id),
            ],
            "channels": [payloads.of_channel(channel) for channel in inside if not channel.parent],
            "threads": [payloads.of_channel(channel) for channel in inside if channel.parent],
            "members": [payloads.of_member(user, roles, self.clock.wall()) for user, roles in members],
            "emojis": [],
            "stickers": [],
            "features": [],
            "voice_states": [],
            "presences": [],
            "stage_instances": [],
            "guild_scheduled_events": [],
            "soundboard_sounds": [],
            "large": False,
            "joined_at": payloads.moment(self.clock.wall()),
        }

    def _announce(self, channel: Channel, post: Post) -> Post:
        channel.posts[post.id] = post
        self._tell("MESSAGE_CREATE", channel, post)
        return post

    def _tell(self, event: str, channel: Channel, post: Post) -> None:
        if post.only_for is not None:
            return
        data = self.new_message_json(channel, post) if event == "MESSAGE_CREATE" else self.message_json(channel, post)
        if channel.guild:
            member = payloads.of_member(post.author, [], self.clock.wall())
            data |= {"guild_id": str(channel.guild), "member": {key: member[key] for key in member if key != "user"}}
        self.emit(event, data, channel)

    def _by_nonce(self, channel: Channel, nonce: str) -> Post | None:
        since = self.clock.now() - self.nonce_life
        for post in reversed(channel.posts.values()):
            if post.nonce == nonce and post.author == self.bot and post.history[0].at >= since:
                return post
        return None

    def _referenced(self, channel: Channel, reference: Json | None) -> int | None:
        if reference is None:
            return None
        if channel.history_hidden:
            raise Refusal(403, 160002, "Cannot reply without permission to read message history")
        answered = channel.posts.get(int(reference["message_id"]))
        if answered and not answered.deleted:
            return answered.id
        if reference.get("fail_if_not_exists", True):
            raise Refusal(400, 50035, "Invalid Form Body: message_reference: Unknown message")
        return None

    def _look(self, text: str, files: Files, allowed: Json | None, replies_to: int | None) -> Shown:
        pinged = tuple(_pinged(text, allowed, self.users))
        if replies_to is not None and (allowed is None or allowed.get("replied_user")):
            pinged += (f"reply to {replies_to}",)
        return Shown(self.clock.now(), text, files=tuple(files), pinged=pinged)


def _content(body: Json) -> str:
    text = str(body.get("content") or "").strip()
    if len(text) > MESSAGE_SIZE:
        raise Refusal(400, 50035, "Invalid Form Body: content: Must be 2000 or fewer in length.")
    return text


def _posted_at(post: Post) -> float:
    """When it was posted, seconds since the epoch."""
    return ((post.id >> 22) + payloads.EPOCH_MS) / 1000


def _buttons(body: Json) -> tuple[str, ...]:
    rows: list[dict[str, Any]] = body.get("components") or []
    return tuple(item["custom_id"] for row in rows for item in row["components"] if not item.get("disabled"))


def _pinged(text: str, allowed: Json | None, users: dict[int, User]) -> list[str]:
    """Who is notified by ``text``; without ``allowed`` everybody it names is."""
    parse = {"everyone", "users", "roles"} if allowed is None else set(allowed.get("parse", ()))
    named = {"users": set(), "roles": set()} if allowed is None else allowed
    found = ["everyone"] if "everyone" in parse and re.search(r"@(everyone|here)\b", text) else []
    for number in re.findall(r"<@!?(\d+)>", text):
        if int(number) in users and ("users" in parse or number in named.get("users", ())):
            found.append(f"user {number}")
    for number in re.findall(r"<@&(\d+)>", text):
        if "roles" in parse or number in named.get("roles", ()):
            found.append(f"role {number}")
    return found
