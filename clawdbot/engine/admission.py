"""Who enters the engine next: short prompts past long ones, long ones not for ever, nobody more than a fair share.

vLLM serves waiting prompts in order, and a long prefill that runs takes its part of every step. What this adds is the
moment at which a request is handed over; scheduling stays vLLM's. `Line` decides and needs no clock and no wire;
`Admission` puts the waiting around it.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from clawdbot.clock import Clock

LEARNING = 0.3
"""How much the latest reading of a long prompt counts in the estimate of the speed."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What is let in together."""

    concurrent: int
    """Answers in the engine at the same time."""
    max_long_prefills: int
    """Long prompts that are being read at the same time."""
    patience: float
    """Seconds of waiting after which nothing that came later enters before a request."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A request that wants to enter."""

    number: int
    """Grows with every request."""
    user: str
    cost: int
    """Its prompt's uncached tokens."""
    long: bool
    """Whether reading them takes more than one step."""
    at: float
    """When it came, seconds of `Clock.now`."""


class Line:
    """The state of admission and every decision about it; no method waits."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._waiting: dict[int, Wish] = {}
        self._inside: dict[int, Wish] = {}
        """In the engine, from entering to the end of the answer."""
        self._reading: set[int] = set()
        """Those of them that are long and have no first token yet."""

    def __len__(self) -> int:
        """How many are waiting or inside."""
        return len(self._waiting) + len(self._inside)

    @property
    def concurrent(self) -> int:
        """How many are let in together."""
        return self._policy.concurrent

    @property
    def waiting(self) -> int:
        """How many are waiting."""
        return len(self._waiting)

    @property
    def inside(self) -> Collection[Wish]:
        """The requests in the engine."""
        return self._inside.values()

    @property
    def being_read(self) -> list[Wish]:
        """The long prompts that are being read."""
        return [self._inside[number] for number in self._reading]

    @property
    def quiet(self) -> bool:
        """Whether there is time for something that nobody asked for: nobody waits, nothing long is being read."""
        return not self._waiting and not self._reading and len(self._inside) < self._policy.concurrent

    def arrive(self, wish: Wish) -> None:
        """Put a request into the line."""
        self._waiting[wish.number] = wish

    def started(self, number: int) -> bool:
        """The first token of a request is there: its prompt is read. Whether it was a long one."""
        was_long = number in self._reading
        self._reading.discard(number)
        return was_long

    def leave(self, number: int) -> None:
        """A request is finished, failed or cancelled, wherever it was."""
        self._waiting.pop(number, None)
        self._inside.pop(number, None)
        self._reading.discard(number)

    def admit(self, now: float) -> list[int]:
        """Let in whoever may enter now, in this order."""
        entered = []
        while (wish := self._next(now)) is not None:
            del self._waiting[wish.number]
            self._inside[wish.number] = wish
            if wish.long:
                self._reading.add(wish.number)
            entered.append(wish.number)
        return entered

    def order(self, now: float) -> list[Wish]:
        """Who waits: out of patience first, as they came; the others by cost, which age lessens."""

        def rank(wish: Wish) -> tuple[float, int]:
            left = max(0.0, 1 - (now - wish.at) / self._policy.patience)
            return (wish.cost * left, wish.number)

        return sorted(self._waiting.values(), key=rank)

    def _next(self, now: float) -> Wish | None:
        if not self._waiting or len(self._inside) >= self._policy.concurrent:
            return None
        order = self.order(now)
        held = Counter(wish.user for wish in self._inside.values())
        users = held.keys() | {wish.user for wish in order}
        share = max(1, self._policy.concurrent // len(users))
        fair = [wish for wish in order if held[wish.user] < share]
        for wish in fair or order:
            if not wish.long or len(self._reading) < self._policy.max_long_prefills:
                return wish
        return None


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a waiting request stands."""

    ahead: int
    """How many would enter before it."""
    seconds: float | None
    """About how long that takes; None as long as nobody knows how fast prompts are read."""


@dataclass(frozen=True, slots=True)
class Depth:
    """How many requests there are."""

    waiting: int
    inside: int
    """In the engine."""
    reading: int
    """Those of them that are long prompts of which no word is written yet."""


