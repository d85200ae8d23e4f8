"""Who may talk and who is an admin: nobody, unless a number is listed."""

import pytest

from clawdbot.access import Access
from clawdbot.chat import Conversation, Person
from clawdbot.config import Allowed

PRIVATE = Conversation("telegram", 10, private=True)
GROUP = Conversation("telegram", -20)
CHANNEL = Conversation("discord", 30, guild=40)
ADA = Person(1, "Ada")


def access(**allowed: int) -> Access:
    """Access with one listed number of each given kind, the same on all platforms."""
    table = Allowed(**{kind: frozenset({number}) for kind, number in allowed.items()})
    return Access({"telegram": table, "discord": table})


@pytest.mark.parametrize("where", [PRIVATE, GROUP, CHANNEL])
def test_the_default_is_nobody(where: Conversation) -> None:
    assert not Access({}).may_talk(ADA, where)
    assert not Access({"telegram": Allowed(), "discord": Allowed()}).may_talk(ADA, where)
    assert not Access({}).is_admin(where.platform, ADA)


@pytest.mark.parametrize("kind", ["users", "admins"])
@pytest.mark.parametrize("where", [PRIVATE, GROUP, CHANNEL])
def test_who_is_listed_may_talk_everywhere(where: Conversation, kind: str) -> None:
    assert access(**{kind: ADA.id}).may_talk(ADA, where)


def test_a_number_counts_on_its_own_platform_only() -> None:
    """The same number is somebody else on another platform."""
    only = Access({"telegram": Allowed(users=frozenset({ADA.id}), admins=frozenset({ADA.id}))})

    assert not only.may_talk(ADA, CHANNEL)
    assert not only.is_admin("discord", ADA)


def test_a_name_counts_for_nothing() -> None:
    """Anybody can call himself what the admin is called."""
    assert not access(users=2, admins=2).may_talk(Person(1, "2"), PRIVATE)


def test_a_listed_chat_lets_all_talk_there_and_only_there() -> None:
    one = access(chats=GROUP.chat)

    assert one.may_talk(ADA, GROUP)
    assert not one.may_talk(ADA, PRIVATE)
    assert not one.may_talk(ADA, Conversation("telegram", -21))


def test_a_listed_guild_lets_all_talk_in_its_channels() -> None:
    one = access(guilds=CHANNEL.guild)

    assert one.may_talk(ADA, CHANNEL)
    assert not one.may_talk(ADA, Conversation("discord", 30, guild=41))


def test_a_private_chat_has_no_guild_or_group_to_be_listed() -> None:
    """Its number may be that of a listed chat; no guild is not a guild."""
    assert not access(chats=PRIVATE.chat).may_talk(ADA, PRIVATE)
    assert not access(guilds=0).may_talk(ADA, Conversation("discord", 30))


def test_only_admins_are_admins() -> None:
    assert access(admins=ADA.id).is_admin("telegram", ADA)
    assert not access(users=ADA.id, chats=GROUP.chat).is_admin("telegram", ADA)


def test_whoever_sits_at_the_machine_is_admin() -> None:
    owner = Person(1, "you", owner=True)

    assert Access({}).may_talk(owner, Conversation("console", 1, private=True))
    assert Access({}).is_admin("console", owner)
