"""Where the bot may not write."""

from clawdbot.errors import Forbidden
from clawdbot_telegram.place import Place


class Closed:
    """Remembers the chats that have refused the bot, so that it leaves them alone until somebody there turns to it."""

    def __init__(self) -> None:
        self._why: dict[tuple[int, int], str] = {}
        """By chat and topic, what Telegram said."""

    def check(self, place: Place) -> None:
        """Raise `Forbidden`, without a call, where the last one was refused."""
        why = self._why.get((place.chat, place.topic))
        if why is not None:
            raise Forbidden(f"{why} (not tried again until somebody there turns to the bot)")

    def close(self, place: Place, why: str) -> None:
        """Note a refusal."""
        self._why[place.chat, place.topic] = why

    def open(self, place: Place) -> None:
        """Note that somebody turned to the bot: it may write again, or will be told anew that it may not."""
        self._why.pop((place.chat, place.topic), None)
