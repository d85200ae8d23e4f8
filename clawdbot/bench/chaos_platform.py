"""A platform in memory on which calls go wrong by a plan, connections drop, and bots die in the middle of a call."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Literal, TypeVar

from clawdbot.chat import Bucket, Conversation, Frame, Limits, Message, Pace, Person, Rate, Receive
from clawdbot.clock import Clock
from clawdbot.errors import AdapterError, Gone, Limited, Unreachable, Unsure
from clawdbot.testing.faults import Fault, Faults, Trouble
from clawdbot.testing.memory import Call, Mishap, limits
from clawdbot.testing.rig import PlatformPost, PlatformReply

Flavour = Literal["discord", "telegram"]
METHODS = ("send", "edit", "typing")
TRAVEL = 0.05
"""Seconds that a call takes."""
AGAIN_WITHIN = 60.0
"""A message is delivered again within so many seconds."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kind:
    """What sets the platforms apart."""

    flavour: Flavour
    size: int
    """Characters of one message."""
    remembers: bool
    """Whether a repeated send is recognised by its key."""

    def limits(self, chat: int) -> Limits:
        """What is allowed in a chat: about what the real platform allows."""
        name = f"{self.flavour}:{chat}"
        if self.flavour == "discord":
            pace = Pace((0.4, 0.6, 0.9), ((0.0, 1.25),))
            found = limits(size=self.size, place=(Rate(5, 5.0),), pace=pace, name=name)
            return replace(found, bot=Bucket("discord", (Rate(50, 1.0),)))
        pace = Pace((0.4, 0.8), ((10.0, 1.0), (12.0, 1.4), (30.0, 1.4), (60.0, 3.0)))
        found = limits(size=self.size, place=(Rate(3, 1.1), Rate(34, 30.5)), pace=pace, name=name, shared=True)
        return replace(found, bot=Bucket("telegram", (Rate(30, 1.05),)))


KINDS = (Kind("discord", 2000, remembers=True), Kind("telegram", 4096, remembers=False))


class Platform:
    """What outlives every bot: the screens, the messages that no bot has confirmed, the closed buckets."""

    def __init__(self, kind: Kind, clock: Clock, faults: Faults, random: Random, rate: float) -> None:
        """``rate``: how many messages are delivered again, 0 to 1; ``faults`` decide about the bot's calls."""
        self.kind = kind
        self.clock = clock
        self.faults = faults
        self.replies: dict[str, PlatformReply] = {}
        """What stands below each message, by its id, the number of the question."""
        self.counted: Counter[str] = Counter()
        """What happened besides faults of calls: "redelivered", "gateway_drop"."""
        self.unanswered_sends: Counter[str] = Counter()
        """By message id: sends that had their effect and whose answer never came."""
        self.early = 0
        """Calls to a bucket that had been closed at an earlier time, also by a bot that died since."""
        self.line: Line | None = None
        """The bot that is connected."""
        self._random = random
        self._rate = rate
        self._unconfirmed: dict[str, Message] = {}
        self._closed: dict[str, tuple[float, float]] = {}
        """By bucket, since when and until when it is closed."""
        self._changed: dict[str, asyncio.Event] = {}

    def ask(self, number: int, chat: int, text: str) -> None:
        """Somebody writes; it is delivered until a bot has confirmed it."""
        allowed = self.kind.limits(chat)
        name = str(number)
        self.replies[name] = PlatformReply(
            self.clock,
            allowed,
            ref=name,
            remembers=self.kind.remembers,
            faults=partial(self._mishap, allowed),
        )
        where = Conversation(self.kind.flavour, chat, private=True)
        message = Message(name, where, Person(chat, f"Person {chat}"), text, self.clock.now(), self.clock.wall())
        self._unconfirmed[name] = message
        if self.line is not None:
            self.line.hand(message)

    def connect(self, line: "Line") -> None:
        """A bot listens; what was not confirmed is delivered again."""
        self.line = line
        for message in self._unconfirmed.values():
            line.hand(message)

    def drop(self) -> None:
        """The connection breaks, if there is one."""
        if self.line is not None:
            self.counted["gateway_drop"] += 1
            self.line.drop()

    def confirm(self, message: Message) -> float | None:
        """A bot has taken it; after how many seconds it is delivered once more all the same, None for never."""
        if self._unconfirmed.pop(message.id, None) is None or self._random.random() >= self._rate:
            return None
        return self._random.uniform(0, AGAIN_WITHIN)

    async def change(self, name: str) -> None:
        """Return when something may have changed below a message."""
        event = self._changed.setdefault(name, asyncio.Event())
        event.clear()
        await event.wait()

    def touch(self, name: str) -> None:
        """Note that something may have changed below a message."""
        if name in self._changed:
            self._changed[name].set()

    def _mishap(self, allowed: Limits, call: Call) -> Mishap:
        bucket = {"send": allowed.sends, "edit": allowed.edits, "typing": allowed.typing or allowed.bot}[call.method]
        since, until = self._closed.get(bucket.key, (0.0, 0.0))
        if until > call.at:
            self.early += since < call.at
            return Mishap(Limited(until - call.at))
        fault = self.faults.take(call.method)
        if fault is None:
            return Mishap(delay=TRAVEL / 2, hold=TRAVEL / 2)
        if fault.trouble is Trouble.LIMITED:
            self._closed[bucket.key] = (call.at, call.at + fault.seconds)
        return mishap(fault)


def mishap(fault: Fault) -> Mishap:
    """What a call with this fault meets: what an adapter makes of the platform's answer."""
    match fault.trouble:
        case Trouble.LIMITED:
            return Mishap(Limited(fault.seconds))
        case Trouble.ERROR | Trouble.BAD_GATEWAY:
            return Mishap(Unreachable("The platform is out of order."), delay=TRAVEL)
        case Trouble.RESET_BEFORE | Trouble.RESET_AFTER:
            lost = Unsure("The connection broke.")
            return Mishap(lost, delay=TRAVEL, landed=fault.trouble.acted)
    return Mishap(Unsure("No answer."), delay=TRAVEL, hold=fault.seconds, landed=fault.trouble.acted)


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
        now = self._platform.clock.now()
        await receive(replace(message, received_at=now), self.reply(message.id))
        again = self._platform.confirm(message)
        if again is not None:
            await self._platform.clock.sleep(again)
            if self._platform.line is self:
                self._platform.counted["redelivered"] += 1
                await receive(replace(message, received_at=self._platform.clock.now()), self.reply(message.id))


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
