"""Markdown as Discord draws it (pure).

Discord's own Markdown is close to the usual one. It knows no tables, headings of three levels only, and takes three
backticks anywhere for the end of a code block and nothing else for its beginning.
"""

import re

from clawdbot_discord.table import draw, table_end

SIZE = 2000
"""Code points in one message."""

_FENCE = re.compile(
    r"(?P<before>(?:[ \t>]|(?:[-*+]|\d{1,9}[.)])(?=[ \t]))*)(?P<marker>`{3,}|~{3,})(?P<info>.*)", re.DOTALL
)
_LANGUAGE = re.compile(r"[\w+\-.#]+", re.ASCII)
_SMALL_HEADING = re.compile(r"(?<![^\s>])#{4,6}(?=[ \t])")
_INVISIBLE = "\u200b"


def render(text: str) -> str:
    """``text`` as it is sent: what Discord does not know is written in what it knows, the rest is its own Markdown."""
    lines = text.split("\n")
    drawn: list[str] = []
    at = 0
    opening: re.Match[str] | None = None
    while at < len(lines):
        end = at if opening else table_end(lines, at)
        if end > at:
            drawn += ["```", *draw(lines[at:end]), "```"]
            at = end
            continue
        line, opening = _line(lines[at], opening)
        drawn.append(line)
        at += 1
    return "\n".join(drawn).strip()


def fits(text: str) -> bool:
    """Whether ``text`` goes into one message."""
    return len(render(text)) <= SIZE


def _line(line: str, opening: re.Match[str] | None) -> tuple[str, re.Match[str] | None]:
    """One line as it is sent, and what opened the code block that is open after it."""
    found = _FENCE.match(line)
    if opening is not None:
        if found is not None and _closes(found, opening):
            return f"{found['before']}```", None
        return line.replace("```", _INVISIBLE.join("```")), opening
    if found is None or (found["marker"][0] == "`" and "`" in found["info"]):
        return _SMALL_HEADING.sub("###", line, count=1), None
    language = _LANGUAGE.match(found["info"].strip())
    return f"{found['before']}```{language[0] if language else ''}", found


def _closes(found: re.Match[str], opening: re.Match[str]) -> bool:
    """Whether a marker's line ends the code block: a longer one alone on it, quoted as deep, indented as little."""
    if not found["marker"].startswith(opening["marker"]) or found["info"].strip():
        return False
    before, around = found["before"].expandtabs(4), opening["before"].expandtabs(4)
    return before.count(">") == around.count(">") and len(before) < len(around) + 4
