"""Judges a screen: what is shown at the end against what the engine wrote (pure).

The bot is not asked. Every word of an answer occurs once (`clawdbot.bench.chaos.plan`), so the place of each message
in the answer is known from what it says; whether two messages are the same part is decided by their places.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from clawdbot import words
from clawdbot.bench.measures import letters

MARKS = tuple(letters(mark) for mark in (words.INTERRUPTED_MARK, words.STOPPED_MARK))
"""What says below a text that it is not all."""
NOTICES = frozenset(letters(notice) for notice in (words.FAILED, words.EMPTY, words.NOT_KEPT))
"""What is told for good instead of an answer."""
ASIDE = frozenset(letters(aside) for aside in (words.WITHDRAWN, words.REST))
"""What belongs to no answer and says so."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One message of the bot's as it stands on the screen."""

    text: str
    """What it says, with what is in its files."""
    growing: bool
    """Whether it offers to stop the answer, as only one that still grows does."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What the engine wrote."""

    text: str
    whole: bool = True
    """Whether that is all; False when the engine failed behind it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with one answer's screen; nothing when all are False and ``copies`` is 0."""

    lost: bool = False
    """Nothing lasting is there: no text of the answer, no mark, no notice."""
    copies: int = 0
    """Messages beyond the first that show the same part, or a stretch that another one shows too."""
    wrong_text: bool = False
    """It says what the engine did not write there: foreign text, a gap, a wrong order."""
    unmarked: bool = False
    """It is not all of the answer and looks as if it were, or it looks as if it still grew."""
    cut_short: bool = False
    """It says itself that it is not all, or that there is no answer. That is honest, and no fault."""


@dataclass(frozen=True, slots=True)
class _Span:
    """Which letters of the answer, from ``start`` to before ``end``, one message shows."""

    start: int
    end: int
    growing: bool
    marked: bool
    at: int
    """Its number on the screen."""


def judge(truth: Truth, screen: Sequence[Shown]) -> Verdict:
    """What is wrong with ``screen``, the bot's messages below one question in the order of their posting."""
    whole = letters(truth.text)
    told = any(letters(shown.text) in (*NOTICES, *MARKS) and not shown.growing for shown in screen)
    spans, foreign = _spans(whole, screen)
    kept, copies = _kept(whole, spans)
    shown_to, broken = _joined(kept)
    wrong = foreign or broken
    if not shown_to:
        return Verdict(lost=not told and not wrong, copies=copies, wrong_text=wrong, cut_short=told)
    below = screen[kept[-1].at + 1 :]  # a mark that had no room left is a message of its own
    marked = kept[-1].marked or any(letters(shown.text) in MARKS and not shown.growing for shown in below)
    complete = truth.whole and shown_to == len(whole)
    growing = any(span.growing for span in kept)
    return Verdict(
        copies=copies,
        wrong_text=wrong,
        unmarked=growing or not (wrong or complete or marked),
        cut_short=marked and not growing,
    )


def _spans(whole: str, screen: Sequence[Shown]) -> tuple[list[_Span], bool]:
    """The place of every message in the answer; and whether there is one that has none."""
    found: list[_Span] = []
    foreign = False
    for at, shown in enumerate(screen):
        piece, marked = _unmarked(letters(shown.text))
        if piece in NOTICES or piece in ASIDE or (not piece and marked):
            continue
        start = _place(whole, piece, found)
        if start is not None:
            found.append(_Span(start, start + len(piece), shown.growing, marked, at))
        elif shown.growing:
            found.append(_Span(0, 0, growing=True, marked=False, at=at))  # a notice that waits for the first text
        else:
            foreign = True
    return found, foreign


def _unmarked(piece: str) -> tuple[str, bool]:
    for mark in MARKS:
        if piece.endswith(mark):
            return piece.removesuffix(mark), True
    return piece, False


def _place(whole: str, piece: str, before: Sequence[_Span]) -> int | None:
    """Where ``piece`` stands in ``whole``: a few letters may fit in several places, so the likely ones come first."""
    next_one = max((span.end for span in before), default=0)
    for start in (next_one, *(span.start for span in before)):
        if whole.startswith(piece, start):
            return start
    start = whole.find(piece)
    return None if start < 0 else start


def _kept(whole: str, spans: Sequence[_Span]) -> tuple[list[_Span], int]:
    """One message for each part, in the answer's order; and how many others there are.

    A copy that was left behind may show more than its part shows now: the last part of a growing answer has its border
    somewhere else when the answer has grown. So the message that goes on in another one is the part.
    """
    borders = {len(whole), *(span.start for span in spans)}

    def likely(span: _Span) -> tuple[bool, bool, int]:
        return not span.growing, span.end in borders, span.end

    best: dict[int, _Span] = {}
    for span in spans:
        rival = best.get(span.start)
        if rival is None or likely(span) > likely(rival):
            best[span.start] = span
    return [best[start] for start in sorted(best)], len(spans) - len(best) + _overlaps(list(best.values()))


def _overlaps(spans: Sequence[_Span]) -> int:
    """How many begin before the end of the ones in front of them."""
    count = reached = 0
    for span in sorted(spans, key=lambda span: span.start):
        count += span.start < reached
        reached = max(reached, span.end)
    return count


def _joined(spans: Sequence[_Span]) -> tuple[int, bool]:
    """How far the messages together show the answer, and whether there is a gap or they stand in a wrong order."""
    reached = 0
    for span in spans:
        if span.start > reached:
            return reached, True
        reached = max(reached, span.end)
    screen = [span.at for span in spans]
    return reached, screen != sorted(screen)
