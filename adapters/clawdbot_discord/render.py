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
    marker = ""
    while at < len(lines):
        end = at if marker else table_end(lines, at)
        if end > at:
            drawn += ["```", *draw(lines[at:end]), "```"]
            at = end
            continue
        line, marker = _line(lines[at], marker)
        drawn.append(line)
        at += 1
    return "\n".join(drawn).strip()


def fits(text: str) -> bool:
    """Whether ``text`` goes into one message."""
    return len(render(text)) <= SIZE


def _line(line: str, marker: str) -> tuple[str, str]:
    """One line as it is sent, and the marker of the code block that is open after it; empty for none."""
    found = _FENCE.match(line)
    if marker:
        if found and found["marker"].startswith(marker) and not found["info"].strip():
            return f"{found['before']}```", ""
        return line.replace("```", _INVISIBLE.join("```")), marker
    if found is None or (found["marker"][0] == "`" and "`" in found["info"]):
        return _SMALL_HEADING.sub("###", line, count=1), ""
    language = _LANGUAGE.match(found["info"].strip())
    return f"{found['before']}```{language[0] if language else ''}", found["marker"]
