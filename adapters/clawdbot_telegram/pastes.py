"""Long texts that people's clients cut in pieces: which message goes on where another one ended.

A client sends the pieces one right after the other. It cuts at the limit or at a good place before it, where white
space is lost, and says nothing about it. In a group only the first piece mentions the bot.
"""

from dataclasses import dataclass

from telegram import Message

LIMIT = 4096
"""UTF-16 code units of a message: a piece of so many was cut in the middle of a word, perhaps."""
TOGETHER = 2.0
"""Seconds by Telegram's clock, which counts whole ones, within which nobody writes a further message by hand."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A message that continues another one."""

    first: str
    """`clawdbot.chat.Message.id` of the first piece."""
    joint: str
    """What stands between it and the piece before."""


@dataclass(frozen=True, slots=True)
class _Open:
    first: str
    sent_at: float
    cut_hard: bool


class Pastes:
    """The texts that may go on, by chat, topic and author."""

    def __init__(self, shortest: int) -> None:
        """``shortest``: UTF-16 code units of the shortest text that a client may have cut."""
        self._shortest = shortest
        self._open: dict[tuple[int, int | None, int], _Open] = {}

    def may_go_on(self, message: Message) -> bool:
        """Whether ``message`` may be a piece with others behind it."""
        return _units(message.text or "") >= self._shortest

    def piece(self, message: Message) -> Piece | None:
        """Where ``message`` goes on; None for a text of its own."""
        before = self._open.get(_key(message))
        if before is None or not message.text or message.date.timestamp() - before.sent_at > TOGETHER:
            return None
        return Piece(before.first, "" if before.cut_hard else "\n")

    def hear(self, message: Message, first: str | None) -> None:
        """``message`` came, as a piece of the text that began with ``first``; None: it was not meant for the bot."""
        at = message.date.timestamp()
        self._open = {key: each for key, each in self._open.items() if at - each.sent_at <= TOGETHER}
        self._open.pop(_key(message), None)
        if first is not None and self.may_go_on(message):
            self._open[_key(message)] = _Open(first, at, _units(message.text or "") >= LIMIT)


def _key(message: Message) -> tuple[int, int | None, int]:
    return message.chat.id, message.message_thread_id, message.from_user.id if message.from_user else 0


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
