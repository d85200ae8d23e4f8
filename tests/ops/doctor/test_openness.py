"""What is open: who may talk, how much, who may read the files, who reaches what listens."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from clawdbot.ops.doctor.finding import Level
from clawdbot.ops.doctor.openness import access, address, chats, codes, files, quota
from clawdbot.people.access import Ruling
from clawdbot.settings.config import Allowed, OpsSettings, Quota


def test_a_bot_that_nobody_may_talk_to_is_told() -> None:
    found = access("access.discord", Allowed(), {Ruling.DENIED: 1})

    assert found.level is Level.WARN
    assert found.text == "Nobody may talk to the bot; 1 person kept out."
    assert "[access.discord]" in found.remedy


def test_everybody_who_may_talk_is_counted_and_no_number_is_told() -> None:
    allowed = Allowed(
        admins=frozenset({7}),
        users=frozenset({8}),
        guilds=frozenset({9}),
        roles=frozenset({10, 11}),
        chats=frozenset({12, 13}),
    )

    found = access("access.discord", allowed, {Ruling.ALLOWED: 1, Ruling.PAIRED: 2})
    assert found.level is Level.OK
    assert found.text == (
        "Open to 1 admin, 2 users, 2 people by a code, 1 whole server, 2 roles, 2 whole groups or channels."
    )


def test_where_everybody_is_the_owner_nobody_has_to_be_listed() -> None:
    """The page and the terminal: whoever is let in there is the bot's owner."""
    found = access("access.web", Allowed(), {}, owners=True)

    assert (found.level, found.text) == (Level.OK, "Open to the bot's owner alone.")


def test_a_bot_without_an_admin_is_told() -> None:
    found = access("access.telegram", Allowed(users=frozenset({8})), {})

    assert (found.level, found.text) == (Level.WARN, "Open to 1 user.")


@pytest.mark.parametrize(
    ("listed", "level", "told"),
    [
        ({-1}, Level.WARN, "Listed by a number of before: -1 is -103 now."),
        ({-1, -2}, Level.WARN, "Listed by a number of before: -2 is -102 now, -1 is -103 now."),
        ({-1, -103}, Level.OK, "Each chat is listed by the number that it has."),
        ({-5}, Level.OK, "Each chat is listed by the number that it has."),
    ],
)
def test_a_listed_chat_that_has_another_number_now_is_told(listed: set[int], level: Level, told: str) -> None:
    """The bot follows as long as its database knows; with another one the group would be left out."""
    found = chats("access.telegram chats", Allowed(chats=frozenset(listed)), {-1: -101, -101: -103, -2: -102})

    assert (found.level, found.text) == (level, told)


@pytest.mark.parametrize(
    ("chosen", "places", "level"),
    [(Quota(), True, Level.WARN), (Quota(), False, Level.OK), (Quota(messages_per_day=50), True, Level.OK)],
)
def test_whole_places_want_a_quota(chosen: Quota, places: bool, level: Level) -> None:
    assert quota("access.quota", chosen, places).level is level


def test_limits_are_named() -> None:
    assert (
        quota("access.quota", Quota(messages_per_day=5000), False).text
        == "Each person's most, messages per day: 5,000."
    )


@pytest.mark.parametrize(("number", "level"), [(0, Level.OK), (1, Level.WARN)])
def test_open_codes_are_told(number: int, level: Level) -> None:
    assert codes("codes", number).level is level


def test_private_files_are_private(tmp_path: Path) -> None:
    token, config = tmp_path / "a.token", tmp_path / "config.toml"
    for file in (token, config):
        file.touch(0o600)
    missing = tmp_path / "none"
    assert files("files", [token, missing], config).level is Level.OK

    token.chmod(0o640)
    found = files("files", [token, missing], config)
    assert (found.level, found.remedy) == (Level.WARN, f"chmod 600 {token}")

    config.chmod(0o666)
    assert files("files", [], config).level is Level.FAIL


@pytest.mark.parametrize(
    ("ops", "level", "words"),
    [
        (None, Level.OK, "Nothing listens."),
        (OpsSettings(enabled=True), Level.OK, "asks for no token. This machine alone"),
        (OpsSettings(enabled=True, host="0.0.0.0", token=SecretStr("secret")), Level.WARN, "asks for its token."),
    ],
    ids=["off", "loopback", "everybody"],
)
def test_who_reaches_what_listens_is_told(ops: OpsSettings | None, level: Level, words: str) -> None:
    found = address("ops", ops)

    assert found.level is level
    assert words in found.text
    assert "secret" not in found.line
