"""Groups that became supergroups: Telegram gives them another number, and their messages are not known by it."""

from collections.abc import Callable

from clawdbot_telegram.place import Place

Tell = Callable[[int, int], None]
"""Takes a group's number and the one that it has now."""


class Moves:
    """Remembers where groups have gone. After a restart the first call to the old number tells it again."""

    def __init__(self, tell: Tell = lambda old, new: None) -> None:
        """``tell`` is told of those that a call finds: the update that said so may have come while nobody listened."""
        self._tell = tell
        self._to: dict[int, int] = {}

    def note(self, old: int, new: int) -> None:
        """Note that a group has the number ``new`` now."""
        if old != new:
            self._to[old] = new

    def find(self, old: int, new: int) -> None:
        """The same, found by a call or known from an earlier run."""
        if old != new and self._to.get(old) != new:
            self._to[old] = new
            self._tell(old, new)

    def now(self, place: Place) -> Place:
        """Where that is now. A message of the old group cannot be answered in the new one."""
        new = self._to.get(place.chat)
        return place if new is None else Place(new)
