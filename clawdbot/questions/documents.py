"""Files as part of what a person says: bytes to text, and text to the turn that the model reads (pure)."""

import codecs
import re
import unicodedata
from collections.abc import Sequence
from hashlib import blake2s

from charset_normalizer import from_bytes

from clawdbot.attached import Attachment

LONGEST_NAME = 80
"""Characters of a file's name that are shown; the rest says little."""

# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_OLD = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "koi8_r", "cp932", "euc_jp", "gb18030", "big5", "cp949"]
"""What texts are written in that are not Unicode. A longer list would find an encoding for anything."""
_UNPRINTABLE = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
"""No text holds these; a form feed, a bell or the colours of a terminal are harmless."""


def decode(data: bytes) -> str | None:
    """The text of a file; None when it is none, or nobody can tell in which encoding it is written.

    UTF-8, and UTF-16 and UTF-32 with their mark, are certain. Older encodings are guessed, and a guess counts only when
    the text makes sense in a language: signs that were never written are worse than a refusal.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _clean(_strictly(data[len(mark) :], encoding))
    text = _strictly(data, "utf-8")
    if text is None and not _is_damaged(data):
        guess = from_bytes(data, cp_isolation=_OLD).best()
        text = str(guess) if guess is not None and guess.language != "Unknown" else None
    return _clean(text)


def label(name: str) -> str:
    """A file's name as it may stand in a sentence or a prompt: one line, no signs that steer or hide."""
    shown = "".join(" " if unicodedata.category(sign) in _HIDDEN else sign for sign in name)
    plain = re.sub(r"\s+", " ", re.sub(r"[<>`*_|\[\]\"#@]", "_", shown)).strip()
    return plain if len(plain) <= LONGEST_NAME else f"{plain[: LONGEST_NAME - 1]}…"


def with_files(text: str, files: Sequence[Attachment]) -> str:
    """What a person says by ``text`` together with ``files`` that were read: what the model is given as their turn.

    Each document stands between two lines that hold a mark made of all contents, so none can hold its own end, or pose
    as another one. A picture is a note of its name.
    """
    if not files:
        return text
    documents = [file for file in files if file.text is not None]
    pictures = [f"[image: {label(file.name)}]" for file in files if file.text is None]
    mark = _mark([file.text or "" for file in documents])
    shown = [
        f"[file {number} of {len(documents)}, {mark}: {label(file.name)}]\n{(file.text or '').rstrip()}\n"
        f"[end of file {number}, {mark}]"
        for number, file in enumerate(documents, 1)
    ]
    return "\n\n".join([*shown, *pictures, *([text] if text else [])])


_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Control and format characters: line breaks, right-to-left marks, zero widths."""


def _mark(contents: Sequence[str]) -> str:
    """The same for the same contents, so that a prompt begins as the last one did; stands in none of them."""
    digest = blake2s(digest_size=5)
    for content in contents:
        digest.update(content.encode("utf-8", "surrogatepass") + b"\0")
    while any(digest.hexdigest() in content for content in contents):
        digest.update(b"again")
    return digest.hexdigest()


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _is_damaged(data: bytes) -> bool:
    """Whether it was UTF-8 once: more signs of several bytes are whole than broken."""
    signs = data.decode("utf-8", "replace")
    broken = signs.count("\ufffd")
    return sum(not sign.isascii() for sign in signs) - broken > broken


def _clean(text: str | None) -> str | None:
    """``text`` with one kind of line end; None when it holds what no text does."""
    if text is None or _UNPRINTABLE.search(text):
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n")
