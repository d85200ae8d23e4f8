"""Which of several servers answers next: who is up, who is busy, who has read this conversation before.

Plain state: every decision is made here, and no method waits. Servers are numbers, counted from 0.
"""

from collections import Counter, OrderedDict
from collections.abc import Collection
from enum import Enum, auto

CONVERSATIONS = 10_000
"""Of how many conversations it is remembered where they are; a server's cache holds far fewer."""


class Health(Enum):
    """What is known of a server."""

    UP = auto()
    SUSPECT = auto()
    """It has just failed at something; no new answer goes there until its next check succeeds."""
    OUT = auto()
    """A check after that has failed, too, or none has succeeded yet."""


class Pool:
    """The servers that one engine consists of."""

    def __init__(self, servers: int, conversations: int = CONVERSATIONS) -> None:
        self._most = conversations
        self._health = [Health.OUT] * servers
        self._running = [0] * servers
        """How many answers each is writing."""
        self._home: OrderedDict[str, int] = OrderedDict()
        """Which server has read a conversation, the least recently asked one first."""
        self._residents: Counter[int] = Counter()
        """How many conversations each has: what decides among servers that are equally busy."""

    @property
    def up(self) -> list[int]:
        """The servers that new answers go to."""
        return self._in(Health.UP)

    @property
    def suspects(self) -> list[int]:
        """The servers that have to be looked at now."""
        return self._in(Health.SUSPECT)

    @property
    def lost(self) -> bool:
        """Whether none is left."""
        return all(health is Health.OUT for health in self._health)

    @property
    def running(self) -> int:
        """How many answers are being written, on all servers."""
        return sum(self._running)

    def choose(self, conversation: str, avoid: Collection[int] = ()) -> int | None:
        """Where to send the next request of ``conversation``, "" for one that is of none; None when nowhere.

        It stays where it was as long as that server is up and not to be avoided; otherwise the least busy one takes it.
        """
        able = [number for number in self.up if number not in avoid]
        if not able:
            return None
        chosen = self._home.get(conversation)
        if chosen not in able:
            chosen = min(able, key=lambda number: (self._running[number], self._residents[number]))
        if conversation:
            self._settle(conversation, chosen)
        return chosen

    def begin(self, number: int) -> None:
        """A server was given a request."""
        self._running[number] += 1

    def end(self, number: int) -> None:
        """It has finished that one, or was told to stop, or failed."""
        self._running[number] -= 1

    def failed(self, number: int) -> None:
        """A request or a check has failed in a way that says something about its server."""
        self._health[number] = Health.SUSPECT if self._health[number] is Health.UP else self._health[number]

    def checked(self, number: int, healthy: bool) -> bool:
        """What a check has found, which takes a server out at its second failure; whether anything has changed."""
        before = self._health[number]
        if healthy:
            self._health[number] = Health.UP
        else:
            self._health[number] = Health.SUSPECT if before is Health.UP else Health.OUT
        return self._health[number] is not before

    def _in(self, health: Health) -> list[int]:
        return [number for number, one in enumerate(self._health) if one is health]

    def _settle(self, conversation: str, number: int) -> None:
        before = self._home.pop(conversation, None)
        if before is not None:
            self._residents[before] -= 1
        self._home[conversation] = number
        self._residents[number] += 1
        if len(self._home) > self._most:
            _, emptied = self._home.popitem(last=False)
            self._residents[emptied] -= 1
