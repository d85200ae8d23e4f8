"""What a Telegram message holds besides text. Pure."""

from collections import OrderedDict
from typing import Any

from telegram import Message, User

from clawdbot.attached import Attachment

ALBUMS = 1000
"""So many albums are remembered; their messages come within seconds of each other."""

_NAMELESS = {
    "animation": ("an animation", "video/mp4"),
    "video": ("a video", "video/mp4"),
    "video_note": ("a video message", "video/mp4"),
    "voice": ("a voice message", "audio/ogg"),
    "audio": ("a sound", "audio/mpeg"),
    "document": ("a file", ""),
}
"""Kinds with a content, the first of a message counts; what stands for a name and a media type that are missing."""

_WORDS = {
    "sticker": "a sticker",
    "venue": "a place",
    "location": "a location",
    "contact": "a contact",
    "poll": "a poll",
    "dice": "a die",
    "game": "a game",
    "story": "a story",
    "checklist": "a checklist",
    "invoice": "an invoice",
    "paid_media": "paid media",
    "gift": "a gift",
    "giveaway": "a giveaway",
    "passport_data": "passport data",
    "web_app_data": "data of a web app",
    "users_shared": "shared contacts",
    "chat_shared": "a shared chat",
}
"""Kinds that no text can be made of; a venue has a location as well, so it comes first."""


def attached(message: Message) -> tuple[Attachment, ...]:
    """The file of a message; Telegram makes several messages of several files."""
    if message.photo:
        photo = message.photo[-1]  # the largest
        return (Attachment("photo.jpg", "image/jpeg", photo.file_size or 0, photo.file_id),)
    for kind, (name, media) in _NAMELESS.items():
        file: Any = getattr(message, kind)
        if file:
            named, typed = getattr(file, "file_name", None), getattr(file, "mime_type", None)
            return (Attachment(named or name, typed or media, file.file_size or 0, file.file_id),)
    return ()


def pointed_at(message: Message, me: User) -> tuple[Attachment, ...]:
    """The text or picture that a message in a group replies to: "@bot, what is that?" is about it.

    What was said in private to the bot it has in its history, and so it has what it sent itself.
    """
    answered = message.reply_to_message
    if answered is None or message.chat.type == "private" or (answered.from_user and answered.from_user.id == me.id):
        return ()
    return tuple(file for file in attached(answered) if not file.is_recording)


def beside(message: Message) -> tuple[str, ...]:
    """What else it is, in words; nothing for what Telegram itself says, such as that somebody came."""
    return tuple(word for kind, word in _WORDS.items() if getattr(message, kind))[:1]


class Albums:
    """The albums of which a message was for the bot: in a group only the one with the caption names it."""

    def __init__(self) -> None:
        self._known: OrderedDict[object, None] = OrderedDict()

    def __contains__(self, album: object) -> bool:
        return album in self._known

    def add(self, album: str) -> None:
        """Note one."""
        self._known[album] = None
        if len(self._known) > ALBUMS:
            self._known.popitem(last=False)
