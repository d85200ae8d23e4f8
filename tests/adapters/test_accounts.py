"""Whose token it is, asked of each platform without serving anybody: read-only, and no text holds the token."""

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import closing

import pytest
from pydantic import SecretStr

from clawdbot import plugins
from clawdbot.chat import Account
from clawdbot.errors import ClawdBotError, DeliveryError, Limited, Rejected, Unauthorized, Unreachable, Unsure
from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.faults import Fault, Faults, Trouble
from clawdbot.testing.telegram import SimTelegram
from clawdbot_discord import DiscordSettings
from clawdbot_discord.account import account as discord_account
from clawdbot_telegram import TelegramSettings
from clawdbot_telegram.account import account as telegram_account

WRONG = "999:another-token-that-nobody-may-see"


def on_telegram(url: str, token: str) -> TelegramSettings:
    return TelegramSettings(token=SecretStr(token), base_url=url)


def on_discord(url: str, token: str) -> DiscordSettings:
    return DiscordSettings(token=SecretStr(token), api_url=url)


@pytest.fixture
async def telegram() -> AsyncIterator[SimTelegram]:
    async with SimTelegram() as sim:
        yield sim


@pytest.fixture
async def discord() -> AsyncIterator[SimDiscord]:
    async with SimDiscord() as sim:
        yield sim


@pytest.fixture
def closed() -> str:
    """An address where nobody listens."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def silent() -> Iterator[str]:
    """An address where somebody listens and says nothing."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


async def both(url: str, patience: float) -> list[ClawdBotError]:
    """What Discord and Telegram fail with when they are looked for at ``url``."""
    failed: list[ClawdBotError] = []
    for asked in (
        discord_account(on_discord(url, WRONG), patience),
        telegram_account(on_telegram(url, WRONG), patience),
    ):
        try:
            await asked
        except ClawdBotError as error:
            failed.append(error)
    return failed


async def test_telegram_tells_the_bots_name_and_that_it_hears_little_in_groups(telegram: SimTelegram) -> None:
    account = await telegram_account(on_telegram(telegram.url, telegram.token))

    assert account.name == "@claw_bot"
    assert [note.split(":")[0] for note in account.notes] == ["Privacy mode is on"]
    assert {call.method for call in telegram.calls} == {"getMe"}


async def test_discord_tells_the_applications_name(discord: SimDiscord) -> None:
    account = await discord_account(on_discord(discord.rest_url, discord.token))

    assert account == Account(discord.bot.name)
    assert [call.name for call in discord.calls] == ["GET application"]


async def test_a_discord_bot_that_anybody_may_invite_is_told() -> None:
    async with SimDiscord(public=True) as sim:
        account = await discord_account(on_discord(sim.rest_url, sim.token))

    assert "switch off 'Public Bot'" in account.doubts[0]


async def test_a_discord_bot_that_may_not_read_messages_cannot_be_served() -> None:
    async with SimDiscord(message_content=False) as sim:
        with pytest.raises(Unauthorized, match="Message Content Intent"):
            await discord_account(on_discord(sim.rest_url, sim.token))


async def test_a_token_that_is_refused_is_said_so(telegram: SimTelegram, discord: SimDiscord) -> None:
    with pytest.raises(Unauthorized, match="refuses the bot's token") as on_one:
        await telegram_account(on_telegram(telegram.url, WRONG))
    with pytest.raises(Unauthorized, match="refuses the token") as on_other:
        await discord_account(on_discord(discord.rest_url, WRONG))

    assert "another-token" not in f"{on_one.getrepr(chain=True)} {on_other.value}"


async def test_where_nobody_listens_there_was_no_connection(closed: str) -> None:
    assert [type(error) for error in await both(closed, 5.0)] == [Unreachable, Unreachable]


async def test_where_nobody_answers_the_wait_ends(silent: str) -> None:
    assert [type(error) for error in await both(silent, 0.2)] == [Unsure, Unsure]


@pytest.mark.parametrize(
    ("trouble", "meaning"), [(Trouble.LIMITED, Limited), (Trouble.BAD_GATEWAY, Unreachable)], ids=["429", "502"]
)
async def test_a_platform_that_is_out_of_order_is_told_apart(trouble: Trouble, meaning: type[DeliveryError]) -> None:
    faults = Faults(lambda call: Fault(trouble, 7.0))
    async with SimDiscord(faults=faults) as discord, SimTelegram(faults=faults) as telegram:
        with pytest.raises(meaning):
            await discord_account(on_discord(discord.rest_url, discord.token))
        with pytest.raises(meaning):
            await telegram_account(on_telegram(telegram.url, telegram.token))


async def test_something_else_at_the_address_is_told(telegram: SimTelegram) -> None:
    """A proxy's own page, say."""
    with pytest.raises((Rejected, Unreachable)):
        await discord_account(on_discord(telegram.url, WRONG))


@pytest.mark.parametrize("name", ["discord", "telegram"])
def test_a_token_that_can_be_none_is_found_without_asking(name: str) -> None:
    """It is not repeated."""
    plugin = plugins.load(name, plugins.installed(), "config.toml")
    assert plugin.check_token is not None

    with pytest.raises(Unauthorized, match="This is no") as caught:
        plugin.check_token(plugin.settings.model_validate({"token": "no token but secret"}))
    assert "secret" not in str(caught.value)
