"""What reaches over several lines of Markdown: code between fences, and tables (pure)."""

import re
from dataclasses import dataclass, replace
from typing import Self

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# One character of an indent, quote or list mark at a time: nothing here can be read in two ways.
_FENCE = re.compile(
    r"(?P<indent>(?:[ \t>]|(?:[-*+]|\d{1,9}[.)])(?=[ \t]))*)(?P<marker>`{3,}|~{3,})(?P<info>[^\n]*)",
)
_CLOSING = re.compile(r"(?P<indent>[ \t>]*)(?P<marker>`{3,}|~{3,})\s*$")
_ROW = re.compile(r"[ \t]*\|")
_DELIMITER = re.compile(r"[ \t]*\|[ \t:|-]*-[ \t:|-]*\s*$")
# A line that is indented this much deeper than a fence does not close it.
_DEEPER = 4


def lines(text: str) -> list[str]:
    """``text`` in lines with their ends; only a line feed ends one, as it does in Markdown."""
    return _LINE.findall(text)


@dataclass(frozen=True, slots=True)
class Fence:
    """An open code block: its opening line in pieces."""

    indent: str
    """White space and quote marks before it; a list mark counts as white space."""
    marker: str
    info: str

    @property
    def opening(self) -> str:
        return f"{self.indent}{self.marker}{self.info}"

    @property
    def closing(self) -> str:
        return f"{self.indent}{self.marker}"

    @property
    def depth(self) -> int:
        """How many quotes it stands in."""
        return self.indent.count(">")

    def holds(self, line: str) -> bool:
        """Whether ``line`` is in the same quotes: with one of them the block ends, without a closing line."""
        quote = line[: len(line) - len(line.lstrip(" \t>"))]
        return quote.count(">") >= self.depth

    def within(self, most: int) -> Self | None:
        """The same with as much of its info as makes an opening of at most ``most`` characters; None for nothing."""
        for info in (self.info, self.info.strip().partition(" ")[0], ""):
            shorter = replace(self, info=info)
            if len(shorter.opening) <= most:
                return shorter
        return None


def step(fence: Fence | None, line: str) -> Fence | None:
    """The code block that is open after ``line``, when ``fence`` was open before it.

    A longer run of the same sign closes it, at the same depth of quotes; so does the end of its quote.
    """
    if fence is not None and fence.holds(line):
        return None if _closes(fence, line) else fence
    found = _FENCE.match(line)
    if found is None or (found["marker"][0] == "`" and "`" in found["info"]):
        return None
    return Fence(re.sub(r"[^\s>]", " ", found["indent"]), found["marker"], found["info"].rstrip())


def open_fence(text: str) -> tuple[Fence | None, int]:
    """The code block that is open at the end of ``text``, and where it begins or the last closed one ended."""
    if "```" not in text and "~~~" not in text:
        return None, 0
    fence: Fence | None = None
    border = at = 0
    for line in lines(text):
        if fence is not None and not fence.holds(line):
            fence, border = None, at
        after = step(fence, line)
        if after is not fence:
            border = at if after else at + len(line)
        fence = after
        at += len(line)
    return fence, border


@dataclass(frozen=True, slots=True)
class Table:
    """A table up to some line of it."""

    head: str
    """Its first line and, once that is there, the delimiter row; empty where no delimiter row followed."""
    rows: int
    """Lines so far, these two included."""

    @property
    def in_head(self) -> bool:
        """Whether its first row of content is still to come."""
        return self.rows <= 2 and bool(self.head)


def row(table: Table | None, line: str) -> Table | None:
    """The table that is there after ``line``, when ``table`` was there before it; its lines begin with a bar."""
    if not _ROW.match(line):
        return None
    if table is None:
        return Table(line, 1)
    if table.rows > 1:
        return replace(table, rows=table.rows + 1)
    return Table(table.head + line if _DELIMITER.match(line) and line.endswith("\n") else "", 2)


@dataclass(frozen=True, slots=True)
class Place:
    """What a position between two lines lies in: a code block, a table or neither."""

    fence: Fence | None = None
    table: Table | None = None

    def after(self, line: str) -> "Place":
        """The place behind ``line``."""
        fence = step(self.fence, line)
        return Place(fence, None if fence or self.fence else row(self.table, line))

    def through(self, text: str) -> "Place":
        """The place behind all lines of ``text``."""
        place = self
        for line in lines(text):
            place = place.after(line)
        return place


def _closes(fence: Fence, line: str) -> bool:
    found = _CLOSING.match(line)
    if found is None or found["indent"].count(">") != fence.depth:
        return False
    same = found["marker"][0] == fence.marker[0] and len(found["marker"]) >= len(fence.marker)
    return same and _width(found["indent"]) < _width(fence.indent) + _DEEPER


def _width(indent: str) -> int:
    return len(indent.expandtabs(4))
