"""What was said while nobody listened: which channels to look at, and from which message on (pure)."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

CHANNELS = 50
"""So many channels of a guild are looked at after a gap, the ones with the newest messages."""
PRIVATE_CHATS = 200
"""So many private chats are, the ones where somebody spoke last: each costs a call, whether or not it brings any."""
WATCHED = 10_000
"""For so many channels the newest message that came through the gateway is remembered."""
HANDED_OVER = 10_000
"""So many messages are remembered as handed over; a gap and the messages right behind it are rarely that many."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Messages of ``channel`` that came after the message ``after``."""

    channel: int
    after: int
    guild: int = 0
    """0 for a private chat."""


class Backlog:
    """Remembers across sessions what was heard.

    Discord replays what a resumed session missed. What no session can bring back has to be read from the channels: of
    a guild they say themselves which message is their newest, of private chats those are known that were heard before.
    """

    def __init__(self) -> None:
        self._newest: OrderedDict[int, tuple[int, int]] = OrderedDict()
        """By channel: its guild (0: private) and the newest message heard in it. Where people spoke last comes last."""
        self._heard_before: dict[int, tuple[int, int]] = {}
        """The same as it was when the present session began."""
        self._unread: dict[int, Gap] = {}
        """By channel: what was to be read and is not yet; a session may end before it is."""
        self._handed_over: OrderedDict[int, None] = OrderedDict()

    def know(self, channels: Iterable[int]) -> None:
        """Note private chats of which nothing was heard yet, where people spoke last coming last."""
        for channel in channels:
            self.hear(0, channel, 0)

    def begin(self) -> None:
        """Note that a new session begins: a gap ends here, whatever is heard from now on."""
        self._heard_before = dict(self._newest)
        self._heard_before |= {gap.channel: (gap.guild, gap.after) for gap in self._unread.values()}

    def hear(self, guild: int, channel: int, message: int) -> None:
        """Note that a message arrived, whomever it was for."""
        _, before = self._newest.get(channel, (guild, 0))
        self._newest[channel] = (guild, max(before, message))
        self._newest.move_to_end(channel)
        if len(self._newest) > WATCHED:
            self._newest.popitem(last=False)

    def claim(self, message: int) -> bool:
        """Note that a message is handed over; whether it is for the first time."""
        new = message not in self._handed_over
        self._handed_over[message] = None
        if len(self._handed_over) > HANDED_OVER:
            self._handed_over.popitem(last=False)
        return new

    def private_gaps(self, oldest: int) -> list[Gap]:
        """What to read in private chats; nothing before the message id ``oldest``."""
        heard = [(channel, message) for channel, (guild, message) in self._heard_before.items() if not guild]
        latest = heard[::-1][:PRIVATE_CHATS]
        return self._open([Gap(channel, max(message, oldest)) for channel, message in latest])

    def gaps(self, guild: int, newest: Iterable[tuple[int, int]], oldest: int) -> list[Gap]:
        """What to read in a ``guild`` whose channels name their ``newest`` messages as pairs (channel, message)."""
        found: list[tuple[int, Gap]] = []
        for channel, message in newest:
            after = max(self._heard_before.get(channel, (guild, 0))[1], oldest)
            if message > after:
                found.append((message, Gap(channel, after, guild)))
        return self._open([gap for _, gap in sorted(found, key=lambda pair: -pair[0])[:CHANNELS]])

    def shorten(self, gap: Gap) -> None:
        """Note that of a gap only this is left to read."""
        self._unread[gap.channel] = gap

    def close(self, gap: Gap) -> None:
        """Note that a gap was read to its end."""
        self._unread.pop(gap.channel, None)

    def _open(self, gaps: list[Gap]) -> list[Gap]:
        for gap in gaps:
            self.shorten(gap)
        return gaps
