"""Who may talk to the bot, and who is an admin. Pure; the default is nobody."""

from collections.abc import Collection, Mapping
from enum import StrEnum

from clawdbot.chat import Conversation, Person
from clawdbot.settings.config import Allowed

NOBODY = Allowed()


class Ruling(StrEnum):
    """What was said about a person while the bot ran, beside the settings."""

    ALLOWED = "allowed"
    """An admin let them in: they may talk everywhere."""
    PAIRED = "paired"
    """They had an admin's code: they may talk in private, and nowhere else by it."""
    DENIED = "denied"
    """An admin keeps them out, whatever the settings allow."""


class Reason(StrEnum):
    """Why a message is answered, or why it is not."""

    OWNER = "owner"
    ADMIN = "admin"
    USER = "user"
    GRANTED = "granted"
    PAIRED = "paired"
    CHAT = "chat"
    GUILD = "guild"
    ROLE = "role"
    DENIED = "denied"
    STRANGER = "stranger"

    @property
    def allowed(self) -> bool:
        """Whether whoever it is about may talk."""
        return self not in (Reason.DENIED, Reason.STRANGER)


class Access:
    """Decides by numeric ids alone; names can be chosen by anybody."""

    def __init__(self, allowed: Mapping[str, Allowed]) -> None:
        """``allowed``: by platform; a platform that is missing admits nobody."""
        self._allowed = allowed

    def is_admin(self, platform: str, person: Person) -> bool:
        """Whether ``person`` may use admin commands there."""
        return person.owner or self.lists_admin(platform, person.id)

    def lists_admin(self, platform: str, person: int) -> bool:
        """Whether the settings say that the number ``person`` is an admin's."""
        return person in self._on(platform).admins

    def lists_chat(self, platform: str, chat: int) -> bool:
        """Whether the settings let those who are in ``chat`` talk there."""
        return chat in self._on(platform).chats

    def decide(
        self, person: Person, where: Conversation, ruling: Ruling | None = None, former: Collection[int] = ()
    ) -> Reason:
        """Whether a message of ``person`` in ``where`` is answered, and why; ``ruling`` is what was said about them.

        Admins are settled by the settings alone, so that no admin can lock another one out. ``former``: the numbers
        that the chat had before, which the settings may still name.
        """
        on = self._on(where.platform)
        if person.owner:
            return Reason.OWNER
        if person.id in on.admins:
            return Reason.ADMIN
        if ruling is Ruling.DENIED:
            return Reason.DENIED
        if person.id in on.users:
            return Reason.USER
        if ruling is Ruling.ALLOWED:
            return Reason.GRANTED
        if where.private:
            return Reason.PAIRED if ruling is Ruling.PAIRED else Reason.STRANGER
        return _in_company(on, person, where, former)

    def _on(self, platform: str) -> Allowed:
        return self._allowed.get(platform, NOBODY)


def _in_company(on: Allowed, person: Person, where: Conversation, former: Collection[int]) -> Reason:
    """What the place itself, or a role that somebody has in it, allows."""
    if not on.chats.isdisjoint((where.chat, *former)):
        return Reason.CHAT
    if where.guild and where.guild in on.guilds:
        return Reason.GUILD
    if where.guild and person.roles & on.roles:
        return Reason.ROLE
    return Reason.STRANGER
