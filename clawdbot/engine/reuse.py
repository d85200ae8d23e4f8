"""How much of a prompt the engine has probably read before: what its prefix cache will not have to read again."""

from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence

CONVERSATIONS = 256
"""Of how many conversations the last prompt is remembered; 8,000 tokens take 32 kB."""


class Reuse:
    """Remembers the last prompt of each conversation, with its answer."""

    def __init__(self, conversations: int = CONVERSATIONS) -> None:
        self._most = conversations
        self._read: OrderedDict[str, array[int]] = OrderedDict()
        """By conversation, the least recently used first."""

    def uncached(self, conversation: str, prompt: Sequence[int]) -> int:
        """About how many of the prompt's tokens have to be read."""
        return len(prompt) - common_prefix(self._read.get(conversation, array("i")), array("i", prompt))

    def remember(self, conversation: str, prompt: Sequence[int], answer: Sequence[int]) -> None:
        """The engine has read and written these."""
        self._read[conversation] = array("i", prompt) + array("i", answer)
        self._read.move_to_end(conversation)
        if len(self._read) > self._most:
            self._read.popitem(last=False)

    def forget(self) -> None:
        """The engine was started anew and has read nothing yet."""
        self._read.clear()


def common_prefix(one: "array[int]", other: "array[int]") -> int:
    """How many tokens both begin with."""
    longest = min(len(one), len(other))
    # The first length at which the beginnings differ; arrays are compared in C.
    return bisect_left(range(1, longest + 1), True, key=lambda length: one[:length] != other[:length])
