"""What an update means in the project's vocabulary. Pure."""

from collections.abc import Container
from dataclasses import replace
from typing import Any

from telegram import CallbackQuery, MaybeInaccessibleMessage, Message, MessageEntity, Update, User

from clawdbot import chat
from clawdbot.menu import COMMANDS
from clawdbot_telegram import media
from clawdbot_telegram.controls import pressed
from clawdbot_telegram.pastes import Pastes
from clawdbot_telegram.place import Place
from clawdbot_telegram.quoting import name_of, quoted

STOPPED = "stopped_message_generation"
"""Somebody used Telegram's own Stop button beside a draft. The library does not know this kind of update yet."""

KINDS = (Update.MESSAGE, Update.EDITED_MESSAGE, Update.CALLBACK_QUERY)
"""The updates to ask for, and `STOPPED` where there are drafts."""

_COMMANDS = frozenset(f"/{command.name}" for command in COMMANDS)

GENERAL = 1
"""The number that clients give a forum's General topic; Telegram refuses messages that name it."""


def understood(
    update: Update, me: User, received_at: float, albums: Container[str] = (), pastes: Pastes | None = None
) -> tuple[chat.Event, Place] | None:
    """The event and where its answer goes; None when the update is not meant for the bot ``me``.

    ``albums``: those of which another message was (`chat.Message.album`), so all of them are. ``pastes``: the texts
    that may go on in this message.
    """
    if update.callback_query:
        return _pressed(update.callback_query)
    if update.message:
        return (
            _migrated(update.message)
            or _piece(update.message, received_at, pastes)
            or _message(update.message, me, received_at, albums, pastes)
        )
    if update.edited_message:
        addressed = said_to(update.edited_message, me, albums) is not None
        found = _message(update.edited_message, me, received_at, albums, pastes, overheard=True)
        return found and (chat.Edited(replace(found[0], version=str(update.update_id)), addressed), found[1])
    if stopped := update.api_kwargs.get(STOPPED):
        return _stopped(stopped)
    return None


def _piece(message: Message, received_at: float, pastes: Pastes | None) -> tuple[chat.Message, Place] | None:
    """``message`` if it goes on where another one ended; a command never does."""
    piece = pastes.piece(message) if pastes else None
    command = " ".join((message.text or "").split(maxsplit=1)[:1]).partition("@")[0]
    if pastes is None or piece is None or message.from_user is None or command in _COMMANDS:
        return None
    place = Place(message.chat.id, _topic(message), message.message_id)
    event = chat.Message(
        id=f"{place.chat}:{place.message}",
        conversation=_conversation(place),
        author=_person(message.from_user),
        text=message.text or "",
        received_at=received_at,
        sent_at=message.date.timestamp(),
        unfinished=pastes.may_go_on(message),
        continues=piece.first,
        joint=piece.joint,
    )
    return event, place


def _message(
    message: Message,
    me: User,
    received_at: float,
    albums: Container[str],
    pastes: Pastes | None,
    *,
    overheard: bool = False,
) -> tuple[chat.Message, Place] | None:
    """``message`` if it is said to the bot; ``overheard``: in any case."""
    author, album = message.from_user, _album(message)
    text = said_to(message, me, albums)
    if text is None and overheard:
        text = (message.text or message.caption or "").strip()
    files, others = media.attached(message) or media.pointed_at(message, me), media.beside(message)
    if author is None or author.is_bot or text is None or not (text or files or others):
        return None
    place = Place(message.chat.id, _topic(message), message.message_id)
    event = chat.Message(
        id=f"{place.chat}:{place.message}",
        conversation=_conversation(place),
        author=_person(author),
        text=text,
        received_at=received_at,
        sent_at=(message.edit_date or message.date).timestamp(),
        quoted=quoted(message, me),
        files=files,
        beside=others,
        album=album,
        unfinished=pastes is not None and pastes.may_go_on(message),
    )
    return event, place


def _pressed(query: CallbackQuery) -> tuple[chat.Pressed, Place] | None:
    shown = query.message
    if shown is None or not isinstance(query.data, str) or not _has_button(shown, query.data):
        return None
    control, topic = pressed(query.data)
    place = Place(shown.chat.id, _topic(shown) if shown.is_accessible else topic)
    event = chat.Pressed(_conversation(place), _person(query.from_user), control, str(shown.message_id))
    return event, place


