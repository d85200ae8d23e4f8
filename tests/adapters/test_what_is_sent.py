"""What people see when they send more than text: one bot, the unmodified SDKs, both simulated platforms."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from pydantic import SecretStr

from clawdbot import words
from clawdbot.app import open_app, serve
from clawdbot.chat import Adapter
from clawdbot.clock import SystemClock
from clawdbot.engine.protocol import Request
from clawdbot.settings.config import Allowed, AnswerSettings, Settings, StoreSettings
from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.engine import INFO, Script, ScriptedEngine
from clawdbot.testing.faults import Fault, Faults, Trouble
from clawdbot.testing.rig import echo, question
from clawdbot.testing.telegram import Sent, SimTelegram
from clawdbot_discord import DiscordAdapter
from clawdbot_telegram import TelegramAdapter, TelegramSettings

from .discord_bot import settings_for

ADA = 7
TYPES = {"txt": "text/plain", "png": "image/png", "ogg": "audio/ogg", "mp4": "video/mp4"}
HERONS = b"Herons are tall.\n"
EGRETS = "Egrets are white. Größe: 1 m.".encode()


class OnDiscord:
    """Discord, as somebody uses it who talks to the bot in private; ``download`` is what its faults call one."""

    name, download = "discord", "GET file"

    def __init__(self, sim: SimDiscord) -> None:
        self.sim, self.faults = sim, sim.faults
        self.chat = sim.private()
        self.user = sim.user.id

    def adapter(self) -> Adapter:
        return DiscordAdapter(settings_for(self.sim))

    async def online(self) -> None:
        await self.sim.online()

    def send(self, text: str, files: Mapping[str, bytes]) -> None:
        self.sim.say(self.chat, text, files=files)

    def send_sticker(self) -> None:
        self.sim.say(self.chat, "", more={"sticker_items": [{"id": "1", "name": "wave", "format_type": 1}]})

    def send_voice(self) -> None:
        self.sim.say(self.chat, "", files={"voice-message.ogg": b"OggS"})

    @property
    def screen(self) -> list[str]:
        return [post.text for post in self.sim.answers(self.chat)]

    async def until(self, condition: Callable[[], bool]) -> None:
        await self.sim.until(condition)


class OnTelegram:
    """The same on Telegram, where several files are an album."""

    name, download = "telegram", "download"

    def __init__(self, sim: SimTelegram) -> None:
        self.sim, self.faults = sim, sim.faults
        self.user = ADA

    def adapter(self) -> Adapter:
        return TelegramAdapter(TelegramSettings(token=SecretStr(self.sim.token), base_url=self.sim.url))

    async def online(self) -> None:
        await self.sim.online()

    def send(self, text: str, files: Mapping[str, bytes]) -> None:
        things = [Sent("document", name, TYPES.get(name[-3:], ""), data) for name, data in files.items()]
        self.sim.send(ADA, *things, caption=text)

    def send_sticker(self) -> None:
        self.sim.send(ADA, Sent("sticker"))

    def send_voice(self) -> None:
        self.sim.send(ADA, Sent("voice", data=b"OggS"))

    @property
    def screen(self) -> list[str]:
        return [shown.text for shown in self.sim.answers(ADA)]

    async def until(self, condition: Callable[[], bool]) -> None:
        await self.sim.until(condition)


@pytest.fixture(params=["discord", "telegram"])
async def platform(request: pytest.FixtureRequest) -> AsyncIterator[OnDiscord | OnTelegram]:
    if request.param == "discord":
        async with SimDiscord() as discord:
            yield OnDiscord(discord)
    else:
        async with SimTelegram() as telegram:
            yield OnTelegram(telegram)


class Bot:
    """A bot on one platform that may run more than once: that is a restart on the same database."""

    def __init__(self, platform: OnDiscord | OnTelegram, folder: Path) -> None:
        self.platform = platform
        self.script: Callable[[Request], Script] = echo
        self.info = INFO
        self.engines: list[ScriptedEngine] = []
        self._settings = Settings(
            answers=AnswerSettings(system_prompt="", max_tokens=1192),
            access={platform.name: Allowed(users=frozenset({platform.user}))},
            store=StoreSettings(path=folder / "clawdbot.sqlite3"),
        )

    @property
    def requests(self) -> list[Request]:
        """All that the model was asked, in every run."""
        return [request for engine in self.engines for request in engine.requests]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The bot at work; leaving the block is a crash."""
        life = asyncio.create_task(self._live())
        online = asyncio.create_task(self.platform.online())
        try:
            await asyncio.wait((life, online), return_when=asyncio.FIRST_COMPLETED)
            yield
        finally:
            online.cancel()
            life.cancel()
            await asyncio.wait((life,))

    async def _live(self) -> None:
        clock = SystemClock()
        async with open_app(self._settings, self._open_engine, clock, lambda fact: None) as app:
            await serve(app, {self.platform.name: self.platform.adapter()}, clock, asyncio.Event(), 0.0)

    @asynccontextmanager
    async def _open_engine(self) -> AsyncIterator[ScriptedEngine]:
        self.engines.append(ScriptedEngine(lambda request: self.script(request), SystemClock(), self.info))
        yield self.engines[-1]


