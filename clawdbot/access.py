"""Who may talk to the bot, and who is an admin. Pure; the default is nobody."""

from collections.abc import Mapping

from clawdbot.chat import Conversation, Person
from clawdbot.config import Allowed

NOBODY = Allowed()


class Access:
    """Decides by numeric ids alone; names can be chosen by anybody."""

    def __init__(self, allowed: Mapping[str, Allowed]) -> None:
        """``allowed``: by platform; a platform that is missing admits nobody."""
        self._allowed = allowed

    def is_admin(self, platform: str, person: Person) -> bool:
        """Whether ``person`` may use admin commands there."""
        return person.owner or person.id in self._on(platform).admins

    def may_talk(self, person: Person, where: Conversation) -> bool:
        """Whether a message of ``person`` in ``where`` is answered."""
        on = self._on(where.platform)
        if person.owner or person.id in on.admins or person.id in on.users:
            return True
        if where.private:
            return False
        return where.chat in on.chats or (where.guild != 0 and where.guild in on.guilds)

    def _on(self, platform: str) -> Allowed:
        return self._allowed.get(platform, NOBODY)