def _has_button(shown: MaybeInaccessibleMessage, data: str) -> bool:
    """Whether a message has the button that is said to be pressed: clients may send any data about any message.

    Of one that is too old to be seen nobody knows; at least it does not grow any more.
    """
    if not (isinstance(shown, Message) and shown.is_accessible):
        return pressed(data)[0] != "stop"
    rows = shown.reply_markup.inline_keyboard if shown.reply_markup else ()
    return any(button.callback_data == data for row in rows for button in row)


def _migrated(message: Message) -> tuple[chat.Migrated, Place] | None:
    """A group has become a supergroup: told in the old one and in the new one, in any order."""
    old = message.migrate_from_chat_id or (message.chat.id if message.migrate_to_chat_id else None)
    if old is None:
        return None
    place = Place(message.migrate_to_chat_id or message.chat.id)
    return migrated(old, place.chat), place


def migrated(old: int, new: int) -> chat.Migrated:
    """The group ``old`` has become the supergroup ``new``."""
    return chat.Migrated(_conversation(Place(old)), _conversation(Place(new)))


def _stopped(stopped: dict[str, Any]) -> tuple[chat.Pressed, Place]:
    """The draft has the number of the question, and is in a private chat, which has the number of the person."""
    person = stopped["chat"]
    place = Place(int(person["id"]), int(stopped.get("message_thread_id", 0)), int(stopped["draft_id"]))
    by = chat.Person(place.chat, str(person.get("first_name", "")))
    return chat.Pressed(_conversation(place), by, "stop", place.ref), place


def said_to(message: Message, me: User, albums: Container[str]) -> str | None:
    """What ``message`` says to ``me``, as a part of one of these ``albums`` too; None when it is meant for others."""
    return (message.caption or "").strip() if _album(message) in albums else addressed(message, me)


def _album(message: Message) -> str:
    return f"{message.chat.id}:{message.media_group_id}" if message.media_group_id else ""


def addressed(message: Message, me: User) -> str | None:
    """The text or caption of ``message``, perhaps an empty one, if it is meant for ``me``; else None.

    In a group that is a command, a mention or a reply to the bot. The mention is taken out; "/name@bot" becomes
    "/name", and a command for another bot is not for us. "/start", which clients send when the bot is opened, asks for
    help.
    """
    text = message.text or message.caption or ""
    entities = message.parse_entities() | message.parse_caption_entities()
    command = next((part for mark, part in entities.items() if mark.type == "bot_command" and mark.offset == 0), None)
    if command:
        name, _, bot = command.partition("@")
        if bot and bot.lower() != (me.username or "").lower():
            return None
        return ("/help" if name == "/start" else name) + text[len(command) :].rstrip()
    mentions = [mark for mark, part in entities.items() if _names(mark, part, me)]
    if message.chat.type == "private" or mentions or _answers(message, me):
        return _without(text, mentions).strip() or text.strip()
    return None


def _names(mark: MessageEntity, part: str, me: User) -> bool:
    if mark.type == "text_mention":
        return mark.user is not None and mark.user.id == me.id
    return mark.type == "mention" and part[1:].lower() == (me.username or "").lower()


def _answers(message: Message, me: User) -> bool:
    """Whether it replies to the bot; every message in a topic replies, formally, to the one that opened the topic."""
    answered = message.reply_to_message
    if answered is None or answered.from_user is None or answered.forum_topic_created:
        return False
    return answered.from_user.id == me.id


def _without(text: str, marks: list[MessageEntity]) -> str:
    """``text`` without the marked parts; offsets count UTF-16 code units."""
    raw = text.encode("utf-16-le", "surrogatepass")
    for mark in sorted(marks, key=lambda mark: mark.offset, reverse=True):
        raw = raw[: 2 * mark.offset] + raw[2 * (mark.offset + mark.length) :]
    return raw.decode("utf-16-le", "surrogatepass")


def _topic(message: MaybeInaccessibleMessage) -> int:
    """The forum topic; 0 for General, and for the threads of replies that ordinary groups have."""
    if isinstance(message, Message) and message.is_topic_message and message.message_thread_id != GENERAL:
        return message.message_thread_id or 0
    return 0


def _conversation(place: Place) -> chat.Conversation:
    return chat.Conversation("telegram", place.chat, topic=place.topic, private=place.private)


def _person(user: User) -> chat.Person:
    return chat.Person(user.id, name_of(user))
