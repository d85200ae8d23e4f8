"""The same company on both platforms, through their unmodified SDKs.

Each plays a tenth of the inputs that ``--fuzz`` asks for.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from pydantic import SecretStr

from clawdbot.app import App
from clawdbot.chat import Rate
from clawdbot.config import Allowed
from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.discord.windows import Rates
from clawdbot.testing.telegram import SimTelegram
from clawdbot.testing.telegram.rules import Allowance
from clawdbot_telegram import TelegramAdapter, TelegramSettings

from ..adapters.discord_bot import DiscordBot
from .crowd import FIRST, OWNER, STRANGER, Crowd, OnDiscord, OnTelegram
from .look import Errors

BATCH = 10
"""So much is done at once."""
FORESEEN = "is malformed and passed over"
"""What is logged of an update that is not as Telegram describes it."""
GENEROUS = Rate(10_000, 1.0)


@dataclass
class Platforms:
    """Both, with the bot that serves them."""

    discord: SimDiscord
    telegram: SimTelegram
    app: App


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Platforms]:
    rates = Rates(GENEROUS, GENEROUS, GENEROUS, GENEROUS, GENEROUS)
    allowance = Allowance(private=(GENEROUS,), group=(GENEROUS,), bot=(GENEROUS,))
    async with SimDiscord(rates=rates) as discord, SimTelegram(privacy=False, allowance=allowance) as telegram:
        beside = TelegramAdapter(TelegramSettings(token=SecretStr(telegram.token), base_url=telegram.url))
        bot = DiscordBot(discord, folder, beside={"telegram": beside})
        known = Allowed(users=frozenset(range(FIRST, STRANGER)), admins=frozenset({OWNER}))
        access = {"discord": Allowed(guilds=frozenset({discord.world.guild})), "telegram": known}
        bot.settings = bot.settings.model_copy(update={"access": access})
        async with bot.running() as app:
            await discord.online()
            await telegram.online()
            await discord.until(lambda: bool(discord.interactions.commands))
            yield Platforms(discord, telegram, app)


async def play(platforms: Platforms, crowd: Crowd, count: int) -> list[tuple[object, ...]]:
    """Let the crowd do so much; what is wrong then."""
    sim, errors = platforms, Errors()
    with errors.heard():
        for _ in range(0, count, BATCH):
            done = [crowd.attack() for _ in range(BATCH)]
            answered = crowd.ask()
            await (sim.discord if isinstance(crowd, OnDiscord) else sim.telegram).until(answered, 60.0)
            await sim.app.sessions.idle()
            unforeseen = [text for text in errors.found if FORESEEN not in text]
            if harm := [*crowd.harm(), *(("an error", text) for text in unforeseen)]:
                return [(*one, done) for one in harm]
    return []


async def test_nobody_does_harm_on_discord(tmp_path: Path, fuzz_count: int) -> None:
    async with serving(tmp_path) as platforms:
        harm = await play(platforms, OnDiscord(platforms.discord, Random("discord")), fuzz_count // 10)
    assert not harm, "\n".join(str(one)[:1500] for one in harm[:3])


async def test_nobody_does_harm_on_telegram(tmp_path: Path, fuzz_count: int) -> None:
    async with serving(tmp_path) as platforms:
        harm = await play(platforms, OnTelegram(platforms.telegram, Random("telegram")), fuzz_count // 10)
    assert not harm, "\n".join(str(one)[:1500] for one in harm[:3])
