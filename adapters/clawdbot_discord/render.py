"""Markdown as Discord draws it (pure).

Discord's own Markdown is close to the usual one. It knows no tables, headings of three levels only, and takes three
backticks anywhere for the end of a code block and nothing else for its beginning.
"""

import re

from clawdbot.chat import Frame
from clawdbot_discord.table import draw, table_end

SIZE = 2000
"""Code points in one message."""
FOOTNOTE = "\n-# "
"""Opens a footnote; no longer than what makes a paragraph in italics."""

_FENCE = re.compile(
    r"(?P<before>(?:[ \t>]|(?:[-*+]|\d{1,9}[.)])(?=[ \t]))*)(?P<marker>`{3,}|~{3,})(?P<info>.*)", re.DOTALL
)
_LANGUAGE = re.compile(r"[\w+\-.#]+", re.ASCII)
_SMALL_HEADING = re.compile(r"(?<![^\s>])#{4,6}(?=[ \t])")
# Code, hidden text, or a bar of bars that hide none, as in "a || b", after which the next such bars would.
_BARS = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|\|\|(?=[^\s|])[^|]*(?<=\S)\|\||\|(?=\|)")
_RUN = re.compile("`{3,}")
_INVISIBLE = "\u200b"


def drawn(frame: Frame) -> str:
    """All that a message with ``frame`` says; its footnote as subtext, which Discord draws small and grey."""
    text = render(frame.text)
    return f"{text}{FOOTNOTE}{frame.footnote}" if frame.footnote else text


def without_footnote(content: str) -> str:
    """What a message says but for its footnote, if it has one."""
    text, mark, footnote = content.rpartition(FOOTNOTE)
    return text if mark and "\n" not in footnote else content


def render(text: str) -> str:
    """``text`` as it is sent: what Discord does not know is written in what it knows, the rest is its own Markdown."""
    lines = text.split("\n")
    drawn: list[str] = []
    at = 0
    opening: re.Match[str] | None = None
    while at < len(lines):
        end = at if opening or _FENCE.match(lines[at]) else table_end(lines, at)
        if end > at:
            drawn += ["```", *draw(lines[at:end]), "```"]
            at = end
            continue
        if opening is not None and _depth(_quote(lines[at])) < _depth(opening["before"]):
            # Its quote has ended, and it with it; Discord waits for three backticks.
            drawn.append(f"{opening['before']}```")
            opening = None
            continue
        line, opening = _line(lines[at], opening)
        drawn.append(line)
        at += 1
    if opening is not None and _depth(opening["before"]):
        drawn.append(f"{opening['before']}```")
    return "\n".join(drawn).strip()


def fits(text: str) -> bool:
    """Whether ``text`` goes into one message."""
    return len(render(text)) <= SIZE


def _quote(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t>"))]


def _line(line: str, opening: re.Match[str] | None) -> tuple[str, re.Match[str] | None]:
    """One line as it is sent, and what opened the code block that is open after it."""
    found = _FENCE.match(line)
    if opening is not None:
        if found is not None and _closes(found, opening):
            return f"{found['before']}```", None
        return _broken(line), opening
    if found is None or (found["marker"][0] == "`" and "`" in found["info"]):
        return _running(line), None
    language = _LANGUAGE.match(found["info"].strip())
    return f"{found['before']}```{language[0] if language else ''}", found


def _running(line: str) -> str:
    """A line outside code blocks."""
    text = _BARS.sub(lambda found: found[0] if found[0] != "|" else f"|{_INVISIBLE}", line)
    text = _SMALL_HEADING.sub("###", text, count=1)
    return _broken(text) if text.count("```") % 2 else text


def _broken(line: str) -> str:
    """``line`` with its runs of backticks broken, so that Discord sees no code block begin or end there."""
    return _RUN.sub(lambda run: _INVISIBLE.join(run[0]), line)


def _closes(found: re.Match[str], opening: re.Match[str]) -> bool:
    """Whether a marker's line ends the code block: a longer one alone on it, quoted as deep, indented as little."""
    alone = not found["before"].strip(" \t>") and not found["info"].strip()
    if not alone or not found["marker"].startswith(opening["marker"]):
        return False
    before, around = found["before"].expandtabs(4), opening["before"].expandtabs(4)
    return _depth(before) == _depth(around) and len(before) < len(around) + 4


def _depth(before: str) -> int:
    """How many quotes it stands in, what has ``before`` on its line."""
    return before.count(">")
