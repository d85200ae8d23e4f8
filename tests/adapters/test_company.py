"""Groups on both platforms: one bot, the unmodified SDKs; what people say and what the model reads of it."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from clawdbot import words
from clawdbot.settings.config import Allowed, Persona, SessionSettings
from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.rig import turns
from clawdbot.testing.telegram import SimTelegram
from clawdbot_telegram import TelegramAdapter, TelegramSettings

from .discord_bot import DiscordBot

ADA, BOB, ROOT = 1, 2, 9
"""On Telegram."""
GROUP = -5


class Stage:
    """A bot on a Discord and a Telegram, in whose group and channel people talk."""

    def __init__(self, discord: SimDiscord, telegram: SimTelegram, folder: Path) -> None:
        self.discord = discord
        self.telegram = telegram
        self.bob, self.root = discord.add_user("bob"), discord.add_user("root")
        beside = TelegramAdapter(TelegramSettings(token=SecretStr(telegram.token), base_url=telegram.url))
        self.bot = DiscordBot(discord, folder, beside={"telegram": beside})
        guild = frozenset({discord.world.guild})
        access = {
            "discord": Allowed(guilds=guild, admins=frozenset({self.root.id})),
            "telegram": Allowed(chats=frozenset({GROUP}), admins=frozenset({ROOT})),
        }
        personas = {"tutor": Persona(system_prompt="Teach.")}
        self.settle(access=access, personas=personas)

    def settle(self, **settings: object) -> None:
        """Let these hold from the next start on."""
        self.bot.settings = self.bot.settings.model_copy(update=settings)

    def prompt(self) -> list[str]:
        """What the model reads before its last answer, turn by turn."""
        return [text for _, text in turns(self.bot.requests[-1].prompt)[:-1]]

    async def on_discord(self, text: str, by: str = "ada", reply_to_last: bool = False) -> str:
        """What somebody in the channel gets for ``text``."""
        sim, user = self.discord, {"ada": self.discord.user, "bob": self.bob, "root": self.root}[by]
        before = len(sim.answers(sim.channel))
        last = sim.channel.screen[-1] if reply_to_last else None
        sim.say(sim.channel, text, user=user, reply_to=last)
        await sim.until(lambda: len(sim.answers(sim.channel)) > before and not sim.answers(sim.channel)[-1].now.growing)
        return sim.answers(sim.channel)[-1].text

    async def on_telegram(self, text: str, by: int = ADA, reply_to_last: bool = False) -> str:
        """What somebody in the group gets for ``text``."""
        sim = self.telegram
        before = len(sim.answers(GROUP))
        last = sim.screens[GROUP][-1] if reply_to_last else None
        mention = f"@{sim.bot.username}"
        # The name of a command has the mention behind it.
        said = re.sub(r"^/\w+", rf"\g<0>{mention}", text) if text.startswith("/") else f"{mention} {text}"
        sim.say(GROUP, said, user=by, reply_to=last)
        await sim.until(lambda: len(sim.answers(GROUP)) > before and not sim.answers(GROUP)[-1].look.growing)
        return sim.answers(GROUP)[-1].text


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with SimDiscord() as discord, SimTelegram(privacy=False) as telegram:
        telegram.group(GROUP)
        yield Stage(discord, telegram, tmp_path)


async def online(stage: Stage) -> None:
    await stage.discord.online()
    await stage.telegram.online()


async def test_the_model_reads_who_said_what(stage: Stage) -> None:
    async with stage.bot.running():
        await online(stage)
        for by in ("ada", "bob"):
            await stage.on_discord("Hello", by)
        on_discord = stage.prompt()
        for person in (ADA, BOB):
            await stage.on_telegram("Hello", person)
        on_telegram = stage.prompt()

    assert on_discord == ["ada: Hello", "You said: ada: Hello", "bob: Hello"]
    assert on_telegram == ["Person 1: Hello", "You said: Person 1: Hello", "Person 2: Hello"]


async def test_each_has_their_own_conversation_by_setting(stage: Stage) -> None:
    stage.settle(sessions=SessionSettings(groups="per_user"))
    async with stage.bot.running():
        await online(stage)
        await stage.on_discord("One")
        await stage.on_discord("Two", "bob")
        on_discord = stage.prompt()
        await stage.on_telegram("One")
        await stage.on_telegram("Two", BOB)
        on_telegram = stage.prompt()

    assert on_discord == on_telegram == ["Two"]


async def test_the_message_that_is_replied_to_is_read(stage: Stage) -> None:
    """Somebody else's, which was not for the bot; the bot's own last answer is known already."""
    async with stage.bot.running():
        await online(stage)
        stage.discord.say(stage.discord.channel, "Herons swim.", user=stage.bob, mention_bot=False)
        await stage.on_discord("true?", reply_to_last=True)
        on_discord = stage.prompt()
        await stage.on_discord("sure?", reply_to_last=True)
        again = stage.prompt()
        stage.telegram.say(GROUP, "Herons swim.", user=BOB)
        await stage.on_telegram("true?", reply_to_last=True)
        on_telegram = stage.prompt()

    assert on_discord == ["> bob: Herons swim.\n\nada: true?"]
    assert again[-1] == "ada: sure?"
    assert on_telegram == ["> Person 2: Herons swim.\n\nPerson 1: true?"]


async def test_admins_choose_who_answers_all(stage: Stage) -> None:
    async with stage.bot.running():
        await online(stage)
        refused = [await stage.on_discord("/persona tutor"), await stage.on_telegram("/persona tutor")]
        await stage.on_discord("/persona tutor", "root")
        await stage.on_discord("Hello")
        on_discord = stage.prompt()
        await stage.on_telegram("/persona tutor", ROOT)
        await stage.on_telegram("Hello")
        on_telegram = stage.prompt()

    assert refused == [words.ADMINS_CHOOSE] * 2
    assert on_discord[0] == on_telegram[0] == "Teach."


async def test_discord_offers_the_names_while_one_is_typed(stage: Stage) -> None:
    """On Telegram the commands are in the menu."""
    async with stage.bot.running():
        await online(stage)
        await stage.discord.until(lambda: bool(stage.discord.interactions.commands))
        typed = [stage.discord.complete(stage.discord.channel, name, "name", "") for name in ("persona", "model")]
        await stage.discord.until(lambda: all(one.suggested is not None for one in typed))
        await stage.telegram.until(lambda: len(stage.telegram.menus) == 2)
        menus = stage.telegram.menus

    assert [one.suggested for one in typed] == [["default", "tutor"], ["demo"]]
    assert all({"persona", "model", "usage"} <= set(menu) for menu in menus.values())
