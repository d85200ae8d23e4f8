"""Texts in which a tokenizer reads nothing that steers its model, for a program that tokenizes them by itself."""

import re
import unicodedata
from collections.abc import Collection
from typing import Any

_STEERS = re.compile(r"<.+>|\[.+\]", re.DOTALL)


def steering(tokenizer: Any) -> dict[int, Any]:
    """The added tokens that steer the model, by their ids: special ones, and by how they are written others, too.

    What else was added to a vocabulary is white space or words.
    """
    added = tokenizer.added_tokens_decoder.items()
    return {number: one for number, one in added if one.special or _STEERS.fullmatch(one.content)}


class Disarming:
    """Takes apart in a text what a Hugging Face tokenizer would read as a token that steers.

    The model reads such a word with a space behind its first sign. Where the engine takes ids that is not needed.
    """

    def __init__(self, tokenizer: Any) -> None:
        tokens = steering(tokenizer)
        self._tokenizer = tokenizer
        self._words = {number: one.content for number, one in tokens.items()}
        self._normalises = any(one.normalized for one in tokens.values())
        longest_first = sorted(self._words.values(), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def disarmed(self, text: str, keep: Collection[str] = ()) -> str:
        """``text`` without any of the tokens but those to ``keep``."""
        apart = self._apart(text, keep)
        # What is looked for in a text that is normalised first can be written in other letters.
        if not self._normalises or self._is_harmless(apart, keep):
            return apart
        plain = self._apart(unicodedata.normalize("NFKC", text), keep)
        return plain if self._is_harmless(plain, keep) else " ".join(text)

    def _apart(self, text: str, keep: Collection[str]) -> str:
        def split(found: re.Match[str]) -> str:
            word = found[0]
            return word if word in keep else f"{word[0]} {word[1:]}"

        # Again and again: a token may be a part of another one.
        while (apart := self._pattern.sub(split, text)) != text:
            text = apart
        return text

    def _is_harmless(self, text: str, keep: Collection[str]) -> bool:
        read = self._tokenizer.encode(text, add_special_tokens=False)
        return all(self._words.get(token, "") in ("", *keep) for token in read)
