"""Markdown that is not finished yet: what may be shown of it, and how to close what is still open."""

import re
import unicodedata
from collections.abc import Collection, Iterator
from itertools import islice

from clawdbot import words
from clawdbot.chat import State
from clawdbot.delivery.blocks import Fence, lines, open_fence, step
from clawdbot.prompts.thoughts import TAGS

# How often the end of a text is left out and looked at again: enough for any sense, and a bound for nonsense.
TRIMS = 20

_THINK = re.compile("|".join(TAGS), re.IGNORECASE)
_THOUGHT = re.compile(r"^[ \t]*</(think|thinking|reasoning)>[ \t]*$", re.IGNORECASE | re.MULTILINE)
# A last line that would change what stands above it (setext heading) or shows an empty list item, heading or quote.
_DANGLING = re.compile(r"[ \t>]*(?:[-+*]|={1,}|-{2,}|#{1,6}|\d{1,9}[.)]|\|[-:| \t]*|`{1,2}|~{1,2})?")
_LINK = re.compile(
    r"(?P<image>!?)\[(?P<text>[^\[\]\n]*)\]\([^()\n]*$|(?P<cut>(?:^|(?<=[\s(]))!?\[)(?P<open>[^\[\]\n]*)$"
)
# Where the last block of running text begins: emphasis does not reach over blank lines, items, headings and quotes.
_BLOCK = re.compile(r"\n[ \t]*\n|(?:^|\n)[ \t]*(?:[-*+]|\d{1,9}[.)]|#{1,6}|>)[ \t]+")
_INLINE = re.compile(r"\\.|`+|\*+|~+|_+")
# The marks that a run of signs stands for; "***" is two.
_MARKS: dict[str, tuple[str, ...]] = {
    **{"*": ("*",), "**": ("**",), "***": ("**", "*")},
    **{"_": ("_",), "__": ("__",), "___": ("__", "_")},
    "~~": ("~~",),
}
_MARKERS = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)]|#{1,6})(?:[ \t]+|$))?")
# What may still become a mark while a text grows. In a finished one such signs stand for themselves where they mark
# nothing, but for backticks: around nothing they disappear.
_UNSEEN, _UNSEEN_AT_LAST = frozenset("*_`~|\\"), frozenset("`")


def visible(text: str, *, growing: bool = False) -> str:
    """``text`` without what stands in think-tags, also when they are still open.

    While the text is ``growing``, a beginning of such a tag at its very end is left out too.
    """
    if "<" not in text:
        return text
    kept: list[str] = []
    text = _behind_thought(text)
    at = 0
    while (tag := _THINK.search(text, at)) is not None:
        before = text[: tag.start()]
        if open_fence(before)[0] is not None or before.rpartition("\n")[2].count("`") % 2:
            kept.append(text[at : tag.end()])
            at = tag.end()
            continue
        kept.append(text[at : tag.start()])
        end = _end_of_thought(text, tag)
        if end is None:
            return "".join(kept)
        at = end
        if not "".join(kept).strip():
            kept.clear()
            at += len(text[at:]) - len(text[at:].lstrip())
    kept.append(text[at:])
    shown = "".join(kept)
    return _without_partial_tag(shown) if growing else shown


def _behind_thought(text: str) -> str:
    """``text`` without a thought at its beginning that only its end tells.

    Where the chat template opens it, the core knows (`Opening`); models trained on that may do it without the template.
    """
    end = _THOUGHT.search(text)
    if end is None or _THINK.search(text, 0, end.start()) or open_fence(text[: end.start()])[0] is not None:
        return text
    return text[end.end() :].lstrip()


def _end_of_thought(text: str, tag: re.Match[str]) -> int | None:
    """Where what ``tag`` opened is closed; at the last closing tag where they do not pair (a thought about tags)."""
    name = tag[0][1:-1]
    end = None
    depth = 1
    for found in re.compile(rf"<(/?){name}>", re.IGNORECASE).finditer(text, tag.end()):
        depth += -1 if found[1] else 1
        if found[1]:
            end = found.end()
        if depth == 0:
            break
    return end


def _without_partial_tag(text: str) -> str:
    start = text.rfind("<", max(0, len(text) - max(map(len, TAGS))))
    if start >= 0 and any(tag.startswith(text[start:].lower()) for tag in TAGS):
        return text[:start]
    return text


def heal(text: str) -> str:
    """``text``, cut off anywhere, with what is open closed and what would be misread left out.

    For display while it grows; a finished text is shown as it is.
    """
    closing: str | None = None
    for _ in range(TRIMS):
        text, closing = _ending(text.rstrip())
        if closing is not None:
            break
    return text + (closing or "")


