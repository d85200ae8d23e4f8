"""Many people who talk to the bot at once, on a platform in memory that has no limits."""

import asyncio
from dataclasses import dataclass
from random import Random

from clawdbot.chat import Conversation, Frame, Limits, Message, Pace, Person, Receive, State
from clawdbot.clock import Clock
from clawdbot.testing.memory import limits

NAME = "memory"
"""The platform's."""
SPREAD = 2.0
"""Seconds within which all of them begin."""
PACE = Pace(first=(0.4, 0.6, 0.9), by_age=((0.0, 1.25),))
"""Discord's, the faster one for long answers."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """How many people, and for how long they talk."""

    conversations: int
    seconds: float
    """For so long everybody who is answered asks again."""
    seed: int


class Screen:
    """A `Reply` that keeps the time of its first text, and the latest text of each of its messages."""

    def __init__(self, number: int, allowed: Limits, clock: Clock) -> None:
        self.texts: list[str] = []
        self.first_text: float | None = None
        """When the first text of the answer came, seconds of `Clock.now`."""
        self.complete = asyncio.Event()
        self._ref = str(number)
        self._limits = allowed
        self._clock = clock

    @property
    def ref(self) -> str:
        return self._ref

    @property
    def limits(self) -> Limits:
        return self._limits

    async def send(self, frame: Frame, key: str) -> "Part":
        part = Part(self, len(self.texts))
        self.texts.append("")
        await part.edit(frame)
        return part

    def post(self, ref: str) -> "Part":
        return Part(self, int(ref.rpartition("/")[2]))

    async def typing(self) -> None:
        await asyncio.sleep(0)

    def show(self, number: int, frame: Frame) -> None:
        """Let message ``number`` show ``frame``."""
        self.texts[number] = frame.text
        if self.first_text is None and frame.state is not State.WAITING:
            self.first_text = self._clock.now()
        if frame.last and frame.state.lasting:
            self.complete.set()


@dataclass(frozen=True, slots=True)
class Part:
    """A `Post`: one message of a `Screen`. Its edits take a turn of the loop."""

    screen: Screen
    number: int

    @property
    def ref(self) -> str:
        return f"{self.screen.ref}/{self.number}"

    async def edit(self, frame: Frame) -> None:
        await asyncio.sleep(0)
        self.screen.show(self.number, frame)


class Square:
    """An `Adapter`: the place where the crowd talks, each person in private."""

    def __init__(self, crowd: Crowd, clock: Clock) -> None:
        self.screens: list[Screen] = []
        """Below each question, by its number."""
        self._crowd = crowd
        self._clock = clock
        self._receive: asyncio.Future[Receive] = asyncio.get_running_loop().create_future()

    async def run(self, receive: Receive) -> None:
        self._receive.set_result(receive)
        await asyncio.Event().wait()

    def reply(self, ref: str) -> Screen:
        return self.screens[int(ref)]

    async def open(self) -> None:
        """Wait until the bot listens."""
        await self._receive

    async def play(self) -> None:
        """Let everybody talk until the time is over; returns when all are answered."""
        random = Random(self._crowd.seed)
        receive = await self._receive
        end = self._clock.now() + self._crowd.seconds
        async with asyncio.TaskGroup() as group:
            for person in range(1, self._crowd.conversations + 1):
                group.create_task(self._talk(receive, person, random.uniform(0.0, SPREAD), end))

    async def _talk(self, receive: Receive, person: int, wait: float, end: float) -> None:
        await self._clock.sleep(wait)
        allowed = limits(size=2000, place=(), bot=(), pace=PACE, name=f"chat {person}")
        where = Conversation(NAME, person, private=True)
        while self._clock.now() < end:
            number = len(self.screens)
            screen = Screen(number, allowed, self._clock)
            self.screens.append(screen)
            text = f"Question {number}: what do you know about it?"
            await receive(Message(str(number), where, Person(person, "somebody"), text, self._clock.now()), screen)
            await screen.complete.wait()
