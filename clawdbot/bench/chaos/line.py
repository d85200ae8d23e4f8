"""One bot's connection to a platform in memory: it drops, and ends in the middle of a call when the bot is killed."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from clawdbot.bench.chaos.platform import Platform
from clawdbot.chat import Frame, Limits, Message, Receive
from clawdbot.errors import AdapterError, Gone
from clawdbot.testing.rig import PlatformPost, PlatformReply

T = TypeVar("T")


class Line:
    """One bot's connection to the platform, an `Adapter`. `cut` is what the platform sees when the bot is killed."""

    def __init__(self, platform: Platform) -> None:
        self.online = asyncio.Event()
        self._platform = platform
        self._dropped = asyncio.Event()
        self._cut = asyncio.Event()
        self._receive: Receive | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, receive: Receive) -> None:
        """See `Adapter.run`."""
        self._receive = receive
        self._dropped.clear()
        self._platform.connect(self)
        self.online.set()
        try:
            await self._dropped.wait()
        finally:
            self._platform.line = None
        raise AdapterError("The connection dropped.")

    def reply(self, ref: str) -> "LineReply":
        """See `Adapter.reply`."""
        return LineReply(self._platform.replies[ref], self)

    def hand(self, message: Message) -> None:
        """Deliver a message; it is confirmed when the bot says that it is durable."""
        task = asyncio.create_task(self._hand(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def drop(self) -> None:
        """Let `run` fail."""
        self._dropped.set()

    def cut(self) -> None:
        """From now on no call has an effect or an answer, and nothing is confirmed."""
        self._cut.set()
        self._platform.line = None
        for task in self._tasks:
            task.cancel()

    async def carry(self, name: str, call: Awaitable[T], landed: Callable[[], int] = lambda: 0) -> T:
        """One call over this connection. Raises `DeliveryError`, `Gone` when the bot that made it is dead.

        ``landed`` counts messages: one more, and no answer, means that the bot cannot know of it.
        """
        before, answered = landed(), False
        task, cut = asyncio.ensure_future(call), asyncio.ensure_future(self._cut.wait())
        try:
            await asyncio.wait((task, cut), return_when=asyncio.FIRST_COMPLETED)
            if self._cut.is_set():
                raise Gone("The bot is dead.")
            result = task.result()
            answered = True
            return result
        finally:
            task.cancel()
            cut.cancel()
            if not answered:
                self._platform.unanswered_sends[name] += landed() - before
            self._platform.touch(name)

    async def _hand(self, message: Message) -> None:
        receive = self._receive
        if receive is None or self._cut.is_set():
            return
        await receive(replace(message, received_at=self._platform.clock.now()), self.reply(message.id))
        self._platform.confirm(message)


class LineReply:
    """A `Reply` over one bot's connection."""

    def __init__(self, reply: PlatformReply, line: Line) -> None:
        self._reply = reply
        self._line = line

    @property
    def ref(self) -> str:
        """See `Reply.ref`."""
        return self._reply.ref

    @property
    def limits(self) -> Limits:
        """See `Reply.limits`."""
        return self._reply.limits

    async def send(self, frame: Frame, key: str) -> "LinePost":
        """See `Reply.send`."""
        there = self._reply.screen.frames
        post = await self._line.carry(self.ref, self._reply.send(frame, key), lambda: len(there))
        return LinePost(post, self.ref, self._line)

    def post(self, ref: str) -> "LinePost":
        """See `Reply.post`."""
        return LinePost(self._reply.post(ref), self.ref, self._line)

    async def typing(self) -> None:
        """See `Reply.typing`."""
        await self._line.carry(self.ref, self._reply.typing())


class LinePost:
    """A `Post` over one bot's connection."""

    def __init__(self, post: PlatformPost, reply: str, line: Line) -> None:
        self._post = post
        self._reply = reply
        self._line = line

    @property
    def ref(self) -> str:
        """See `Post.ref`."""
        return self._post.ref

    async def edit(self, frame: Frame) -> None:
        """See `Post.edit`."""
        await self._line.carry(self._reply, self._post.edit(frame))
