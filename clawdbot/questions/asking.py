"""What a user turn of a prompt says: the question, in company behind its author's name, below what it replies to. Pure.

Files that came with it stand above all that. A turn is made here when it is asked, and again from the store when
another model reads it: the same message gives the same text every time, and so the same tokens, which the engine's
prefix cache needs.
"""

import unicodedata

from clawdbot.chat import Message, Quoted
from clawdbot.questions.documents import with_files

LONGEST_NAME = 40
"""Characters of a name that are kept."""
LONGEST_LOOKED_AT = 400
"""Characters of a name that are looked at for them."""
LONGEST_QUOTE = 2000
"""Characters of a quoted text that are kept."""
CUT = " …"
"""Stands behind a quoted text that was cut."""
NOBODY = "Somebody"
"""Whoever has no name that can be written here."""
SELF = "You"
"""The bot, in what it reads itself."""

MARKS = ".-'’_"
"""Signs between the parts of a name that stay."""
COLONS = frozenset("\u0903\u0a83\u02d0\u02d1\ua4fd")
"""Letters and marks that look like a colon; whatever else does is no letter."""
INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Letters, marks and symbols that show nothing; whatever else shows nothing is no letter."""
ROLES = frozenset(("system", "assistant", "user", "you", "developer", "tool"))
"""Names that would speak for somebody else than a person."""


def turn_text(message: Message) -> str:
    """The text of the user turn that asks ``message``."""
    where = message.conversation
    shared = not where.private and not where.person
    said = f"{plain_name(message.author.name)}: {message.text}" if shared else message.text
    if message.quoted is not None:
        said = f"{_quote(message.quoted)}\n\n{said}"
    return with_files(said, message.files)


def plain_name(name: str) -> str:
    """A name of one line, without a separator and without anything that hides or turns what stands behind it.

    Letters, marks, digits and pictures stay, with spaces, dots, hyphens, apostrophes and underscores between them.
    """
    # No platform has longer names; one of a megabyte would hold up everybody.
    plain = unicodedata.normalize("NFKC", name[:LONGEST_LOOKED_AT])
    kept = "".join(sign if _harmless(sign) else " " for sign in plain)
    short = " ".join(kept.split())[:LONGEST_NAME].strip()
    return short if short.strip(f" {MARKS}") and short.casefold() not in ROLES else NOBODY


def _harmless(sign: str) -> bool:
    if sign in COLONS or sign in INVISIBLE or "\ufe00" <= sign <= "\ufe0f" or "\U000e0000" <= sign <= "\U000e0fff":
        return False
    return sign in MARKS or unicodedata.category(sign)[0] in "LMN" or unicodedata.category(sign) == "So"


def _quote(quoted: Quoted) -> str:
    """As Markdown quotes: every line behind its sign, so that none can pass for what the author says."""
    text = quoted.text if len(quoted.text) <= LONGEST_QUOTE else quoted.text[:LONGEST_QUOTE] + CUT
    name = SELF if quoted.own else plain_name(quoted.name)
    return "\n".join(f"> {line}" for line in f"{name}: {text}".splitlines())
