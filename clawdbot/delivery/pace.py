"""When a call to a platform may be made and when the next frame of a growing message is wanted.

Everything here is arithmetic on times that are passed in, seconds of `Clock.now`.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from math import inf

from clawdbot.chat import Bucket, Pace, Rate
from clawdbot.errors import Limited
from clawdbot.latency.observed import Observe, unobserved

# A reply that is alone in its bucket may use the place that is kept for its final when the window gives one back within
# so many seconds: a quick beginning is then not paid for with a long stop, and the final waits no longer than this.
LENT = 1.0
# So many who wait for a place are told the moment when it comes back, any more some moment of the second after it: a
# thousand would else wake for every place that comes back, to find it taken.
AT_ONCE = 8
APART = 1.0
GOLDEN = 0.6180339887
# How many buckets are kept before idle ones are looked for; below that looking costs more than it frees.
SWEEP_AT = 64


class Urgency(Enum):
    """What a call is for; the value is the part of every rate that it leaves to more urgent ones.

    So finals come first, then first frames, then growing ones, without a queue: a bucket that is empty for growing
    frames still has places for a final. A fifth of five edits is one: the last place of Discord's window is a final's.
    """

    SPARE = 0.5
    """Typing and notices. They always leave a place, so that the first text finds one."""
    GROWING = 0.2
    FIRST = 0.1
    FINAL = 0.0

    def places(self, rate: Rate) -> int:
        """How many of ``rate.calls`` it may use."""
        kept = int(rate.calls * self.value)
        return rate.calls - (max(1, kept) if self is Urgency.SPARE else kept)


@dataclass(slots=True)
class _Told:
    """Those who were told the moment when a place comes back."""

    at: float
    numbers: dict[str, int] = field(default_factory=dict)
    """Each by the order of first asking: who asks twice hears the same."""

    def moment_for(self, who: str) -> float:
        number = self.numbers.setdefault(who, len(self.numbers))
        return self.at if number < AT_ONCE else self.at + number * GOLDEN % 1.0 * APART


@dataclass(slots=True)
class _Ledger:
    """What one bucket has seen."""

    rates: tuple[Rate, ...]
    stamps: list[float] = field(default_factory=list)
    """When the calls of the longest window returned, the oldest first."""
    under_way: int = 0
    """Calls that have not returned: the platform may count them as late as now."""
    closed_until: float = -inf
    streams: int = 0
    told: dict[Urgency, "_Told"] = field(default_factory=dict)
    """Who waits for the next place."""

    def ready_at(self, urgency: Urgency, now: float, who: str) -> float:
        at = max((self._free_at(rate, urgency, now) for rate in self.rates), default=self.closed_until)
        if at <= now:
            return at
        told = self.told.get(urgency)
        if told is None or told.at != at:
            told = self.told[urgency] = _Told(at)
        return told.moment_for(who)

    def _free_at(self, rate: Rate, urgency: Urgency, now: float) -> float:
        places = urgency.places(rate)
        if not places:
            return inf
        if urgency is Urgency.GROWING and self.streams < 2:
            # No other final can come, and for its own one place is enough.
            kept = self._back_at(max(1, rate.calls - 1), rate, now)
            at = max(kept - LENT, self._back_at(rate.calls, rate, now))
        else:
            at = self._back_at(places, rate, now)
        return max(at, self.closed_until)

    def _back_at(self, places: int, rate: Rate, now: float) -> float:
        """When fewer than ``places`` calls are in the window, at the earliest."""
        returned = places - self.under_way
        if returned <= 0:
            return now + rate.seconds
        return self.stamps[-returned] + rate.seconds if len(self.stamps) >= returned else -inf

    def fair_at(self, last: float) -> float:
        """When all live replies have had their turn; at once for a reply that is alone."""
        if self.streams < 2:
            return last
        turns = (rate.seconds / Urgency.GROWING.places(rate) for rate in self.rates)
        return last + self.streams * max(turns, default=0.0)

    def room(self, now: float) -> "Room":
        ages = (now - rate.seconds for rate in self.rates)
        calls = tuple(len(self.stamps) - bisect_right(self.stamps, age) + self.under_way for age in ages)
        return Room(self.rates, calls, max(0.0, self.closed_until - now))

    def forget(self, now: float) -> None:
        longest = max((rate.seconds for rate in self.rates), default=0.0)
        del self.stamps[: bisect_right(self.stamps, now - longest)]

    def idle(self, now: float) -> bool:
        self.forget(now)
        return not (self.stamps or self.under_way or self.streams) and self.closed_until <= now


@dataclass(frozen=True, slots=True)
class Room:
    """How full a bucket is."""

    rates: tuple[Rate, ...]
    calls: tuple[int, ...]
    """Those within the window of each rate, calls under way included."""
    closed: float
    """Seconds for which the platform wants no further ones; 0 when it takes them."""

    @property
    def in_use(self) -> bool:
        """Whether anything is known of it but its rates."""
        return any(self.calls) or self.closed > 0


class Budgets:
    """How much room the platforms' buckets have, for all live replies of the process together."""

    def __init__(self, observe: Observe = unobserved) -> None:
        self.observe = observe
        """Who is told of every call that spends from them."""
        self._ledgers: dict[str, _Ledger] = {}
        self._sweep_at = SWEEP_AT

    def __len__(self) -> int:
        """How many buckets are remembered."""
        return len(self._ledgers)

    def ready_at(self, buckets: Iterable[Bucket], urgency: Urgency, now: float, who: str) -> float:
        """The earliest time for a call that spends from all of ``buckets``; in the past when it may be made at once.

        ``who`` is the `Reply.ref` of the answer that asks: of many who wait for a place most are told a later time.
        Calls under way may put it off when they return, so ask again then. Infinite when a bucket is too small to hold
        a place for such a call.
        """
        return max(self._ledger(bucket).ready_at(urgency, now, who) for bucket in buckets)

    def spend(self, buckets: Iterable[Bucket], now: float) -> None:
        """Take a place for a call that is made ``now``; `returned` must follow, however it ends."""
        for bucket in buckets:
            self._ledger(bucket).under_way += 1
        if len(self._ledgers) >= self._sweep_at:
            self._sweep(now)

    def returned(self, buckets: Iterable[Bucket], now: float) -> None:
        """Note that a call has returned ``now``: its place is free again a window's length later.

        The platform counted it at some time before. Of any calls that it counts within one window, the one made last
        found all the others in here, whatever the way there took: so none of them is one too many.
        """
        for bucket in buckets:
            ledger = self._ledger(bucket)
            ledger.under_way -= 1
            ledger.forget(now)
            ledger.stamps.append(now)

    def refuse(self, place: Bucket, bot: Bucket, refusal: Limited, now: float) -> None:
        """Note that the platform has refused a call ``now``, which spent from the place's bucket and the whole bot's.

        The one that the refusal holds for stays closed as long as it says, or as an earlier one that lasts longer.
        """
        ledger = self._ledger(bot if refusal.everywhere else place)
        ledger.closed_until = max(ledger.closed_until, now + refusal.retry_after)

    def closed_until(self, bucket: Bucket) -> float:
        """Until when the platform has asked to leave ``bucket`` alone; in the past when it has not."""
        return self._ledger(bucket).closed_until

    def rooms(self, now: float) -> dict[str, Room]:
        """How full each bucket is that is remembered, by its key."""
        return {key: ledger.room(now) for key, ledger in self._ledgers.items()}

    def join(self, buckets: Iterable[Bucket]) -> None:
        """Count one more growing reply that spends from ``buckets``; `leave` ends it."""
        for bucket in buckets:
            self._ledger(bucket).streams += 1

    def leave(self, buckets: Iterable[Bucket]) -> None:
        """Count one growing reply less."""
        for bucket in buckets:
            self._ledger(bucket).streams -= 1

    def fair_at(self, buckets: Iterable[Bucket], last: float) -> float:
        """When a growing reply whose last frame was at ``last`` may show the next, so that all get their turn."""
        return max(self._ledger(bucket).fair_at(last) for bucket in buckets)

    def _ledger(self, bucket: Bucket) -> _Ledger:
        ledger = self._ledgers.get(bucket.key)
        if ledger is None:
            ledger = self._ledgers[bucket.key] = _Ledger(bucket.rates)
        return ledger

    def _sweep(self, now: float) -> None:
        self._ledgers = {key: ledger for key, ledger in self._ledgers.items() if not ledger.idle(now)}
        self._sweep_at = max(SWEEP_AT, 2 * len(self._ledgers))


def next_frame_at(pace: Pace, frames: int, first_at: float, last_at: float) -> float:
    """When the next frame is wanted after ``frames`` of them, the first at ``first_at``, the last at ``last_at``."""
    if not frames:
        return -inf
    if frames <= len(pace.first):
        return last_at + pace.first[frames - 1]
    return last_at + _level(pace.by_age, last_at - first_at)


def _level(corners: tuple[tuple[float, float], ...], x: float) -> float:
    """The height at ``x`` of straight lines through ``corners``, level outside."""
    if x <= corners[0][0]:
        return corners[0][1]
    for (x0, y0), (x1, y1) in pairwise(corners):
        if x <= x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return corners[-1][1]
