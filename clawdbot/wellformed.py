"""Text that can be kept: half characters, which no UTF-8 has, become the sign for one that is not known. Pure.

JSON can say them, and a cut in the middle of a pair makes them. The database refuses such a text, and tokenizers do.
"""

from dataclasses import replace

from clawdbot.chat import Edited, Event, Message


def wellformed(event: Event) -> Event:
    """``event`` with every text of people's in it as it can be kept."""
    match event:
        case Message():
            return _message(event)
        case Edited():
            return Edited(_message(event.message))
        case _:
            return event


def whole(text: str) -> str:
    """``text`` without half characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _message(message: Message) -> Message:
    quoted = message.quoted
    return replace(
        message,
        text=whole(message.text),
        author=replace(message.author, name=whole(message.author.name)),
        quoted=quoted and replace(quoted, name=whole(quoted.name), text=whole(quoted.text)),
        files=tuple(replace(file, name=whole(file.name)) for file in message.files),
    )
