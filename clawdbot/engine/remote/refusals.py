"""What a server says of pictures that it does not take (pure)."""

import re

from clawdbot.errors import PicturesRefused, PromptTooLong

_TOO_LONG = (
    re.compile(r"prompt \(length (?P<tokens>\d+)\).*maximum\s+model length of (?P<limit>\d+)"),
    re.compile(r"Input length \((?P<tokens>\d+)\) exceeds .*\((?P<limit>\d+)\)"),
    re.compile(r"context length is (?P<limit>\d+) tokens\..*contains (?:at least )?(?P<tokens>\d+)"),
)
_TOO_MANY = re.compile(r"At most (\d+) image")


def refusal(reason: str) -> PromptTooLong | PicturesRefused:
    """Why a question with pictures was refused, from the ``reason`` that a vLLM server gives for a 400.

    How many tokens a picture has, and how many it takes, only the server knows; it says so before it reads any.
    """
    for pattern in _TOO_LONG:
        if found := pattern.search(reason):
            return PromptTooLong(int(found["tokens"]), int(found["limit"]) - 1)
    most = _TOO_MANY.search(reason)
    return PicturesRefused(reason, int(most[1]) if most else None)
