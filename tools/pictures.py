"""Makes the pictures in docs/pictures from a real run: ``python tools/pictures.py``.

The real vLLM with the demo model answers through the real adapters on the simulated platforms. What their screens
showed, and when, is written to docs/pictures/record.json; the pictures are drawn from that file alone by headless
Chromium. ``--draw`` draws them again without a new run. A run takes about three minutes and all cores; it needs the
test tools of this project and a ``chromium``.
"""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import telegram
import typer
import uvloop
from markdown_it import MarkdownIt
from pictures_drawing import Growth, Moment, Record, Report, draw_report, draw_strips
from pydantic import SecretStr, TypeAdapter

from clawdbot.app import open_app, serve
from clawdbot.chat import Adapter
from clawdbot.clock import SystemClock
from clawdbot.engine import models
from clawdbot.engine.vllm import VllmEngine, open_vllm
from clawdbot.settings.config import Allowed, AnswerSettings, Settings, StoreSettings
from clawdbot.testing.discord import Post, SimDiscord
from clawdbot.testing.telegram import Look, Shown, SimTelegram
from clawdbot_discord import DiscordAdapter, DiscordSettings
from clawdbot_discord.controls import control_of
from clawdbot_telegram import TelegramAdapter, TelegramSettings

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
RECORD = TypeAdapter(Record)

RTT = 0.08
"""Seconds of every call to a platform and back, as over the internet."""
PERSON = 7
"""The person on Telegram; the one on Discord is the simulator's own."""
LONGEST = 120
"""Tokens of an answer."""
PATIENCE = 60.0
"""Seconds that an answer may take."""
PAUSE = 3.0
"""Seconds between an answer and the next question."""

SHOWN = {
    "discord": "Explain in a few sentences why the sky is blue.",
    "telegram": "Give me three tips for better sleep, as a numbered list.",
}
"""The questions whose answers are shown growing."""
FURTHER = (
    "Write three sentences about the sea.",
    "And about the mountains?",
    "What is a heron?",
    "How does a rainbow form?",
    "Why do ships float?",
    "Tell me a short story about a lighthouse.",
    "Who lives in it?",
    "How do bees make honey?",
    "What does a compiler do?",
)
"""Asked on both platforms afterwards, one after the other, for `/latency` to have something to tell."""


def main(
    draw: Annotated[bool, typer.Option("--draw", help="Draw the last run again.")] = False,
    chromium: Annotated[str, typer.Option(help="The browser that draws.")] = "chromium",
) -> None:
    """Make the pictures in docs/pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    kept = FOLDER / "record.json"
    if not draw:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            kept.write_bytes(RECORD.dump_json(runner.run(record()), indent=1) + b"\n")
    recorded = RECORD.validate_json(kept.read_bytes())
    draw_strips(recorded, FOLDER / "answer.png", chromium)
    draw_report(recorded, FOLDER / "latency.png", chromium)


async def record() -> Record:
    """Let the bot answer on both platforms and an admin ask for `/latency`; what was seen of it."""
    began = datetime.now(UTC)
    async with (
        open_vllm(models.resolve("demo"), "auto", {}) as engine,
        SimDiscord(rtt=RTT) as discord,
        SimTelegram(rtt=RTT) as bot_api,
        serving(engine, discord, bot_api),
    ):
        grown = [await ask_discord(discord, SHOWN["discord"]), await ask_telegram(bot_api, SHOWN["telegram"])]
        for question in ("/new", *FURTHER):
            await ask_discord(discord, question)
            await asyncio.sleep(PAUSE)
            await ask_telegram(bot_api, question)
            await asyncio.sleep(PAUSE)
        report = await ask_latency(discord)
        info = engine.info
    return Record(began.date(), info.model, info.version, info.device, RTT, grown, report)


@asynccontextmanager
async def serving(engine: VllmEngine, discord: SimDiscord, bot_api: SimTelegram) -> AsyncIterator[None]:
    """The whole bot on both platforms, from start to orderly end."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[VllmEngine]:
        yield engine

    adapters = adapters_on(discord, bot_api)
    clock, stop = SystemClock(), asyncio.Event()
    with TemporaryDirectory(prefix="clawdbot-pictures-") as folder:
        settings = settings_on(discord, Path(folder))
        async with open_app(settings, opened, clock, lambda timing: None) as app:
            served = asyncio.create_task(serve(app, adapters, clock, stop, settings.sessions.drain))
            await discord.online()
            await bot_api.online()
            await discord.until(lambda: bool(discord.interactions.commands))
            yield
            stop.set()
            await served


