"""A platform in memory: a `Reply` whose messages are kept as a user would have seen them, with times and faults."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Literal, get_args

from clawdbot.attached import Attachment
from clawdbot.chat import Bucket, Frame, Limits, Pace, Rate, State
from clawdbot.clock import Clock
from clawdbot.errors import DeliveryError, Gone, Limited, Rejected

Method = Literal["send", "edit", "typing", "fetch"]


def limits(
    *,
    size: int = 2000,
    place: tuple[Rate, ...] = (Rate(1000, 1.0),),
    bot: tuple[Rate, ...] = (Rate(1000, 1.0),),
    pace: Pace | None = None,
    name: str = "memory",
    shared: bool = False,
) -> Limits:
    """Generous limits for the place ``name``.

    Sends, edits and typing have a bucket each with the rates ``place``, as on Discord; ``shared`` gives them one
    together, as on Telegram.
    """
    sends, edits, typing = (Bucket(name if shared else f"{name}:{kind}", place) for kind in ("send", "edit", "typing"))
    return Limits(
        fits=lambda text: len(text) <= size,
        size=size,
        sends=sends,
        edits=edits,
        typing=typing,
        bot=Bucket("memory:bot", bot),
        pace=pace or Pace(first=(0.4, 0.6), by_age=((0.0, 1.0),)),
    )


@dataclass(frozen=True, slots=True)
class Call:
    """One call that reached the platform; ``part`` counts the reply's messages from 0, -1 for typing and files."""

    at: float
    method: Method
    part: int
    frame: Frame | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class Mishap:
    """What goes wrong with one call.

    It takes ``delay`` seconds before it has its effect and ``hold`` more before it returns; then it raises ``error``,
    if there is one. With ``landed`` it has its effect all the same, as a call whose answer got lost.
    """

    error: DeliveryError | None = None
    delay: float = 0.0
    hold: float = 0.0
    landed: bool = False
    late: float | None = None
    """Seconds after which it has its effect although it has raised."""


NO_MISHAP = Mishap()


@dataclass(frozen=True, slots=True)
class Seen:
    """From ``at`` on a user saw ``text`` in the reply's message number ``part``."""

    at: float
    part: int
    text: str
    state: State


