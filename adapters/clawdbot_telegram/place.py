"""Where an answer goes on Telegram."""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Place:
    """A chat, the forum topic in it (0: none, or General) and the message that is answered (0: none)."""

    chat: int
    topic: int = 0
    message: int = 0

    @property
    def private(self) -> bool:
        """Whether only one person and the bot are there: people have positive numbers, groups negative ones."""
        return self.chat > 0

    @property
    def ref(self) -> str:
        """As text, to be stored."""
        return f"{self.chat}/{self.topic}/{self.message}"

    @classmethod
    def of(cls, ref: str) -> Self:
        """The place that gave this ``ref``."""
        chat, topic, message = map(int, ref.split("/"))
        return cls(chat, topic, message)