class Admission:
    """Lets requests into the engine in the order that `Line` decides; shared by all conversations."""

    def __init__(self, policy: Policy, clock: Clock) -> None:
        self._line = Line(policy)
        self._clock = clock
        self._numbers = itertools.count()
        self._waiting: dict[int, tuple[asyncio.Event, Callable[[Standing], None]]] = {}
        """What lets each waiting request in, and whom to tell where it stands."""
        self._speed: float | None = None
        """Tokens of long prompts read a second, as seen lately; None before the first."""
        self._aside: asyncio.Task[None] | None = None
        """What is done in spare time; it has no place, so `Line` never hears of it and nobody waits for it."""
        self.on_change: Callable[[], None] = lambda: None
        """Called when somebody comes, enters, or goes."""

    @property
    def concurrent(self) -> int:
        """How many are in the engine at the same time, at most."""
        return self._line.concurrent

    @property
    def depth(self) -> "Depth":
        """How full it is now."""
        line = self._line
        return Depth(line.waiting, len(line.inside), len(line.being_read))

    @property
    def busy_aside(self) -> bool:
        """Whether something is done in spare time just now."""
        return self._aside is not None

    async def in_spare_time(self, work: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Do ``work``, which asks something of the engine, until it is done or somebody wants a place.

        Then it is cancelled at once. It is not begun at all unless the line is quiet, nor beside another one. Whether
        it was done to its end; what it raises comes out.
        """
        if self.busy_aside or not self._line.quiet:
            return False
        self._aside = task = asyncio.create_task(work())
        task.add_done_callback(self._end_aside)
        try:
            await asyncio.wait((task,))
        finally:
            if not task.done():  # whoever waits for it was cancelled
                self._make_way()
                await asyncio.wait((task,))
        return not task.cancelled() and task.result() is None

    @asynccontextmanager
    async def place(
        self, user: str, cost: int, *, long: bool, tell: Callable[[Standing], None]
    ) -> AsyncIterator["Place"]:
        """A place in the engine for the time of the block; see `Wish`.

        ``tell`` is called with every change as long as the place is waited for. The place is given back however the
        block ends, also while it is waited for.
        """
        wish = Wish(next(self._numbers), user, cost, long, self._clock.now())
        entrance = asyncio.Event()
        self._waiting[wish.number] = (entrance, tell)
        self._line.arrive(wish)
        self._make_way()
        try:
            self._admit()
            await entrance.wait()
            yield Place(self, wish, self._clock.now())
        finally:
            self._waiting.pop(wish.number, None)
            self._line.leave(wish.number)
            self._admit()

    def started(self, wish: Wish, entered: float) -> None:
        """Its prompt is read, which took from ``entered`` until now."""
        seconds = self._clock.now() - entered
        if self._line.started(wish.number) and seconds > 0:
            seen = wish.cost / seconds
            self._speed = seen if self._speed is None else self._speed + LEARNING * (seen - self._speed)
        self._admit()

    def _make_way(self) -> None:
        """End what is done in spare time. Once: a second cancellation would cut short how it ends its request."""
        if self._aside is not None and not self._aside.cancelling():
            self._aside.cancel()

    def _end_aside(self, aside: asyncio.Task[None]) -> None:
        self._aside = None
        if not aside.cancelled():
            aside.exception()  # or asyncio tells of it where whoever waited was cancelled

    def _admit(self) -> None:
        for number in self._line.admit(self._clock.now()):
            self._waiting.pop(number)[0].set()
        tokens = sum(wish.cost for wish in self._line.being_read)
        for ahead, wish in enumerate(self._line.order(self._clock.now())):
            self._waiting[wish.number][1](Standing(ahead, tokens / self._speed if self._speed else None))
            tokens += wish.cost
        self.on_change()


class Place:
    """A request's place in the engine."""

    def __init__(self, admission: Admission, wish: Wish, entered: float) -> None:
        self._admission = admission
        self._wish = wish
        self._entered = entered
        self._started = False

    def started(self) -> None:
        """Tell that the first token is there; only the first time counts."""
        if not self._started:
            self._started = True
            self._admission.started(self._wish, self._entered)
