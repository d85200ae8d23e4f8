"""The same company on both platforms, through their unmodified SDKs.

Each plays a tenth of the inputs that ``--fuzz`` asks for.
"""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from random import Random

import pytest
from pydantic import SecretStr

from clawdbot.chat import Rate
from clawdbot.engine.protocol import Request
from clawdbot.settings.config import Allowed
from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.discord.windows import Rates
from clawdbot.testing.engine import Script
from clawdbot.testing.rig import question
from clawdbot.testing.telegram import SimTelegram
from clawdbot.testing.telegram.rules import Allowance
from clawdbot_telegram import TelegramAdapter, TelegramSettings

from ..adapters.discord_bot import DiscordBot
from .crowd import FIRST, OWNER, STRANGER, Crowd, Known, OnDiscord, OnTelegram
from .look import Errors
from .page import at_a_page

BATCH = 10
"""So much is done at once."""
LIFE = 25
"""So much is done on one page before the bot is killed."""
CRASHING = 0.4
"""How often the bot is killed while it deals with that."""
PIECES, GAP = 4, 0.05
"""An answer comes in so many, with so many seconds between."""
FORESEEN = "is malformed and passed over"
"""What is logged of an update that is not as Telegram describes it."""
GENEROUS = Rate(10_000, 1.0)


class Platforms:
    """Both, with the bot that serves them."""

    def __init__(self, discord: SimDiscord, telegram: SimTelegram, bot: DiscordBot) -> None:
        self.discord = discord
        self.telegram = telegram
        self._bot = bot
        self._life = AsyncExitStack()

    async def start(self) -> None:
        """Start the bot, on the database of its last life if there was one; returns when it listens."""
        self.app = await self._life.enter_async_context(self._bot.running())
        await self.discord.online()
        await self.telegram.online()
        await self.discord.until(lambda: bool(self.discord.interactions.commands))

    async def kill(self) -> set[Known]:
        """End it at this moment; which messages of answers it knows."""
        await self._life.aclose()
        with closing(sqlite3.connect(self._bot.settings.store.path)) as store:
            rows = store.execute("SELECT chat, ref FROM post JOIN reply ON reply.id = post.reply")
            return {(chat, ref.partition("/")[0]) for chat, ref in rows}


@asynccontextmanager
async def serving(folder: Path, *, drafts: bool = False) -> AsyncIterator[Platforms]:
    rates = Rates(GENEROUS, GENEROUS, GENEROUS, GENEROUS, GENEROUS)
    allowance = Allowance(private=(GENEROUS,), group=(GENEROUS,), bot=(GENEROUS,), drafts=(GENEROUS,))
    async with SimDiscord(rates=rates) as discord, SimTelegram(privacy=False, allowance=allowance) as telegram:
        token = SecretStr(telegram.token)
        beside = TelegramAdapter(TelegramSettings(token=token, base_url=telegram.url, drafts=drafts))
        bot = DiscordBot(discord, folder, growing, beside={"telegram": beside})
        known = Allowed(users=frozenset(range(FIRST, STRANGER)), admins=frozenset({OWNER}))
        access = {"discord": Allowed(guilds=frozenset({discord.world.guild})), "telegram": known}
        bot.settings = bot.settings.model_copy(update={"access": access})
        platforms = Platforms(discord, telegram, bot)
        await platforms.start()
        try:
            yield platforms
        finally:
            await platforms.kill()


def growing(request: Request) -> Script:
    """The script of a model that repeats the question in a few pieces."""
    text = f"You said: {question(request.prompt)}"
    size = -(-len(text) // PIECES)
    return Script([text[start : start + size] for start in range(0, len(text), size)], first=GAP, gap=GAP)


async def play(platforms: Platforms, crowd: Crowd, count: int, random: Random) -> list[tuple[object, ...]]:
    """Let the crowd do so much, and kill the bot now and then; what is wrong then."""
    errors = Errors()
    with errors.heard():
        for _ in range(0, count, BATCH):
            done = [crowd.attack() for _ in range(BATCH)]
            answered = crowd.ask()
            if random.random() < CRASHING:
                if random.random() < 0.5:
                    await crowd.begun()
                crowd.crashed(await platforms.kill())
                await platforms.start()
            await (platforms.discord if isinstance(crowd, OnDiscord) else platforms.telegram).until(answered, 60.0)
            await platforms.app.sessions.idle()
            unforeseen = [text for text in errors.found if FORESEEN not in text]
            if harm := [*crowd.harm(), *(("an error", text) for text in unforeseen)]:
                return [(*one, done) for one in harm]
    return []


async def test_nobody_does_harm_on_discord(tmp_path: Path, fuzz_count: int) -> None:
    async with serving(tmp_path) as platforms:
        crowd = OnDiscord(platforms.discord, Random("discord"))
        harm = await play(platforms, crowd, fuzz_count // 10, Random("crashes on discord"))
    assert not harm, "\n".join(str(one)[:1500] for one in harm[:3])


@pytest.mark.parametrize("drafts", [False, True], ids=["messages", "drafts"])
async def test_nobody_does_harm_on_telegram(tmp_path: Path, fuzz_count: int, drafts: bool) -> None:
    async with serving(tmp_path, drafts=drafts) as platforms:
        crowd = OnTelegram(platforms.telegram, Random("telegram"))
        harm = await play(platforms, crowd, fuzz_count // 10, Random("crashes on telegram"))
    assert not harm, "\n".join(str(one)[:1500] for one in harm[:3])


async def test_nobody_does_harm_at_the_page(tmp_path: Path, fuzz_count: int) -> None:
    """The bot is killed now and then, and takes up on another page what it had left."""
    random, errors, harm = Random("page"), Errors(), list[tuple[object, ...]]()
    with errors.heard():
        for _ in range(0, fuzz_count // 10, LIFE):
            async with at_a_page(tmp_path, growing, random) as page:
                await page.rest()
                done = [await page.attack() for _ in range(LIFE)]
                await page.rest()
                await page.ask()
                harm += [(*one, done) for one in page.harm()]
                await page.attack()
    harm += [("an error", text) for text in errors.found]
    assert not harm, "\n".join(str(one)[:1500] for one in harm[:3])
