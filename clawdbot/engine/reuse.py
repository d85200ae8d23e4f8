"""How much of a prompt the engine has probably read before: what its prefix cache will not have to read again."""

from array import array
from collections import OrderedDict
from collections.abc import Sequence

from clawdbot.engine.protocol import Engine

CONVERSATIONS = 1024
"""Of how many conversations the last prompt is remembered; 8,000 tokens take 32 kB."""


class Reuse:
    """Remembers the last prompt of each conversation, with its answer, as long as the engine's cache has room for it.

    vLLM offers no look-up, so this goes by what its cache does: what was used least lately makes room first, and of one
    prompt its end before its beginning.
    """

    def __init__(self, conversations: int = CONVERSATIONS) -> None:
        self._most = conversations
        self._engine: Engine | None = None
        """The engine whose cache this is about."""
        self._latest = array("i")
        """What was read last, of whatever conversation: it begins with what every prompt begins with."""
        self._read: OrderedDict[str, array[int]] = OrderedDict()
        """By conversation, the least recently used first."""

    def uncached(self, engine: Engine, conversation: str, prompt: Sequence[int]) -> int:
        """About how many of the prompt's tokens ``engine`` has to read."""
        self._follow(engine)
        tokens = array("i", prompt)
        own = common_prefix(self._read.get(conversation, array("i")), tokens)
        return len(tokens) - max(self._opening_of(tokens), min(own, self._room_for(conversation)))

    def remember(self, engine: Engine, conversation: str, prompt: Sequence[int], answer: Sequence[int]) -> None:
        """``engine`` has read and written these; what an engine did that is gone by now counts for nothing."""
        if engine is not self._engine:
            return
        self._latest = array("i", prompt)
        self._read[conversation] = self._latest + array("i", answer)
        self._read.move_to_end(conversation)
        if len(self._read) > self._most:
            self._read.popitem(last=False)

    def share(self, engine: Engine, opening: Sequence[int]) -> None:
        """``engine`` has read what every prompt begins with."""
        self._follow(engine)
        self._latest = array("i", opening)

    def _follow(self, engine: Engine) -> None:
        """Forget what another engine has read: a new one begins with an empty cache."""
        if engine is not self._engine:
            self._engine = engine
            self._latest = array("i")
            self._read.clear()

    def _opening_of(self, tokens: "array[int]") -> int:
        """How many of ``tokens`` are there whoever asks: every prompt keeps them in use."""
        if self._engine is None or not self._engine.info.cache_tokens:
            return 0
        same = common_prefix(self._latest, tokens)
        return same - same % self._engine.info.cache_block

    def _room_for(self, conversation: str) -> int:
        """How many tokens of a conversation's last prompt the cache can still hold, after all that came later."""
        room = self._engine.info.cache_tokens if self._engine else 0
        for other, tokens in reversed(self._read.items()):
            if other == conversation or room <= 0:
                break
            room -= len(tokens)
        return max(0, room)


def common_prefix(one: "array[int]", other: "array[int]") -> int:
    """How many tokens both begin with; well below a millisecond for 30,000."""
    same, end = 0, min(len(one), len(other))
    # Half of what is open each time, so that all slices together are no longer than the shorter one; C compares them.
    while same < end:
        middle = (same + end + 1) // 2
        if one[same:middle] == other[same:middle]:
            same = middle
        else:
            end = middle - 1
    return same
