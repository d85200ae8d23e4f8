"""Who may talk and who is an admin: nobody, unless a number is listed."""

import pytest

from clawdbot.chat import Conversation, Person
from clawdbot.people.access import Access, Reason, Ruling
from clawdbot.settings.config import Allowed

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
    assert not Access({}).decide(ADA, where).allowed
    assert not Access({"telegram": Allowed(), "discord": Allowed()}).decide(ADA, where).allowed
    assert not Access({}).is_admin(where.platform, ADA)


@pytest.mark.parametrize("kind", ["users", "admins"])
@pytest.mark.parametrize("where", [PRIVATE, GROUP, CHANNEL])
def test_who_is_listed_may_talk_everywhere(where: Conversation, kind: str) -> None:
    assert access(**{kind: ADA.id}).decide(ADA, where).allowed


def test_a_number_counts_on_its_own_platform_only() -> None:
    """The same number is somebody else on another platform."""
    only = Access({"telegram": Allowed(users=frozenset({ADA.id}), admins=frozenset({ADA.id}))})

    assert not only.decide(ADA, CHANNEL).allowed
    assert not only.is_admin("discord", ADA)


def test_a_name_counts_for_nothing() -> None:
    """Anybody can call himself what the admin is called."""
    assert not access(users=2, admins=2).decide(Person(1, "2"), PRIVATE).allowed


def test_a_listed_chat_lets_all_talk_there_and_only_there() -> None:
    one = access(chats=GROUP.chat)

    assert one.decide(ADA, GROUP).allowed
    assert not one.decide(ADA, PRIVATE).allowed
    assert not one.decide(ADA, Conversation("telegram", -21)).allowed


def test_a_listed_guild_lets_all_talk_in_its_channels() -> None:
    one = access(guilds=CHANNEL.guild)

    assert one.decide(ADA, CHANNEL).allowed
    assert not one.decide(ADA, Conversation("discord", 30, guild=41)).allowed


def test_a_private_chat_has_no_guild_or_group_to_be_listed() -> None:
    """Its number may be that of a listed chat; no guild is not a guild."""
    assert not access(chats=PRIVATE.chat).decide(ADA, PRIVATE).allowed
    assert not access(guilds=0).decide(ADA, Conversation("discord", 30)).allowed


def test_only_admins_are_admins() -> None:
    assert access(admins=ADA.id).is_admin("telegram", ADA)
    assert not access(users=ADA.id, chats=GROUP.chat).is_admin("telegram", ADA)


def test_whoever_sits_at_the_machine_is_admin() -> None:
    owner = Person(1, "you", owner=True)

    assert Access({}).decide(owner, Conversation("console", 1, private=True)).allowed
    assert Access({}).is_admin("console", owner)


def test_a_role_counts_in_its_server_alone() -> None:
    """In private nobody bears a role, even if an adapter should say so."""
    one, bearer = access(roles=50), Person(1, "Ada", roles=frozenset({50, 51}))

    assert one.decide(bearer, CHANNEL) is Reason.ROLE
    assert one.decide(Person(1, "Ada", roles=frozenset({51})), CHANNEL) is Reason.STRANGER
    assert one.decide(bearer, PRIVATE) is Reason.STRANGER
    assert one.decide(bearer, GROUP) is Reason.STRANGER


@pytest.mark.parametrize("where", [PRIVATE, GROUP, CHANNEL])
def test_whom_an_admin_let_in_may_talk_everywhere(where: Conversation) -> None:
    assert Access({}).decide(ADA, where, Ruling.ALLOWED) is Reason.GRANTED


def test_who_had_a_code_may_talk_in_private_alone() -> None:
    """A code opens no group, whoever is in it."""
    nothing = Access({})

    assert nothing.decide(ADA, PRIVATE, Ruling.PAIRED) is Reason.PAIRED
    assert nothing.decide(ADA, GROUP, Ruling.PAIRED) is Reason.STRANGER
    assert nothing.decide(ADA, CHANNEL, Ruling.PAIRED) is Reason.STRANGER


@pytest.mark.parametrize(
    ("kind", "number", "where"), [("users", 1, PRIVATE), ("chats", -20, GROUP), ("guilds", 40, CHANNEL)]
)
def test_whom_an_admin_keeps_out_may_talk_nowhere(kind: str, number: int, where: Conversation) -> None:
    """Whatever the settings allow to all in a place, or to them."""
    assert access(**{kind: number}).decide(ADA, where, Ruling.DENIED) is Reason.DENIED


def test_no_admin_locks_another_one_out() -> None:
    """Who is an admin is said in the settings alone."""
    assert access(admins=ADA.id).decide(ADA, PRIVATE, Ruling.DENIED) is Reason.ADMIN
