"""A platform in memory on which calls go wrong by a plan and messages are delivered until a bot has confirmed them."""

import asyncio
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Literal, Protocol

from clawdbot.bench.chaos.plan import FaultDraw
from clawdbot.chat import Bucket, Conversation, Limits, Message, Pace, Person, Rate
from clawdbot.clock import Clock
from clawdbot.errors import Limited, Unreachable, Unsure
from clawdbot.testing.faults import Fault, Faults, Trouble
from clawdbot.testing.memory import Call, Mishap, limits
from clawdbot.testing.rig import PlatformReply

Flavour = Literal["discord", "telegram"]
METHODS = ("send", "edit", "typing")
TRAVEL = 0.05
"""Seconds that a call takes."""
AGAIN_WITHIN = 60.0
"""A message is delivered again within so many seconds."""


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


class Connection(Protocol):
    """A bot that listens."""

    def hand(self, message: Message) -> None:
        """Deliver a message; it is confirmed when the bot says that it is durable."""
        ...

    def drop(self) -> None:
        """Break the connection; the bot may connect again."""
        ...


class Platform:
    """What outlives every bot: the screens, the messages that no bot has confirmed, the closed buckets."""

    def __init__(self, kind: Kind, clock: Clock, seed: str, rate: float) -> None:
        """``rate``: how many of the calls go wrong and how many messages are delivered again, 0 to 1.

        What happens to an answer is drawn for it alone: it does not depend on who else makes a call at the same time.
        """
        self.kind = kind
        self.clock = clock
        self.replies: dict[str, PlatformReply] = {}
        """What stands below each message, by its id, the number of the question."""
        self.faults: dict[str, Faults] = {}
        """What decides about the calls of each answer."""
        self.counted: Counter[str] = Counter()
        """What happened besides faults of calls: "redelivered", "gateway_drop"."""
        self.unanswered_sends: Counter[str] = Counter()
        """By message id: sends that had their effect and whose answer never came."""
        self.early = 0
        """Calls to a bucket that had been closed at an earlier time, also by a bot that died since."""
        self.line: Connection | None = None
        """The bot that is connected."""
        self._seed = seed
        self._rate = rate
        self._unconfirmed: dict[str, Message] = {}
        self._handed: Counter[str] = Counter()
        """By message id, how often it was delivered."""
        self._repeats: set[asyncio.Task[None]] = set()
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
            faults=partial(self._mishap, allowed, name),
        )
        self.faults[name] = Faults(FaultDraw(self._random(f"{name}/calls"), self._rate, METHODS))
        where = Conversation(self.kind.flavour, chat, private=True)
        message = Message(name, where, Person(chat, f"Person {chat}"), text, self.clock.now(), self.clock.wall())
        self._deliver(message)

    def connect(self, line: Connection) -> None:
        """A bot listens; what was not confirmed is delivered again."""
        self.line = line
        for message in list(self._unconfirmed.values()):
            self._deliver(message)

    def drop(self) -> None:
        """The connection breaks, if there is one."""
        if self.line is not None:
            self.counted["gateway_drop"] += 1
            self.line.drop()

    def confirm(self, message: Message) -> None:
        """A bot has taken it; some are delivered once more all the same, perhaps to its next life."""
        self._unconfirmed.pop(message.id, None)
        random = self._random(f"{message.id}/again")
        if self._handed[message.id] == 1 and random.random() < self._rate:
            task = asyncio.create_task(self._repeat(message, random.uniform(0, AGAIN_WITHIN)))
            self._repeats.add(task)
            task.add_done_callback(self._repeats.discard)

    async def change(self, name: str) -> None:
        """Return when something may have changed below a message."""
        event = self._changed.setdefault(name, asyncio.Event())
        event.clear()
        await event.wait()

    def touch(self, name: str) -> None:
        """Note that something may have changed below a message."""
        if name in self._changed:
            self._changed[name].set()

    @property
    def happened(self) -> Counter[str]:
        """How often each fault happened so far."""
        injected = Counter(self.counted)
        for faults in self.faults.values():
            injected.update({trouble.value: many for trouble, many in faults.injected.items()})
        return injected

    async def _repeat(self, message: Message, seconds: float) -> None:
        await self.clock.sleep(seconds)
        self._deliver(message)

    def _deliver(self, message: Message) -> None:
        self._unconfirmed[message.id] = message
        if self.line is not None:
            self.counted["redelivered"] += self._handed[message.id] > 0
            self._handed[message.id] += 1
            self.line.hand(message)

    def _random(self, name: str) -> Random:
        return Random(f"{self._seed}/{name}")

    def _mishap(self, allowed: Limits, name: str, call: Call) -> Mishap:
        bucket = {"send": allowed.sends, "edit": allowed.edits, "typing": allowed.typing or allowed.bot}[call.method]
        since, until = self._closed.get(bucket.key, (0.0, 0.0))
        if until > call.at:
            self.early += since < call.at
            return Mishap(Limited(until - call.at))
        fault = self.faults[name].take(call.method)
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