@pytest.fixture
def bot(platform: OnDiscord | OnTelegram, tmp_path: Path) -> Bot:
    return Bot(platform, tmp_path)


def picture() -> bytes:
    out = BytesIO()
    Image.new("RGB", (4, 3), "red").save(out, "PNG")
    return out.getvalue()


async def test_a_file_of_text_is_read(bot: Bot) -> None:
    async with bot.running():
        bot.platform.send("What are they?", {"birds.txt": HERONS})
        await bot.platform.until(lambda: len(bot.platform.screen) == 1 and "they?" in bot.platform.screen[0])

    assert "birds.txt]\nHerons are tall.\n[end" in bot.platform.screen[0]


async def test_several_files_are_one_question_with_one_answer(bot: Bot) -> None:
    """On Telegram they are an album, a message each."""
    async with bot.running():
        bot.platform.send("Which is taller?", {"herons.txt": HERONS, "egrets.txt": EGRETS})
        await bot.platform.until(lambda: any("taller?" in text for text in bot.platform.screen))

    assert len(bot.requests) == 1
    assert len(bot.platform.screen) == 1
    asked = question(bot.requests[0].prompt)
    assert asked.index("herons.txt]\nHerons are tall.") < asked.index("egrets.txt]\nEgrets are white. Größe: 1 m.")
    assert asked.endswith("\n\nWhich is taller?")


async def test_a_download_that_fails_is_tried_again(bot: Bot) -> None:
    bot.platform.faults.add(bot.platform.download, Fault(Trouble.BAD_GATEWAY), Fault(Trouble.LIMITED, 1.0))
    async with bot.running():
        bot.platform.send("What are they?", {"birds.txt": HERONS})
        await bot.platform.until(lambda: any("they?" in text for text in bot.platform.screen))

    assert len(bot.platform.screen) == 1


async def test_a_crash_during_a_download_loses_nothing(bot: Bot) -> None:
    """The question is in the store before it is acknowledged, its files where the platform has them."""
    hanging = Faults(lambda call: Fault(Trouble.HANG, 60.0) if call == bot.platform.download else None)
    async with bot.running():
        bot.platform.faults.plan = hanging.plan
        bot.platform.send("What are they?", {"birds.txt": HERONS})
        await bot.platform.until(lambda: bot.platform.screen == [words.LOADING_FILES])
    bot.platform.faults.plan = lambda call: None
    async with bot.running():
        await bot.platform.until(lambda: any("they?" in text for text in bot.platform.screen))

    assert "Herons are tall." in bot.platform.screen[0]
    assert len(bot.platform.screen) == 1


async def test_a_voice_message_gets_a_sentence(bot: Bot) -> None:
    """Never silence, and never an answer as if it had been heard."""
    async with bot.running():
        bot.platform.send_voice()
        await bot.platform.until(lambda: bool(bot.platform.screen))

    assert bot.platform.screen[0].startswith("I cannot read ")
    assert bot.platform.screen[0].endswith(f"What I can read: {words.READABLE}.")
    assert bot.requests == []


async def test_a_sticker_gets_a_sentence(bot: Bot) -> None:
    async with bot.running():
        bot.platform.send_sticker()
        await bot.platform.until(lambda: bool(bot.platform.screen))

    assert bot.platform.screen == [words.UNREADABLE.format(names="a sticker", what=words.READABLE)]
    assert bot.requests == []


async def test_what_is_no_text_is_refused_by_name(bot: Bot) -> None:
    async with bot.running():
        bot.platform.send("What is that?", {"data.bin": bytes(range(256))})
        await bot.platform.until(lambda: bool(bot.platform.screen))

    assert bot.platform.screen == [words.NO_TEXT.format(name="data.bin")]


async def test_too_long_a_document_is_refused_with_its_tokens(bot: Bot) -> None:
    async with bot.running():
        bot.platform.send("What is in it?", {"notes.txt": b"x" * 12_345})
        await bot.platform.until(lambda: bool(bot.platform.screen))

    assert bot.platform.screen == [words.FILES_TOO_LONG.format(files="notes.txt: 12,345 tokens", limit=7000)]
    assert bot.requests == []


async def test_a_picture_is_refused_where_the_model_sees_nothing(bot: Bot) -> None:
    async with bot.running():
        bot.platform.send("What is that?", {"bird.png": picture()})
        await bot.platform.until(lambda: bool(bot.platform.screen))

    assert bot.platform.screen == [words.NO_PICTURES.format(names="bird.png")]
    assert bot.requests == []


async def test_a_picture_is_shown_to_a_model_that_sees(bot: Bot) -> None:
    bot.info = replace(INFO, images=4)
    async with bot.running():
        bot.platform.send("What is that?", {"bird.png": picture()})
        await bot.platform.until(lambda: any("that?" in text for text in bot.platform.screen))

    assert [image.size for image in bot.requests[0].images] == [(4, 3)]
    assert question(bot.requests[0].prompt) == "[image: bird.png]\n\nWhat is that?"
