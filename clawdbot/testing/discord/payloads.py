"""The JSON that Discord sends for the things it knows (pure)."""

from datetime import UTC, datetime
from mimetypes import guess_type
from typing import Any

from clawdbot.testing.discord.records import Channel, Interaction, Post, User

Json = dict[str, Any]

TEXT, PRIVATE, VOICE, THREAD = 0, 1, 2, 11
EPHEMERAL, LOADING, NO_PREVIEWS = 1 << 6, 1 << 7, 1 << 2
ADMINISTRATOR = str(1 << 3)
EPOCH_MS = 1_420_070_400_000


def snowflake(wall: float, count: int) -> int:
    """An id that tells when it was made: ``wall`` in seconds since the epoch."""
    return ((int(wall * 1000) - EPOCH_MS) << 22) | (count & 0x3FFFFF)


def moment(wall: float) -> str:
    """``wall`` in seconds since the epoch, as Discord writes it."""
    return datetime.fromtimestamp(wall, UTC).isoformat()


def of_user(user: User) -> Json:
    """A user object."""
    return {
        "id": str(user.id),
        "username": user.name,
        "global_name": user.name,
        "discriminator": "0",
        "avatar": None,
        "bot": user.bot,
        "public_flags": 0,
    }


def of_member(user: User, roles: list[int], wall: float) -> Json:
    """A guild member, who joined at ``wall`` (seconds since the epoch)."""
    return {
        "user": of_user(user),
        "roles": [str(role) for role in roles],
        "joined_at": moment(wall),
        "deaf": False,
        "mute": False,
        "flags": 0,
        "permissions": ADMINISTRATOR,
    }


def of_role(role: int, name: str, bot: int = 0) -> Json:
    """A role; ``bot`` is the id of the bot that it was made for."""
    return {
        "id": str(role),
        "name": name,
        "permissions": ADMINISTRATOR,
        "position": 0,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "managed": bool(bot),
        "mentionable": True,
        "flags": 0,
        **({"tags": {"bot_id": str(bot)}} if bot else {}),
    }


def of_channel(channel: Channel, members: tuple[User, ...] = ()) -> Json:
    """``members`` is for private chats: the people at the other end."""
    newest = str(max(channel.posts)) if channel.posts else None
    if channel.member:
        recipients = [of_user(user) for user in members]
        return {"id": str(channel.id), "type": PRIVATE, "last_message_id": newest, "recipients": recipients}
    common: Json = {
        "id": str(channel.id),
        "guild_id": str(channel.guild),
        "name": channel.name,
        "position": 0,
        "permission_overwrites": [],
        "nsfw": False,
        "flags": 0,
        "last_message_id": newest,
        "rate_limit_per_user": 0,
        "permissions": ADMINISTRATOR,
    }
    if channel.voice:
        return {**common, "type": VOICE, "parent_id": None, "bitrate": 64_000, "user_limit": 0, "rtc_region": None}
    if not channel.parent:
        return {**common, "type": TEXT, "topic": None, "parent_id": None}
    metadata = {
        "archived": False,
        "auto_archive_duration": 1440,
        "archive_timestamp": moment(0.0),
        "locked": False,
        "invitable": True,
    }
    return {
        **common,
        "type": THREAD,
        "parent_id": str(channel.parent),
        "owner_id": "1",
        "message_count": 0,
        "member_count": 1,
        "thread_metadata": metadata,
    }


def of_post(
    post: Post, channel: Channel, *, mentions: tuple[User, ...], roles: tuple[int, ...], wall: float, files: list[Json]
) -> Json:
    """A message object as it is kept: without its nonce. ``wall``: when it was posted, seconds since the epoch."""
    look = post.now
    flags = EPHEMERAL * (post.only_for is not None) | LOADING * look.thinking | NO_PREVIEWS * (not look.previews)
    body: Json = {
        "id": str(post.id),
        "channel_id": str(channel.id),
        "author": of_user(post.author),
        "content": look.text,
        "timestamp": moment(wall),
        "edited_timestamp": None if post.edited_at is None else moment(post.edited_at),
        "tts": False,
        "mention_everyone": "everyone" in look.pinged,
        "mentions": [of_user(user) for user in mentions],
        "mention_roles": [str(role) for role in roles],
        "attachments": files,
        "embeds": [],
        "pinned": False,
        "type": 19 if post.replies_to else 0,
        "components": [_of_row(look.buttons)] if look.buttons else [],
        "flags": flags,
    }
    if post.replies_to:
        body["message_reference"] = {"channel_id": str(channel.id), "message_id": str(post.replies_to)}
        if channel.guild:
            body["message_reference"]["guild_id"] = str(channel.guild)
    return body | dict(look.more)


def of_interaction(interaction: Interaction, application: int, channel: Channel, who: Json, data: Json) -> Json:
    """The event that starts an interaction; ``who`` is ``{"member": …}`` in a guild and ``{"user": …}`` elsewhere."""
    return {
        "id": str(interaction.id),
        "application_id": str(application),
        "type": interaction.kind,
        "token": interaction.token,
        "version": 1,
        "channel_id": str(channel.id),
        "channel": of_channel(channel, (interaction.user,)),
        "locale": "en-GB",
        "app_permissions": ADMINISTRATOR,
        "attachment_size_limit": 10 << 20,
        "entitlements": [],
        "authorizing_integration_owners": {},
        "context": 0 if channel.guild else 1,
        "data": data,
        **({"guild_id": str(channel.guild)} if channel.guild else {}),
        **who,
    }


def of_callback(interaction: Interaction, kind: int, message: Json | None) -> Json:
    """The answer to an interaction's callback of ``kind``."""
    about: Json = {"id": str(interaction.id), "type": interaction.kind, "response_message_ephemeral": False}
    if message is None:
        return {"interaction": about}
    about["response_message_id"] = message["id"]
    about["response_message_loading"] = bool(message["flags"] & LOADING)
    about["response_message_ephemeral"] = bool(message["flags"] & EPHEMERAL)
    return {"interaction": about, "resource": {"type": kind, "message": message}}


def of_file(number: int, name: str, data: bytes, url: str) -> Json:
    """A file of a message, the first is ``number`` 1; Discord tells its type by how its name ends."""
    media, _ = guess_type(name)
    typed = {"content_type": f"{media}; charset=utf-8" if media.startswith("text/") else media} if media else {}
    return {"id": str(number), "filename": name, "size": len(data), "url": url, "proxy_url": url, **typed}


def _of_row(buttons: tuple[str, ...]) -> Json:
    shown = [{"type": 2, "style": 2, "label": name, "custom_id": name, "id": 2 + n} for n, name in enumerate(buttons)]
    return {"type": 1, "id": 1, "components": shown}
