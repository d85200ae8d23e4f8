"""Where a long text may be cut, and where best (pure)."""

import re
import unicodedata
from collections.abc import Iterator

from clawdbot.delivery.blocks import Place, lines

# A border of a better kind is taken only where it leaves a message at least this full.
FULL = 0.5

# The kinds of borders, the best first.
PARAGRAPH, LINE, BLANK_IN_CODE, INNER_LINE, SENTENCE, WORD = range(6)

_SENTENCE = re.compile(r"[.!?…][)\]\"'»”’*_]*\s+|[。！？]")
_WORD = re.compile(r"\s+")
_ADDRESS = r"(?:[^()\n]|\([^()\n]{0,200}\))"
# What a cut in running text should not open: links, code spans and bold, also unfinished ones.
_CLOSED = re.compile(
    rf"!?\[[^\[\]\n]{{0,300}}\]\({_ADDRESS}{{0,500}}\)|(`+)(?!`)[^\n]{{1,300}}?(?<!`)\1(?!`)|\*\*[^*\n]{{1,300}}\*\*"
    rf"|!?\[[^\[\]\n]{{0,200}}(?:\](?:\({_ADDRESS}{{0,300}})?)?$|`[^`\n]{{0,200}}$|\*\*[^*\n]{{0,200}}$"
)
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")
_TABLE = re.compile(r"[ \t]*\|")
_INDENTED = re.compile(r"[ \t]")
_MARK = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)]|#{1,6})[ \t]+(?:\[[ xX]\][ \t]+)?)*")
# What would be read as the beginning of an item, a heading, a quote, a table or a code block on a line of its own.
_BEGINS = re.compile(r"[#>|=]|([~`])(?:\1|$)|[-+*](?:\s|$)")
_RUN = re.compile(r"[ \t>]*(?:[`~]|$)")
_JOINER = "\u200d"
# Skin colours, second halves of surrogate pairs, tags of flags, later letters of Hangul, half-width voicing marks.
_TRAILING = (
    *(("\U0001f3fb", "\U0001f3ff"), ("\udc00", "\udfff"), ("\U000e0020", "\U000e007f")),
    *(("\u1160", "\u11ff"), ("\uff9e", "\uff9f")),
)


def best_border(text: str, size: int, place: Place) -> int:
    """Where to cut the first ``size`` characters of a longer text that begins in ``place``.

    The last border of the best kind in the latter half. Looks at no more than one character behind them, so that a
    text gets the same borders however it grew.
    """
    window = text[: size + 1]
    # Those inside of lines are of the worst kinds and by far the most: they are looked for where there is no other.
    for inside in (False, True):
        borders = [(at, kind) for at, kind in _borders(window, place, inside=inside) if at <= size]
        if best := {kind: at for at, kind in borders if at >= size * FULL}:
            return best[min(best)]
    return max((at for at, _ in borders), default=0) or whole(text, size)


def _borders(window: str, place: Place, *, inside: bool) -> Iterator[tuple[int, int]]:
    """Positions behind which a piece may end, each with its kind; with or without those inside of lines."""
    at = 0
    heading = False
    every = lines(window)
    for number, line in enumerate(every):
        after = place.after(line)
        if inside and place.fence is None and after.fence is None:
            yield from _inside(line, window, at)
        at += len(line)
        heading = bool(_HEADING.match(line)) or (heading and not line.strip())
        if line.endswith("\n"):
            following = every[number + 1] if number + 1 < len(every) else ""
            kind = _behind(line, following, place, after, window[at:], heading=heading)
            if kind is not None:
                yield at, kind
        place = after


def _behind(line: str, following: str, before: Place, after: Place, rest: str, *, heading: bool) -> int | None:
    """The kind of the border behind ``line``; None where a code block or a table without content would be left."""
    if after.fence is not None:
        if before.fence is None or not rest.strip().strip(after.fence.marker[0]).strip():
            return None
        return INNER_LINE if line.strip() else BLANK_IN_CODE
    if after.table is not None and _TABLE.match(following):
        return None if after.table.in_head else INNER_LINE
    if heading or _INDENTED.match(following):
        return INNER_LINE
    return LINE if line.strip() else PARAGRAPH


def _inside(line: str, window: str, start: int) -> Iterator[tuple[int, int]]:
    """Borders in a line of running text that begins at ``start``; none right behind its mark."""
    mark = _MARK.match(line)
    first = mark.end() if mark else 0
    closed = [found.span() for found in _CLOSED.finditer(line)]
    for pattern, kind in ((_SENTENCE, SENTENCE), (_WORD, WORD)):
        for found in pattern.finditer(line, first):
            end = found.end()
            if not first < end < len(line) or _BEGINS.match(line[end : end + 2]) or joined(window, start + end):
                continue
            if not any(begin < end < stop for begin, stop in closed):
                yield start + end, kind


def whole(text: str, size: int) -> int:
    """The position nearest before ``size`` that parts no two code points of one visible character.

    Nor is it right before what would open or close a code block at the beginning of a message.
    """
    window = text[: size + 1]
    for at in range(size, 0, -1):
        if not joined(window, at) and (window[at - 1] == "\n" or not _RUN.match(window, at)):
            return at
    return size


def first_whole(text: str) -> int:
    """The length of the first visible character."""
    return next((at for at in range(1, len(text)) if not joined(text, at)), len(text))


def joined(text: str, at: int) -> bool:
    """Whether the code points around position ``at`` belong to one visible character."""
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        return before == "\r" and after == "\n"
    if after == _JOINER or before == _JOINER or any(first <= after <= last for first, last in _TRAILING):
        return True
    if unicodedata.category(after) in ("Mn", "Mc", "Me"):
        return True
    if _flag(after) and _flag(before):
        flags = len(text[:at]) - len(text[:at].rstrip("".join(map(chr, range(0x1F1E6, 0x1F200)))))
        return flags % 2 == 1
    return False


def _flag(char: str) -> bool:
    return 0x1F1E6 <= ord(char) <= 0x1F1FF
