"""One long text as several messages: where to cut it, with code blocks closed and opened again."""

from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from math import inf

from clawdbot.delivery.blocks import Place
from clawdbot.delivery.borders import best_border, first_whole

# How finely the longest piece that fits is looked for: `fits` may be slow, so it is asked a few times for a piece.
GRAIN = 16
# What opens a code block or a table and is longer than this part of a message is not repeated in the next.
REPEATED = 0.25


class Splitter:
    """Splits a growing text; a border that was chosen once does not move while the text only grows."""

    def __init__(self, fits: Callable[[str], bool], size: int, most: float = inf) -> None:
        """``fits``: whether a piece fits one message; ``size``: about how many characters that is, never exceeded.

        After ``most`` pieces all that is left is one more, whether it fits or not.
        """
        self._fits = fits
        self._size = size
        self._most = most
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._done: list[str] = []
        self._borders: list[int] = []
        """Where in the text each of them ends."""
        self._taken = ""
        """The text that the pieces in ``_done`` hold."""
        self._place = Place()
        """What the last border lies in."""
        self._opening = ""
        """What opens that again in the next piece."""

    def parts(self, text: str) -> list[str]:
        """``text`` in pieces that fit; without the repair of blocks they are the text, every character once.

        A code block that is cut is closed and opened again, a table gets its head again. Asks ``fits`` only about what
        came after the last border.
        """
        if not text.startswith(self._taken):
            self._begin_anew()
        while not self._fit(self._opening + (rest := text[len(self._taken) :])) and len(self._done) < self._most:
            self._cut(rest)
        return [*self._done, self._opening + rest] if rest or not self._done else list(self._done)

    def after(self, text: str, count: int) -> str:
        """What of ``text`` comes after its first ``count`` pieces; nothing when there are no more."""
        self.parts(text)
        borders = [0, *self._borders]
        return text[borders[count] :] if count < len(borders) else ""

    def _cut(self, rest: str) -> None:
        """Move one more piece from ``rest``, which does not fit, to the finished ones."""
        sizes = list(self._sizes(len(rest)))
        for size in sizes[self._first_fitting(rest, sizes) :]:
            if not self._fit(self._piece(rest[:size])[0]):
                continue
            border = best_border(rest, size, self._place)
            piece, place = self._piece(rest[:border])
            if self._fit(piece):
                break
        else:
            border = first_whole(rest)
            piece, place = self._piece(rest[:border])
        self._done.append(piece)
        self._taken += rest[:border]
        self._borders.append(len(self._taken))
        self._place, self._opening = self._again(place, rest[border : border + 1])

    def _sizes(self, most: int) -> Iterator[int]:
        """Lengths to try, the longest first: evenly spaced, then by halves."""
        room = self._size - len(self._opening)
        for share in range(GRAIN, 0, -1):
            if 0 < room * share // GRAIN < most:
                yield room * share // GRAIN
        size = room // GRAIN // 2
        while size > 0:
            if size < most:
                yield size
            size //= 2

    def _first_fitting(self, rest: str, sizes: Sequence[int]) -> int:
        """The place in ``sizes``, the longest first, from which on ``rest`` fits when it is cut to that size.

        Most texts fit at the first one. For others a search by halves asks seldom: a shorter text fits where a longer
        one does.
        """
        if sizes and self._fit(self._opening + rest[: sizes[0]]):
            return 0
        return bisect(sizes, False, key=lambda size: self._fit(self._opening + rest[:size]))

    def _fit(self, piece: str) -> bool:
        return len(piece) <= self._size and self._fits(piece)

    def _piece(self, text: str) -> tuple[str, Place]:
        """``text`` as a message of its own, and what its end lies in."""
        place = self._place.through(text)
        fence = place.fence and place.fence.within(self._most_opening)
        if fence is None:
            return self._opening + text, Place(None, place.table)
        newline = "" if text.endswith("\n") else "\n"
        return f"{self._opening}{text}{newline}{fence.closing}", Place(fence)

    def _again(self, place: Place, following: str) -> tuple[Place, str]:
        """What the next piece begins in, and what opens it, if ``following`` is the next character."""
        fence, table = place.fence, place.table
        if fence is not None and (not fence.depth or following in ">"):
            return place, f"{fence.opening}\n"
        if table is not None and not table.in_head and following == "|" and len(table.head) <= self._most_opening:
            return place, table.head
        return Place(), ""

    @property
    def _most_opening(self) -> int:
        return int(self._size * REPEATED)
