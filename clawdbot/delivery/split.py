"""One long text as several messages: where to cut it, with code blocks closed and opened again."""

import re
import unicodedata
from collections.abc import Callable, Iterator

from clawdbot.delivery.markdown import Fence, step

# How finely the longest piece that fits is looked for: `fits` may be slow, so it is asked a few times for a piece.
GRAIN = 16
# A border of a better kind is taken only where it leaves a message at least this full.
FULL = 0.5
# An opening line of a code block that is longer than this part of a message is not repeated in the next.
REPEATED = 0.25

# The kinds of borders, the best first.
PARAGRAPH, LINE, BLANK_IN_CODE, INNER_LINE, SENTENCE, WORD = range(6)

_SENTENCE = re.compile(r"[.!?…][)\]\"'»”’*_]*\s+|[。！？]")
_WORD = re.compile(r"\s+")
# What a cut in running text should not open: links, code spans and bold, also unfinished ones.
_CLOSED = re.compile(
    r"!?\[[^\[\]\n]{0,300}\]\([^()\n]{0,500}\)|`[^`\n]{1,300}`|\*\*[^*\n]{1,300}\*\*"
    r"|!?\[[^\[\]\n]{0,200}(?:\](?:\([^()\n]{0,300})?)?$|`[^`\n]{0,200}$|\*\*[^*\n]{0,200}$"
)
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")
_TABLE = re.compile(r"[ \t]*\|")
_INDENTED = re.compile(r"[ \t]")
_JOINER = "\u200d"


class Splitter:
    """Splits a growing text; a border that was chosen once does not move while the text only grows."""

    def __init__(self, fits: Callable[[str], bool], size: int) -> None:
        """``fits``: whether a piece fits one message; ``size``: about how many characters that is, never exceeded."""
        self._fits = fits
        self._size = size
        self._done: list[str] = []
        self._borders: list[int] = []
        """Where in the text each of them ends."""
        self._taken = ""
        """The text that the pieces in ``_done`` hold."""
        self._fence: Fence | None = None
        """The code block that is open at the last border."""

    def parts(self, text: str) -> list[str]:
        """``text`` in pieces that fit; without the repair of code blocks they are the text, every character once.

        Asks ``fits`` only about what came after the last border.
        """
        if not text.startswith(self._taken):
            self._done, self._borders, self._taken, self._fence = [], [], "", None
        while not self._fit(self._opened(rest := text[len(self._taken) :])):
            self._cut(rest)
        return [*self._done, self._opened(rest)] if rest or not self._done else list(self._done)

    def after(self, text: str, count: int) -> str:
        """What of ``text`` comes after its first ``count`` pieces."""
        self.parts(text)
        return text[self._borders[count - 1] :]

    def _cut(self, rest: str) -> None:
        """Move one more piece from ``rest``, which does not fit, to the finished ones."""
        for size in self._sizes(len(rest)):
            if not self._fit(self._piece(rest[:size])[0]):
                continue
            border = _border(rest, size, self._fence)
            piece, fence = self._piece(rest[:border])
            if self._fit(piece):
                break
        else:
            border = _whole(rest, 1, forward=True)
            piece, fence = self._piece(rest[:border])
        self._done.append(piece)
        self._taken += rest[:border]
        self._borders.append(len(self._taken))
        self._fence = fence

    def _sizes(self, most: int) -> Iterator[int]:
        """Lengths to try, the longest first: evenly spaced, then by halves."""
        room = self._size - len(self._opened(""))
        for share in range(GRAIN, 0, -1):
            if 0 < room * share // GRAIN < most:
                yield room * share // GRAIN
        size = room // GRAIN // 2
        while size > 0:
            if size < most:
                yield size
            size //= 2

    def _fit(self, piece: str) -> bool:
        return len(piece) <= self._size and self._fits(piece)

    def _opened(self, text: str) -> str:
        return f"{self._fence.opening}\n{text}" if self._fence else text

    def _piece(self, text: str) -> tuple[str, Fence | None]:
        """``text`` as a message of its own, and the code block that was open at its end."""
        fence = self._fence
        for line in text.splitlines(keepends=True):
            fence = step(fence, line)
        if fence is None or len(fence.opening) > self._size * REPEATED:
            return self._opened(text), None
        newline = "" if text.endswith("\n") else "\n"
        return f"{self._opened(text)}{newline}{fence.closing}", fence


