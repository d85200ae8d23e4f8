"""Groups that became supergroups: Telegram gives them another number, and their messages are not known by it."""

from clawdbot_telegram.place import Place


class Moves:
    """Remembers where groups have gone. After a restart the first call to the old number tells it again."""

    def __init__(self) -> None:
        self._to: dict[int, int] = {}

    def note(self, old: int, new: int) -> None:
        """Note that a group has the number ``new`` now."""
        if old != new:
            self._to[old] = new

    def now(self, place: Place) -> Place:
        """Where that is now. A message of the old group cannot be answered in the new one."""
        new = self._to.get(place.chat)
        return place if new is None else Place(new)
