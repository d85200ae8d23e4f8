"""Several of a kind, of which each conversation has one: personas, models."""

import asyncio
import logging
from collections.abc import Mapping

from clawdbot.chat import place_of
from clawdbot.store import ChoiceBook

log = logging.getLogger(__name__)


class Choice:
    """Which one of its kind each conversation has.

    It is known without a wait, since the database has one bot at a time, and kept over restarts. What was chosen and is
    not there any more is kept, too: it counts again when it comes back.
    """

    def __init__(self, kind: str, options: Mapping[str, str], book: ChoiceBook) -> None:
        """``options``: what is said about each, by name, the default first; ``kind`` is a word for one of them."""
        self.kind = kind
        self.options = options
        self._book = book
        self._default = next(iter(options))
        self._chosen: dict[str, str] = {}
        """What the book holds, by `Conversation.key`."""
        self._changed = asyncio.Event()

    async def open(self) -> None:
        """Take up what was chosen in earlier runs; until then all have the default. Raises `StoreError`."""
        self._chosen = await self._book.of_kind(self.kind)
        for conversation, name in self._chosen.items():
            if name not in self.options:
                log.warning(
                    "%s has chosen the %s %r, which is not there any more; %r takes its place",
                    conversation,
                    self.kind,
                    name,
                    self._default,
                )

    def of(self, conversation: str) -> str:
        """The name of the one that ``conversation`` (a `Conversation.key`) has."""
        name = self._chosen.get(conversation, self._default)
        return name if name in self.options else self._default

    def find(self, name: str) -> str | None:
        """The name that is meant, in capitals or not; None when there is none such."""
        return next((known for known in self.options if known.casefold() == name.casefold()), None)

    async def other(self, conversation: str, name: str) -> None:
        """Return when ``conversation`` has another one than ``name``."""
        while self.of(conversation) == name:
            self._changed.clear()
            await self._changed.wait()

    async def move(self, place: str, to: str) -> None:
        """Let the conversations of a place (`Conversation.place`) keep what they have at another one.

        Raises `StoreError`.
        """
        for conversation, name in [*self._chosen.items()]:
            if place_of(conversation) == place:
                await self.choose(f"{to}{conversation.removeprefix(place)}", name)
                await self.choose(conversation, self._default)

    async def choose(self, conversation: str, name: str) -> None:
        """Let ``conversation`` have the one called ``name``, one of the options. Raises `StoreError`."""
        if name == self._default:
            await self._book.forget(conversation, self.kind)
            self._chosen.pop(conversation, None)
        else:
            await self._book.choose(conversation, self.kind, name)
            self._chosen[conversation] = name
        self._changed.set()
