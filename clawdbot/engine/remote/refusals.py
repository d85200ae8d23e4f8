"""What a server says of pictures that it does not take (pure)."""

import re
from math import ceil

from clawdbot.errors import PicturesRefused, PromptTooLong

_TOO_LONG = (
    re.compile(r"prompt \(length (?P<tokens>\d+)\).*maximum\s+model length of (?P<limit>\d+)"),
    re.compile(r"Input length \((?P<tokens>\d+)\) exceeds .*\((?P<limit>\d+)\)"),
    re.compile(
        r"context length is (?P<limit>\d+) tokens\..*contains (?P<least>at least )?(?P<tokens>\d+) input tokens"
    ),
)
_TOO_MUCH_TEXT = re.compile(
    r"context length is (?P<limit>\d+) tokens\..*contains (?P<characters>\d+) characters "
    r"\(more than (?P<most>\d+) characters, which is the upper bound for (?P<tokens>\d+) input tokens"
)
_TOO_MANY = re.compile(r"At most (\d+) image")


def refusal(reason: str) -> PromptTooLong | PicturesRefused:
    """Why a question with pictures was refused, from the ``reason`` that a vLLM server gives for a 400.

    How many tokens a picture has, and how many it takes, only the server knows; it says so before it reads any.
    """
    for pattern in _TOO_LONG:
        if found := pattern.search(reason):
            least = bool(found.groupdict().get("least"))
            return PromptTooLong(int(found["tokens"]), int(found["limit"]) - 1, least=least)
    if found := _TOO_MUCH_TEXT.search(reason):
        return PromptTooLong(_fewest(found), int(found["limit"]) - 1, least=True)
    most = _TOO_MANY.search(reason)
    return PicturesRefused(reason, int(most[1]) if most else None)


def _fewest(found: re.Match[str]) -> int:
    """How many tokens a text has at least that was too long to be tokenized: no token is longer than the longest."""
    longest = int(found["most"]) // int(found["tokens"])
    return ceil(int(found["characters"]) / longest)