def adapters_on(discord: SimDiscord, bot_api: SimTelegram) -> dict[str, Adapter]:
    """The real adapters on the simulated platforms."""
    return {
        "discord": DiscordAdapter(
            DiscordSettings(token=SecretStr(discord.token), api_url=discord.rest_url, gateway_url=discord.gateway_url)
        ),
        "telegram": TelegramAdapter(TelegramSettings(token=SecretStr(bot_api.token), base_url=bot_api.url)),
    }


def settings_on(discord: SimDiscord, folder: Path) -> Settings:
    """Those of a bot whose admins are the person on Discord and the one on Telegram."""
    admins = {"discord": discord.user.id, "telegram": PERSON}
    return Settings(
        answers=AnswerSettings(temperature=0.0, max_tokens=LONGEST),
        store=StoreSettings(path=folder / "clawdbot.sqlite3"),
        access={name: Allowed(admins=frozenset({number})) for name, number in admins.items()},
    )


async def ask_discord(sim: SimDiscord, text: str) -> Growth:
    """Ask in the guild's channel and wait for the whole answer; each state that it had there."""
    before = len(sim.answers(sim.channel))
    question = sim.say(sim.channel, text)
    await sim.until(lambda: _ended(sim.answers(sim.channel)[before:]), PATIENCE)
    posted = question.history[0].at
    answer = sim.answers(sim.channel)[before]
    moments = [
        Moment(
            look.at - posted,
            _markdown(look.text),
            [control.title() for button in look.buttons if (control := control_of(button))],
        )
        for look in answer.history
    ]
    return Growth("Discord", sim.user.name, text, moments)


def _ended(answers: list[Post]) -> bool:
    return bool(answers) and not answers[-1].now.growing


async def ask_telegram(sim: SimTelegram, text: str) -> Growth:
    """The same in a private chat on Telegram."""
    before = len(sim.answers(PERSON))
    question = sim.say(PERSON, text)

    def ended() -> list[Shown]:
        found = sim.answers(PERSON)[before:]
        return found if found and not found[-1].look.growing else []

    answer = (await sim.until(ended, PATIENCE))[0]
    moments = [
        Moment(look.at - question.at, _entities(look), [button.text for row in look.keyboard for button in row])
        for look in answer.looks
    ]
    return Growth("Telegram", "", text, moments)


async def ask_latency(sim: SimDiscord) -> Report:
    """Call `/latency` as an admin; the answer that nobody else sees."""
    called = sim.slash(sim.channel, "latency")
    await sim.until(lambda: bool(called.answers and called.answers[0].now.files), PATIENCE)
    post = called.answers[0]
    ((_, chart),) = post.now.files
    return Report(sim.user.name, post.only_for is not None, _markdown(post.text), b64encode(chart).decode())


def _markdown(text: str) -> str:
    """HTML of a text as Discord draws it: a line break is one."""
    return str(MarkdownIt("commonmark", {"breaks": True, "html": False}).render(text))


def _entities(look: Look) -> str:
    """HTML of a text and its entities as Telegram draws them."""
    marks = [telegram.MessageEntity(**{**one.json()}) for one in look.entities]
    chat = telegram.Chat(PERSON, "private")
    message = telegram.Message(1, datetime.now(UTC), chat, text=look.text, entities=marks)
    return message.text_html.replace("\n", "<br>")


if __name__ == "__main__":
    typer.run(main)
