"""How much one person may ask of the bot. Pure; times are seconds since the epoch.

The windows are the hours and the days of UTC: so everybody can be told when the next one begins, and nothing has to be
kept to know it after a restart.
"""

from dataclasses import dataclass

from clawdbot.settings.config import Quota

HOUR, DAY = 3600.0, 86_400.0

WINDOWS = {"messages_per_hour": HOUR, "tokens_per_hour": HOUR, "messages_per_day": DAY, "tokens_per_day": DAY}
"""How long each limit of `Quota` is about, in seconds; longer ones come later."""


@dataclass(frozen=True, slots=True)
class Used:
    """What a person has had in the hour and in the day that run: questions, and tokens of the answers to them.

    Tokens are those that the engine had to read (not what its prefix cache served) or wrote.
    """

    messages_per_hour: int = 0
    messages_per_day: int = 0
    tokens_per_hour: int = 0
    tokens_per_day: int = 0


@dataclass(frozen=True, slots=True)
class Reached:
    """A limit that leaves nothing until its window is over."""

    limit: str
    """Its name among the settings."""
    since: float
    until: float


def begin(window: float, now: float) -> float:
    """When the ``window`` (`HOUR` or `DAY`) began that runs at ``now``."""
    return now - now % window


def reached(quota: Quota, used: Used, now: float) -> Reached | None:
    """The limit that forbids one more question, the one that does so for longest; None when there is none."""
    full = [name for name in WINDOWS if 0 < getattr(quota, name) <= getattr(used, name)]
    if not full:
        return None
    since = begin(WINDOWS[full[-1]], now)
    return Reached(full[-1], since, since + WINDOWS[full[-1]])
