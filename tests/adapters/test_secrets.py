"""No token is in anything that is written while the tokens are in use, whatever goes wrong."""

import asyncio
import contextlib
import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import httpx
import pytest
from pydantic import SecretStr

from clawdbot.app import supervise
from clawdbot.chat import Adapter
from clawdbot.clock import SystemClock
from clawdbot.errors import Unauthorized
from clawdbot.ops.logs import logged
from clawdbot.ops.redaction import HIDDEN, Redactor, secrets_of
from clawdbot.settings.config import AdapterTable, Settings
from clawdbot.testing.contract import Ears
from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.faults import Fault, Trouble
from clawdbot.testing.telegram import SimTelegram
from clawdbot_discord import DiscordAdapter, DiscordSettings
from clawdbot_telegram import TelegramAdapter, TelegramSettings

TELEGRAM = "7234567:RecognisableTelegramToken"
DISCORD = "Recognisable.Discord.Token"
LIBRARIES = ("discord", "telegram", "httpx", "httpcore", "aiohttp", "asyncio", "clawdbot", "vllm")


@contextmanager
def written(form: Literal["text", "json"]) -> Iterator[io.StringIO]:
    """Everything that is written in the block, at the lowest level, as the bot would write it."""
    tables = {
        name: AdapterTable("config.toml", {}, SecretStr(token))
        for name, token in (("discord", DISCORD), ("telegram", TELEGRAM))
    }
    stream = io.StringIO()
    loggers = {logging.getLogger(name): logging.getLogger(name).level for name in LIBRARIES}
    with logged("debug", form, Redactor(secrets_of(Settings(adapters=tables), {})), stream):
        try:
            yield stream
        finally:
            for logger, level in loggers.items():
                logger.setLevel(level)


def say_everything() -> None:
    """Undo what adapters and settings keep back, so that what is left of care is the redaction alone."""
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(logging.DEBUG)


async def refused(adapter: Adapter, name: str) -> None:
    """Serve until the platform refuses the token."""
    with contextlib.suppress(Unauthorized):
        async with asyncio.timeout(20):
            await supervise(name, adapter, Ears().receive, SystemClock(), set())


@pytest.mark.parametrize("form", ["text", "json"])
async def test_no_token_is_written_while_both_platforms_are_served_and_fail(form: Literal["text", "json"]) -> None:
    with written(form) as stream:
        async with SimDiscord(token=DISCORD) as discord, SimTelegram(TELEGRAM) as telegram:
            on_discord = DiscordSettings(
                token=SecretStr(DISCORD), api_url=discord.rest_url, gateway_url=discord.gateway_url, identify_delay=0.0
            )
            on_telegram = TelegramSettings(token=SecretStr(TELEGRAM), base_url=telegram.url, poll_timeout=1)
            tasks = [
                asyncio.create_task(refused(DiscordAdapter(on_discord), "discord")),
                asyncio.create_task(refused(TelegramAdapter(on_telegram), "telegram")),
            ]
            await asyncio.gather(discord.online(), telegram.online())
            say_everything()
            telegram.faults.add("getUpdates", Fault(Trouble.BAD_GATEWAY), Fault(Trouble.RESET_BEFORE))
            telegram.say(7, "hello")
            await discord.gateway.hang_up(4004)
            telegram.revoke("1:another")
            await asyncio.wait(tasks)

    assert "RecognisableTelegramToken" not in stream.getvalue()
    assert DISCORD not in stream.getvalue()
    assert HIDDEN in stream.getvalue(), "or nothing was tried"


@pytest.mark.parametrize("form", ["text", "json"])
async def test_no_token_is_in_a_traceback_that_holds_the_address_of_a_call(form: Literal["text", "json"]) -> None:
    """httpx tells the whole URL of a call that failed, and Telegram's have the token in them."""
    with written(form) as stream:
        async with SimTelegram("1:another") as telegram, httpx.AsyncClient() as client:
            answer = await client.get(f"{telegram.url}/bot{TELEGRAM}/getMe")
            try:
                answer.raise_for_status()
            except httpx.HTTPStatusError:
                logging.getLogger("clawdbot.somewhere").exception("with Bot %s it failed", DISCORD)

    said = stream.getvalue()
    assert "HTTPStatusError" in said
    assert "RecognisableTelegramToken" not in said
    assert DISCORD not in said
