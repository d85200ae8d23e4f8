"""Channels in which calls are of no use at present, remembered so that none is made in vain (pure)."""

from collections import OrderedDict
from typing import TypeVar

from clawdbot.errors import DeliveryError, Forbidden, Gone, Limited

V = TypeVar("V")

REMEMBERED = 1000
"""So many channels are; each forgotten one costs a refused call."""


class Places:
    """What Discord has refused, by channel. Times are seconds of `Clock.now`."""

    def __init__(self) -> None:
        self._closed: OrderedDict[int, DeliveryError] = OrderedDict()
        """Where the bot may not write, or nothing is any more, until somebody speaks to it there."""
        self._crowded: OrderedDict[int, float] = OrderedDict()
        """Where everybody together has written too much, and until when."""
        self._no_references: OrderedDict[int, None] = OrderedDict()
        """Where messages cannot point at others."""

    def check(self, channel: int, now: float) -> None:
        """Raises `Forbidden`, `Gone` or `Limited` where a call would be refused."""
        error = self._closed.get(channel)
        if error is not None:
            raise type(error)(str(error))
        until = self._crowded.get(channel, now)
        if until > now:
            raise Limited(until - now)

    def close(self, channel: int, error: Forbidden | Gone) -> None:
        """Refuse every call with ``error`` until `open`."""
        _keep(self._closed, channel, error)

    def open(self, channel: int) -> None:
        """Somebody speaks to the bot there: perhaps it may answer again."""
        self._closed.pop(channel, None)

    def crowd(self, channel: int, until: float) -> None:
        """Refuse every call until then."""
        _keep(self._crowded, channel, until)

    def takes_references(self, channel: int) -> bool:
        """Whether a message may point at another one."""
        return channel not in self._no_references

    def refuse_references(self, channel: int) -> None:
        """Let no message point at another one; a permission is missing."""
        _keep(self._no_references, channel, None)


def _keep(kept: OrderedDict[int, V], channel: int, value: V) -> None:
    kept[channel] = value
    if len(kept) > REMEMBERED:
        kept.popitem(last=False)