class Screen:
    """What a user sees of one reply, and everything that was seen before."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.history: list[Seen] = []

    @property
    def texts(self) -> list[str]:
        """The text of each message, in the order in which they were posted."""
        return [frame.text for frame in self.frames]

    @property
    def states(self) -> list[State]:
        """The state of each message."""
        return [frame.state for frame in self.frames]

    def seen(self, part: int = 0) -> list[str]:
        """All texts that message number ``part`` has shown, the oldest first."""
        return [state.text for state in self.history if state.part == part]

    def put(self, part: int, frame: Frame, at: float) -> None:
        """Show ``frame`` as message number ``part``; the next free number posts a new message."""
        self.frames[part : part + 1] = [frame]
        self.history.append(Seen(at, part, frame.text, frame.state))


class MemoryPost:
    """One message of a `MemoryReply`."""

    def __init__(self, reply: "MemoryReply", part: int) -> None:
        self._reply = reply
        self._part = part

    @property
    def ref(self) -> str:
        return str(self._part)

    async def edit(self, frame: Frame) -> None:
        await self._reply.show("edit", self._part, frame)


class MemoryReply:
    """A `Reply` in memory, and `Fetching`: ``contents`` holds what was attached, by `Attachment.ref`.

    Like a platform it refuses texts that do not fit or show nothing (`Rejected`), messages that were deleted (`Gone`)
    and every call to a bucket that it has asked to leave alone (`Limited`). ``remembers`` says whether a second send
    with the same key returns the first message, as on Discord, or posts another one, as on Telegram.
    """

    def __init__(
        self,
        clock: Clock,
        allowed: Limits | None = None,
        *,
        ref: str = "memory",
        remembers: bool = True,
        faults: Callable[[Call], Mishap] | None = None,
    ) -> None:
        self.screen = Screen()
        self.calls: list[Call] = []
        self.early: list[Call] = []
        """Calls made although the platform had asked to wait."""
        self.in_flight = 0
        """Sends and edits under way."""
        self.most_in_flight = 0
        self._clock = clock
        self._limits = allowed or limits()
        self._ref = ref
        self._remembers = remembers
        self._faults = faults
        self.contents: dict[str, bytes] = {}
        self._queued: dict[Method, deque[Mishap]] = {method: deque() for method in get_args(Method)}
        self._closed_until: dict[str, float] = {}
        self._keys: dict[str, int] = {}
        self._deleted: set[int] = set()

    @property
    def ref(self) -> str:
        return self._ref

    @property
    def limits(self) -> Limits:
        return self._limits

    def inject(self, method: Method, *faults: Mishap) -> None:
        """Let the next calls of ``method`` meet ``faults``, one each; `NO_MISHAP` lets one pass."""
        self._queued[method].extend(faults)

    def delete(self, part: int) -> None:
        """Remove a message, as its reader might: what it showed stays in the history, edits of it raise `Gone`."""
        self._deleted.add(part)

    def made(self, method: Method) -> list[Call]:
        """The calls of one method."""
        return [call for call in self.calls if call.method == method]

    def post(self, ref: str) -> MemoryPost:
        return MemoryPost(self, int(ref))

    async def send(self, frame: Frame, key: str) -> MemoryPost:
        return MemoryPost(self, await self.show("send", len(self.screen.frames), frame, key))

    async def typing(self) -> None:
        fault = self._begin(Call(self._clock.now(), "typing", -1))
        await self._pass(fault.delay + fault.hold)
        self._end("typing", fault)

    async def fetch(self, file: Attachment, most: int) -> bytes:
        fault = self._begin(Call(self._clock.now(), "fetch", -1))
        await self._pass(fault.delay + fault.hold)
        self._end("fetch", fault)
        if file.ref not in self.contents:
            raise Gone(f"{file.name} was deleted.")
        return self.contents[file.ref][: most + 1]

    async def show(self, method: Method, part: int, frame: Frame, key: str = "") -> int:
        """Make one call; the number of the message that shows ``frame`` now."""
        fault = self._begin(Call(self._clock.now(), method, part, frame, key))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await self._pass(fault.delay)
            if fault.error is None or fault.landed:
                self._check(part, frame)
                part = self._land(part, frame, key)
            elif fault.late is not None:
                self._clock.alarm(fault.late, lambda: self.screen.put(part, frame, self._clock.now()))
            await self._pass(fault.hold)
            self._end(method, fault)
        finally:
            self.in_flight -= 1
        return part

    async def _pass(self, seconds: float) -> None:
        if seconds:
            await self._clock.sleep(seconds)

    def _begin(self, call: Call) -> Mishap:
        self.calls.append(call)
        wait = self._closed_until.get(self._bucket(call.method).key, -inf) - call.at
        if wait > 0:
            self.early.append(call)
            return Mishap(Limited(wait))
        queued = self._queued[call.method]
        if queued:
            return queued.popleft()
        return self._faults(call) if self._faults else NO_MISHAP

    def _end(self, method: Method, fault: Mishap) -> None:
        if isinstance(fault.error, Limited):
            methods: tuple[Method, ...] = ("send", "edit", "typing") if fault.error.everywhere else (method,)
            for each in methods:
                self._closed_until[self._bucket(each).key] = self._clock.now() + fault.error.retry_after
        if fault.error is not None:
            raise fault.error

    def _bucket(self, method: Method) -> Bucket:
        typing, bot = self._limits.typing or self._limits.bot, self._limits.bot
        return {"send": self._limits.sends, "edit": self._limits.edits, "typing": typing, "fetch": bot}[method]

    def _check(self, part: int, frame: Frame) -> None:
        if part in self._deleted:
            raise Gone(f"Message {part} was deleted.")
        if not frame.text.strip() and not frame.files:
            raise Rejected("The message is empty.")
        if not self._limits.fits(f"{frame.text}\n\n*{frame.footnote}*" if frame.footnote else frame.text):
            raise Rejected(f"The message is too long: {len(frame.text)} characters.")

    def _land(self, part: int, frame: Frame, key: str) -> int:
        known = self._keys.get(key) if key and self._remembers else None
        if known is not None:
            return known
        # Others may have been posted while this one was on its way.
        part = len(self.screen.frames) if key else part
        self._keys[key] = part
        self.screen.put(part, frame, self._clock.now())
        return part
