"""The platform's rate limits: fixed windows, each begun by its first call (pure)."""

from dataclasses import dataclass, field

from clawdbot.chat import Rate


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a window says to one call."""

    granted: bool
    limit: int
    remaining: int
    reset_after: float
    """Seconds until the window begins anew."""


@dataclass(slots=True)
class Window:
    """At most ``rate.calls`` between its first call and ``rate.seconds`` later."""

    rate: Rate
    used: int = 0
    ends: float = 0.0

    def take(self, now: float) -> Verdict:
        """Count one call; a refused call counts nothing."""
        if now >= self.ends:
            self.used, self.ends = 0, now + self.rate.seconds
        granted = self.used < self.rate.calls
        self.used += granted
        return Verdict(granted, self.rate.calls, self.rate.calls - self.used, self.ends - now)

    def close(self, now: float, seconds: float) -> None:
        """Grant nothing for ``seconds``."""
        self.used, self.ends = self.rate.calls, now + seconds


IN_A_CHANNEL, IN_AN_INTERACTION, IN_ALL = Rate(5, 5.0), Rate(5, 2.0), Rate(50, 1.0)
OLD_IN_A_CHANNEL = Rate(3, 20.0)


@dataclass(frozen=True, slots=True)
class Rates:
    """How many calls the platform takes: in one channel, for one interaction (``webhook``), from the whole bot."""

    sends: Rate = IN_A_CHANNEL
    edits: Rate = IN_A_CHANNEL
    typing: Rate = IN_A_CHANNEL
    webhook: Rate = IN_AN_INTERACTION
    whole_bot: Rate = IN_ALL
    old_edits: Rate = OLD_IN_A_CHANNEL
    """Edits in one channel of messages older than an hour."""


@dataclass(slots=True)
class Windows:
    """All windows of one platform."""

    rates: Rates
    whole_bot: Window = field(init=False)
    _by_key: dict[tuple[str, str], Window] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.whole_bot = Window(self.rates.whole_bot)

    def of(self, kind: str, place: str) -> Window | None:
        """The window that calls of a ``kind`` ("sends") share in a ``place``; None for a kind without a limit."""
        rate: Rate | None = {
            "sends": self.rates.sends,
            "edits": self.rates.edits,
            "typing": self.rates.typing,
            "webhook": self.rates.webhook,
            "old edits": self.rates.old_edits,
        }.get(kind)
        return self._by_key.setdefault((kind, place), Window(rate)) if rate else None
