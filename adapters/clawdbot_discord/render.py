"""Markdown as Discord draws it (pure)."""

import re

SIZE = 2000
"""Code points in one message."""

_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})")
_DELIMITER = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)+\|?\s*$|^\s*\|\s*:?-+:?\s*\|\s*$")


def render(text: str) -> str:
    """``text`` as it is sent: tables, which Discord does not know, in code blocks; the rest is its own Markdown."""
    lines = text.split("\n")
    drawn: list[str] = []
    at = 0
    fence = ""
    while at < len(lines):
        end = at if fence else _table_end(lines, at)
        if end > at:
            drawn += ["```", *lines[at:end], "```"]
            at = end
            continue
        fence = _fence_after(fence, lines[at])
        drawn.append(lines[at])
        at += 1
    return "\n".join(drawn).strip()


def fits(text: str) -> bool:
    """Whether ``text`` goes into one message."""
    return len(render(text)) <= SIZE


def _table_end(lines: list[str], at: int) -> int:
    """The line after the table that begins at ``at``; ``at`` itself when none does."""
    if at + 1 >= len(lines) or "|" not in lines[at] or not _DELIMITER.match(lines[at + 1]):
        return at
    end = at + 2
    while end < len(lines) and "|" in lines[end]:
        end += 1
    return end


def _fence_after(fence: str, line: str) -> str:
    """The marker of the code block that is open after ``line``; empty for none."""
    found = _FENCE.match(line)
    if not found:
        return fence
    if not fence:
        return found[1]
    return "" if found[1].startswith(fence) else fence
