"""What a person saw of an answer against what the engine wrote (pure).

Everything is computed from two records that the bot has no part in: when each look of each message was on the screen,
and when the engine wrote each token. Times are seconds of one monotonic clock.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from clawdbot.delivery.markdown import showable, visible

_FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,}).*$", re.M)
_UNREAD = re.compile(r"[\s*_`~#>|\\•:=+-]+")


@dataclass(frozen=True, slots=True)
class Look:
    """What one message showed from ``at`` on."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What was to be seen of one answer."""

    posted: float
    """When the person's message was posted."""
    parts: tuple[tuple[Look, ...], ...]
    """The bot's messages in the order of their posting, each with all its looks."""
    until: float
    """When the observer stopped looking."""


@dataclass(frozen=True, slots=True)
class Written:
    """What the engine wrote: token ``n`` at ``asked + first + n * gap``."""

    asked: float
    tokens: tuple[str, ...]
    first: float
    gap: float

    def at(self, token: int) -> float:
        """When the token of this number was written."""
        return self.asked + self.first + token * self.gap

    @property
    def last(self) -> float:
        """When the last token was written."""
        return self.at(len(self.tokens) - 1)

    @property
    def showable(self) -> float:
        """When the text first had two visible characters; the last token's time if it never has."""
        text = ""
        for number, token in enumerate(self.tokens):
            text += token
            if showable(visible(text, growing=True)) >= 2:
                return self.at(number)
        return self.last


@dataclass(frozen=True, slots=True)
class Figures:
    """One answer, in seconds. None is what never happened."""

    to_engine: float | None
    """From the message being posted to the engine being asked."""
    added_first_visible: float | None
    """From the first token that makes two visible characters to the first text on the screen."""
    tax: float | None
    """From the message being posted to the first text on the screen, less the engine's own time to that token."""
    staleness: float | None
    """For how long, on average over the time from that token to the last one, the screen had lacked a token."""
    freeze: float | None
    """The longest time without a visible change between the first text and the complete one."""
    finish_lag: float | None
    """From the last token to the complete text on the screen."""
    lost: bool
    """Whether the screen shows another text than the engine wrote when the observer leaves."""
    duplicated: int
    """Messages whose text is on the screen a second time."""


NOTHING = Figures(None, None, None, None, None, None, lost=True, duplicated=0)
"""A question that the engine was never asked."""


def letters(text: str) -> str:
    """``text`` as a reader takes it in on every platform: without white space, Markdown's marks and fence lines."""
    return _UNREAD.sub("", _FENCE.sub("", text))


def measure(written: Written, seen: Seen) -> Figures:
    """All figures of one answer."""
    whole = letters("".join(written.tokens))
    kept, duplicated = _once(whole, [letters(looks[-1].text) for looks in seen.parts])
    grown = growth(whole, [seen.parts[number] for number in kept])
    visible_at = next((at for at, length in grown if length), None)
    lost = not grown or grown[-1][1] != len(whole)
    complete_at = None if lost else grown[-1][0]
    return Figures(
        to_engine=written.asked - seen.posted,
        added_first_visible=None if visible_at is None else visible_at - written.showable,
        tax=None if visible_at is None else visible_at - seen.posted - (written.showable - written.asked),
        staleness=staleness(written, grown),
        freeze=_freeze(grown, complete_at or seen.until),
        finish_lag=None if complete_at is None else complete_at - written.last,
        lost=lost,
        duplicated=duplicated,
    )


def growth(whole: str, parts: Sequence[Sequence[Look]]) -> list[tuple[float, int]]:
    """How much of the `letters` ``whole`` the messages together showed, change by change: (time, how many).

    A screen that shows anything but a beginning of the answer, such as a notice, shows none of it.
    """
    texts = [""] * len(parts)
    grown: list[tuple[float, int]] = []
    for at, number, text in sorted(
        (look.at, number, look.text) for number, looks in enumerate(parts) for look in looks
    ):
        texts[number] = letters(text)
        shown = "".join(texts)
        length = len(shown) if whole.startswith(shown) else 0
        if length != (grown[-1][1] if grown else 0):
            grown.append((at, length))
    return grown


def staleness(written: Written, grown: Sequence[tuple[float, int]]) -> float:
    """The mean over time of the screen's age, from the first showable token to the last one.

    At any moment the age is the time since the first token was written that is not on the screen, 0 when none is
    missing. So a screen renewed every second, with all that is there, is half a second old on average.
    """
    began, ended = written.showable, written.last
    sizes = [len(letters(text)) for text in accumulate(written.tokens)]
    changes = [(began, 0), *((max(at, began), length) for at, length in grown if at < ended), (ended, 0)]
    area = 0.0
    for (start, length), (end, _) in pairwise(changes):
        missing = next((number for number, size in enumerate(sizes) if size > length), None)
        behind = end if missing is None else max(written.at(missing), began)
        # The age grows with the time from `behind` on: the area below it is a trapezium.
        if end > behind:
            area += ((end - behind) ** 2 - max(0.0, start - behind) ** 2) / 2
    return area / (ended - began) if ended > began else 0.0


def _freeze(grown: Sequence[tuple[float, int]], end: float) -> float | None:
    """The longest time between two changes, the last one being at ``end``."""
    times = [at for at, length in grown if length and at < end]
    return max((later - earlier for earlier, later in pairwise([*times, end])), default=0.0) if times else None


def _once(whole: str, texts: Sequence[str]) -> tuple[list[int], int]:
    """Which of the messages make up the answer, and how many of them only repeat what another one says.

    Nothing is looked for when all of them together are the answer: a short last part may well occur in the first.
    """
    if "".join(texts) == whole:
        return list(range(len(texts))), 0
    kept: list[int] = []
    for number, text in enumerate(texts):
        others = [other for at, other in enumerate(texts) if at in kept or at > number]
        if not text or not any(text in other for other in others):
            kept.append(number)
    return kept, len(texts) - len(kept)
