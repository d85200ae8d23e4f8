"""discord.py's objects as the core's words (pure)."""

import re

import discord

from clawdbot.attached import Attachment
from clawdbot.chat import Conversation, Message, Person, Quoted
from clawdbot_discord.attachments import attached, beside

PLATFORM = "discord"
_TALK = (discord.MessageType.default, discord.MessageType.reply)


def conversation(channel: int, guild: int | None) -> Conversation:
    """The conversation of a channel; a thread is a channel of its own."""
    return Conversation(PLATFORM, channel, private=not guild, guild=guild or 0)


def message_id(channel: int, message: int) -> str:
    """`Message.id` of a Discord message."""
    return f"{channel}:{message}"


def person(user: discord.abc.User) -> Person:
    """Whoever ``user`` is, with the roles that they have in a server; the name is the one that the others see."""
    # The role that everybody has is the server itself.
    own = user.roles if isinstance(user, discord.Member) else []
    return Person(user.id, user.display_name, roles=frozenset(role.id for role in own if not role.is_default()))


def addressed(message: discord.Message, bot: int) -> bool:
    """Whether a person says this to the bot ``bot``: in private, by mention of it or its role, or as a reply to it."""
    if not is_talk(message):
        return False
    if message.guild is None:
        return True
    return any(user.id == bot for user in message.mentions) or bool(_own_roles(message, bot)) or _answers(message, bot)


def is_talk(message: discord.Message) -> bool:
    """Whether a person says something, to whomever."""
    return not message.author.bot and message.webhook_id is None and message.type in _TALK


def question(message: discord.Message, bot: int, received_at: float) -> Message:
    """What a person said to the bot; ``received_at`` in seconds of `Clock.now`."""
    guild = message.guild.id if message.guild else None
    return Message(
        id=message_id(message.channel.id, message.id),
        conversation=conversation(message.channel.id, guild),
        author=person(message.author),
        text=without_mentions(_text(message), bot, _own_roles(message, bot)),
        received_at=received_at,
        sent_at=message.created_at.timestamp(),
        quoted=quoted(message, bot),
        files=attached(message) or _pointed_at(message, bot),
        beside=beside(message),
    )


def quoted(message: discord.Message, bot: int) -> Quoted | None:
    """What it replies to; None where Discord sent nothing of that along, or it has no text."""
    answered = _answered(message)
    if answered is None or not (text := without_mentions(answered.content, bot)):
        return None
    own = answered.author.id == bot
    return Quoted(answered.author.display_name, text, own, post=str(answered.id) if own else "")


def without_mentions(text: str, bot: int, roles: tuple[int, ...] = ()) -> str:
    """``text`` without the mentions of the bot and its roles."""
    marks = "|".join([f"<@!?{bot}>", *(f"<@&{role}>" for role in roles)])
    return re.sub(rf"[ \t]*(?:{marks})[ \t]*", " ", text).strip()


def _pointed_at(message: discord.Message, bot: int) -> tuple[Attachment, ...]:
    """The texts and pictures that a message in a server replies to: "@bot, what is that?" is about them.

    What was said in private to the bot it has in its history, and so it has what it sent itself.
    """
    answered = _answered(message)
    if answered is None or message.guild is None or answered.author.id == bot:
        return ()
    return tuple(file for file in attached(answered) if not file.is_recording)


def _text(message: discord.Message) -> str:
    """What it says; of a forwarded message, which has no text of its own, what that one says."""
    return message.content or "\n".join(forwarded.content for forwarded in message.message_snapshots)


def _own_roles(message: discord.Message, bot: int) -> tuple[int, ...]:
    """The mentioned roles that Discord made for this bot: people pick them in the menu instead of the bot."""
    return tuple(role.id for role in message.role_mentions if role.tags and role.tags.bot_id == bot)


def _answers(message: discord.Message, bot: int) -> bool:
    answered = _answered(message)
    return answered is not None and answered.author.id == bot


def _answered(message: discord.Message) -> discord.Message | None:
    """The message that it replies to; None for none, for one that was deleted, and for one that did not come along."""
    answered = message.reference.resolved if message.reference else None
    return answered if isinstance(answered, discord.Message) else None
