"""Wrong tokens: how long whoever gave one has to wait until another is looked at. Pure: times come in as numbers.

Everybody has some mistakes free; then each one doubles the wait. Whoever guesses from many addresses meets a wait that
is common to all, which is short, so that the owner gets in between two guesses; an address that has shown the right
token before is free of that one.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import TypeVar

V = TypeVar("V")

FREE = 3
"""Mistakes of one address without a wait."""
LONGEST = 60.0
"""Seconds that one address waits at most: 1,440 guesses a day."""
FREE_FOR_ALL = 30
"""Mistakes of all addresses together without a wait."""
LONGEST_FOR_ALL = 5.0
FORGOTTEN = 3600.0
"""Seconds after its last mistake in which an address is forgotten; the same for all together."""
MOST = 1024
"""Addresses that are remembered; those who have not been here for longest are forgotten."""


@dataclass(slots=True)
class _Mistakes:
    number: int = 0
    last: float = 0.0

    def wait(self, free: int, longest: float, now: float) -> float:
        """Seconds from ``now`` on."""
        over = self.number - free
        # No more than 2 to the 16th: it is bounded anyway, and larger powers are no floats in the end.
        span = min(2.0 ** min(over, 16), longest) if over >= 0 else 0.0
        return max(0.0, self.last + span - now)

    def add(self, now: float) -> None:
        self.number = 1 if now - self.last > FORGOTTEN else self.number + 1
        self.last = now


class Attempts:
    """Remembers who was wrong."""

    def __init__(self) -> None:
        self._wrong: OrderedDict[str, _Mistakes] = OrderedDict()
        """By address, the latest last."""
        self._right: OrderedDict[str, None] = OrderedDict()
        """Addresses that have shown the right token, likewise."""
        self._together = _Mistakes()

    def wait(self, peer: str, now: float) -> float:
        """Seconds until a token of ``peer`` is looked at; 0 for at once."""
        own = self._wrong[peer].wait(FREE, LONGEST, now) if peer in self._wrong else 0.0
        common = 0.0 if peer in self._right else self._together.wait(FREE_FOR_ALL, LONGEST_FOR_ALL, now)
        return max(own, common)

    def right(self, peer: str) -> None:
        """Somebody at ``peer`` has the token."""
        self._wrong.pop(peer, None)
        _latest(self._right, peer, None)

    def wrong(self, peer: str, now: float) -> str | None:
        """Somebody at ``peer`` has not; the sentence to log, once for each and once for many."""
        mistakes = self._wrong.get(peer, _Mistakes())
        mistakes.add(now)
        _latest(self._wrong, peer, mistakes)
        self._together.add(now)
        if self._together.number == FREE_FOR_ALL:
            return "many wrong tokens came to the bot's web server; each is looked at later now, and no more are told"
        if mistakes.number == 1 and self._together.number < FREE_FOR_ALL:
            return f"a wrong token came to the bot's web server from {peer}; further ones from there are not told"
        return None


def _latest(kept: OrderedDict[str, V], peer: str, value: V) -> None:
    kept[peer] = value
    kept.move_to_end(peer)
    if len(kept) > MOST:
        kept.popitem(last=False)