def _border(text: str, size: int, fence: Fence | None) -> int:
    """Where to cut the first ``size`` characters of a longer text: the last border of the best kind in the latter half.

    Looks at no more than one character behind them, so that a text gets the same borders however it grew.
    """
    best: dict[int, int] = {}
    last = 0
    for at, kind in _borders(text[: size + 1], fence):
        if at > size:
            continue
        last = max(last, at)
        if at >= size * FULL:
            best[kind] = at
    return best[min(best)] if best else last or _whole(text, size)


def _borders(window: str, fence: Fence | None) -> Iterator[tuple[int, int]]:
    """Positions behind which a piece may end, each with its kind."""
    at = 0
    heading = False
    lines = window.splitlines(keepends=True)
    for number, line in enumerate(lines):
        after = step(fence, line)
        if fence is None and after is None:
            yield from _inside(line, at)
        at += len(line)
        heading = bool(_HEADING.match(line)) or (heading and not line.strip())
        if line.endswith("\n"):
            following = lines[number + 1] if number + 1 < len(lines) else ""
            kind = _in_code(line, fence, after, window[at:]) if after else _between(line, following, heading=heading)
            if kind is not None:
                yield at, kind
        fence = after


def _in_code(line: str, before: Fence | None, fence: Fence, rest: str) -> int | None:
    """The kind of the border behind a line in a code block.

    None right behind its first line and where nothing but its last may follow: a block without content would be left.
    """
    if before is None or not rest.strip().strip(fence.marker[0]).strip():
        return None
    return INNER_LINE if line.strip() else BLANK_IN_CODE


def _between(line: str, following: str, *, heading: bool) -> int:
    """The kind of the border between two lines of running text; headings, tables and nested lists stay together."""
    if heading or _INDENTED.match(following) or (_TABLE.match(line) and _TABLE.match(following)):
        return INNER_LINE
    return LINE if line.strip() else PARAGRAPH


def _inside(line: str, at: int) -> Iterator[tuple[int, int]]:
    """Borders in a line of running text that begins at ``at``."""
    closed = [found.span() for found in _CLOSED.finditer(line)]
    for pattern, kind in ((_SENTENCE, SENTENCE), (_WORD, WORD)):
        for found in pattern.finditer(line):
            end = found.end()
            if end < len(line) and not any(start < end < stop for start, stop in closed):
                yield at + end, kind


def _whole(text: str, size: int, *, forward: bool = False) -> int:
    """The position nearest before ``size`` (or after it) that parts no two code points of one visible character."""
    move = 1 if forward else -1
    at = size
    while 0 < at < len(text) and _joined(text, at):
        at += move
    return at if at > 0 else size


def _joined(text: str, at: int) -> bool:
    """Whether the code points around position ``at`` belong to one visible character."""
    before, after = text[at - 1], text[at]
    if after == _JOINER or before == _JOINER or (before == "\r" and after == "\n"):
        return True
    if unicodedata.category(after) in ("Mn", "Mc", "Me") or 0x1F3FB <= ord(after) <= 0x1F3FF:
        return True
    if 0xDC00 <= ord(after) <= 0xDFFF or 0xE0020 <= ord(after) <= 0xE007F:
        return True
    if _flag(after) and _flag(before):
        flags = len(text[:at]) - len(text[:at].rstrip("".join(map(chr, range(0x1F1E6, 0x1F200)))))
        return flags % 2 == 1
    return False


def _flag(char: str) -> bool:
    return 0x1F1E6 <= ord(char) <= 0x1F1FF
