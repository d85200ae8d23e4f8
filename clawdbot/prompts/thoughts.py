"""How models mark what they think before they answer."""

import re

TAGS = ("<think>", "<thinking>", "<reasoning>")
"""What opens a thought; the same with a slash closes it."""
OPENING = "<think>\n"
"""How most models open one."""

_OPENED = re.compile(rf"(?:{'|'.join(TAGS)})\s*\Z", re.IGNORECASE)


def opened_at_end(text: str) -> str:
    """The tag that opens a thought at the very end of ``text``, with the white space behind it; "" without one."""
    found = _OPENED.search(text)
    return found[0] if found else ""


def mark(tag: str) -> str:
    """The mark that closes the thought that ``tag`` opens."""
    return f"</{tag.strip()[1:]}"


def closing(tag: str) -> str:
    """The same on a line of its own."""
    return f"\n{mark(tag)}\n\n"
