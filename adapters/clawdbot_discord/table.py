"""Tables with columns of a fixed width, for a code block (pure)."""

import re
import unicodedata
from collections.abc import Sequence

WIDEST = 100
"""Columns of characters; a wider table would be broken into pieces by the screen, so its cells are not padded."""

_DELIMITER = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)+\|?\s*|\s*\|\s*:?-+:?\s*\|\s*")
_BAR = re.compile(r"(?<!\\)\|")
# In a code block marks would show as signs.
_MARKED = re.compile(r"(\*\*|__|`)(?=\S)(.+?)(?<=\S)\1")


def table_end(lines: Sequence[str], at: int) -> int:
    """The line after the table that begins at ``at``; ``at`` itself when none does."""
    if at + 1 >= len(lines) or "|" not in lines[at] or not _DELIMITER.fullmatch(lines[at + 1]):
        return at
    end = at + 2
    while end < len(lines) and "|" in lines[end]:
        end += 1
    return end


def draw(lines: Sequence[str]) -> list[str]:
    """The lines of a table, the delimiter row second, with their cells below each other."""
    head, delimiter, *body = (_cells(line) for line in lines)
    columns = max(map(len, (head, *body)))
    rows = [[_MARKED.sub(r"\2", cell) for cell in row] + [""] * (columns - len(row)) for row in (head, *body)]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    if sum(widths) + 3 * (columns - 1) > WIDEST:
        return [" | ".join(row) for row in (rows[0], ["---"] * columns, *rows[1:])]
    to_right = [cell.endswith(":") and not cell.startswith(":") for cell in delimiter] + [False] * columns
    drawn = [" | ".join(map(_padded, row, widths, to_right)).rstrip() for row in rows]
    return [drawn[0], "-+-".join("-" * width for width in widths), *drawn[1:]]


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.strip().replace("\\|", "|").replace("```", "'''") for cell in _BAR.split(inner)]


def _padded(cell: str, width: int, to_right: bool) -> str:
    space = " " * (width - _width(cell))
    return space + cell if to_right else cell + space


def _width(text: str) -> int:
    """Columns that ``text`` takes in a fixed pitch: signs of East Asia take two, accents none."""
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
