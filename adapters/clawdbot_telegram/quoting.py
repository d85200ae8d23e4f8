"""What a message replies to, as far as Telegram sent it along. Pure."""

from telegram import (
    Message,
    MessageOrigin,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    User,
)

from clawdbot.chat import Quoted


def quoted(message: Message, me: User) -> Quoted | None:
    """The message that ``message`` replies to, or the part of it that its author chose; None when it has no text.

    Of a message in another chat Telegram sends its origin and the part alone.
    """
    answered, part = message.reply_to_message, message.quote
    if answered is None:
        origin = message.external_reply.origin if message.external_reply else None
        return Quoted(_origin(origin), part.text) if part and part.text else None
    chosen = part is not None and bool(part.is_manual)
    text = part.text if part and chosen else answered.text or answered.caption or ""
    own = answered.from_user is not None and answered.from_user.id == me.id
    post = str(answered.message_id) if own and not chosen else ""
    return Quoted(_author(answered), text, own, post) if text else None


def name_of(user: User) -> str:
    """What somebody calls themselves; "" for a deleted account: the library says None then."""
    return user.full_name or ""


def _author(message: Message) -> str:
    if message.sender_chat is not None:  # a channel, or an admin who shows only the group's name
        return message.sender_chat.effective_name or ""
    return name_of(message.from_user) if message.from_user else ""


def _origin(origin: MessageOrigin | None) -> str:
    match origin:
        case MessageOriginUser():
            return name_of(origin.sender_user)
        case MessageOriginHiddenUser():
            return origin.sender_user_name
        case MessageOriginChat():
            return origin.sender_chat.effective_name or ""
        case MessageOriginChannel():
            return origin.chat.effective_name or ""
        case _:
            return ""