def _ending(text: str) -> tuple[str, str | None]:
    """``text`` with what closes it, or a shorter text and None, when its end was left out and has to be seen anew."""
    fence, border = open_fence(text)
    if fence is not None:
        return _end_of_code(text, fence, border)
    above, newline, last = text.rpartition("\n")
    if last and _DANGLING.fullmatch(last):
        return above, None
    link = _LINK.search(last)
    if link is not None:
        name = "" if "!" in link[0] else link["text"] or link["open"] or ""
        return f"{above}{newline}{last[: link.start()]}{name}", None
    if (len(last) - len(last.rstrip("\\"))) % 2:
        return text[:-1], None
    return _end_of_block(text, border)


def _end_of_code(text: str, fence: Fence, start: int) -> tuple[str, str | None]:
    head, _, body = text[start:].partition("\n")
    above, _, last = body.rpartition("\n")
    if last.strip() and not last.strip().strip(fence.marker[0]):
        body = above
    if not body.strip():
        return text[:start], None
    return f"{text[:start]}{head}\n{body}", f"\n{fence.closing}"


def _end_of_block(text: str, at: int) -> tuple[str, str | None]:
    """Close code spans, bold, italic and struck text in the last block behind ``at``; leave out what holds nothing."""
    blocks = list(_BLOCK.finditer(text, max(0, at - 1)))
    at = blocks[-1].end() if blocks else at
    open_marks: list[tuple[str, int]] = []
    while (found := _INLINE.search(text, at)) is not None:
        run, start, at = found.group(), *found.span()
        if run[0] == "`":
            closing = re.compile(rf"(?<!`){run}(?!`)").search(text, at)
            if closing is None:
                inner = text[at:].rstrip("`")
                return (text[:at] + inner, run + _closers(open_marks)) if inner.strip() else (text[:start], None)
            at = closing.end()
        elif run[0] != "\\" and not _emphasis(text, start, at, open_marks):
            return text[:start], None
    if open_marks and open_marks[-1][1] == len(text):
        return text[: -len(open_marks[-1][0])], None
    return text, _closers(open_marks)


def _closers(open_marks: list[tuple[str, int]]) -> str:
    return "".join(mark for mark, _ in reversed(open_marks))


def _emphasis(text: str, start: int, end: int, open_marks: list[tuple[str, int]]) -> bool:
    """Let the run of ``*``, ``_`` or ``~`` from ``start`` to ``end`` close or open marks.

    False for a run at the end of the text that does neither, such as the first half of a closing mark.
    """
    before, after = text[max(0, start - 1) : start].strip(), text[end : end + 1].strip()
    # Within a word a single star is a product and an underscore a part of a name.
    glued = before.isalnum() and (text[start] == "_" or end - start == 1)
    marks = _MARKS.get(text[start:end], ())
    for mark in marks:
        names = [name for name, _ in open_marks]
        if before and mark in names and not (mark[0] == "_" and after.isalnum()):
            del open_marks[names.index(mark) :]
        elif after and not glued:
            open_marks.append((mark, end))
        elif end == len(text):
            return False
    return bool(marks) or end < len(text)


def showable(text: str, enough: int = 2) -> int:
    """How many characters of ``text`` a reader would see, counted up to ``enough``: no white space, no Markdown."""
    return sum(1 for _ in islice(_characters(heal(text), _UNSEEN), enough))


def shows(text: str) -> bool:
    """Whether a reader would see anything of a finished ``text``: a lone fence, list mark or quote mark is nothing."""
    return any(True for _ in _characters(text, _UNSEEN_AT_LAST))


def _characters(text: str, unseen: Collection[str]) -> Iterator[str]:
    fence: Fence | None = None
    for line in lines(text):
        if fence is not None and not fence.holds(line):
            fence = None
        after = step(fence, line)
        if after is fence:
            quoted = fence is None or fence.depth
            yield from (char for char in (_MARKERS.sub("", line) if quoted else line) if _seen(char, unseen))
        fence = after


def _seen(char: str, unseen: Collection[str]) -> bool:
    return char.isalnum() or (char not in unseen and unicodedata.category(char)[0] in "SP")


def marked(text: str, state: State) -> str:
    """A finished text with what its state has to say: a mark below a text that was cut short, a sentence for none.

    A code block that the model left open is closed: Discord would not take it for one.
    """
    text = visible(text)
    mark = {State.STOPPED: words.STOPPED_MARK, State.INTERRUPTED: words.INTERRUPTED_MARK}.get(state)
    if not shows(text):
        return mark or (words.FAILED if state is State.FAILED else words.EMPTY)
    fence, _ = open_fence(text.rstrip())
    if fence is not None:
        text = f"{text.rstrip()}\n{fence.closing}"
    return text if mark is None else f"{text.rstrip()}\n\n{mark}"
