"""A core that only listens."""

import asyncio

from clawdbot.chat import Event, Message, Reply
from clawdbot.testing.waiting import patience


class Ears:
    """A `Receive` that keeps what it is given."""

    def __init__(self) -> None:
        self.heard: list[tuple[Event, Reply]] = []
        self._news = asyncio.Event()

    async def receive(self, event: Event, reply: Reply) -> None:
        """Keep one event."""
        self.heard.append((event, reply))
        self._news.set()

    async def count(self, number: int) -> None:
        """Wait until ``number`` events were given. Raises TimeoutError."""
        async with patience(10, lambda: [event for event, _ in self.heard]):
            while len(self.heard) < number:
                self._news.clear()
                await self._news.wait()

    async def question(self, number: int = 0) -> tuple[Message, Reply]:
        """The event ``number`` (from 0), which has to be a message, and where its answer goes."""
        await self.count(number + 1)
        event, reply = self.heard[number]
        assert isinstance(event, Message), event
        return event, reply
