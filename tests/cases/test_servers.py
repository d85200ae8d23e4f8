"""A bot whose engine is elsewhere: what people see when its servers fail. Simulated servers, real sockets."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from pydantic import SecretStr

from clawdbot import words
from clawdbot.app import open_app, serve
from clawdbot.chat import Adapter
from clawdbot.clock import SystemClock
from clawdbot.engine.host import OpenedEngine, OpenEngine
from clawdbot.engine.protocol import Request
from clawdbot.engine.remote.opening import Remote, open_remote
from clawdbot.engine.remote.waits import Waits
from clawdbot.engine.settings import EngineSettings
from clawdbot.latency.observed import unobserved
from clawdbot.settings.config import Allowed, AnswerSettings, Settings, StoreSettings
from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.engine import CharacterTokenizer, Script, ScriptedEngine, opened
from clawdbot.testing.serving import Break, SimVllm
from clawdbot.testing.telegram import Sent, SimTelegram
from clawdbot_discord import DiscordAdapter, DiscordSettings
from clawdbot_telegram import TelegramAdapter, TelegramSettings

WORDS = ["A ", "heron ", "is ", "a ", "bird."]
ANSWER = "".join(WORDS)


def bird() -> bytes:
    """A picture."""
    out = BytesIO()
    Image.new("RGB", (40, 30), "red").save(out, "PNG")
    return out.getvalue()


def said(request: Request) -> Script:
    return Script(WORDS)


@dataclass(frozen=True, slots=True)
class Platform:
    """One platform with one person's private chat."""

    name: str
    adapter: Adapter
    person: int
    say: Callable[[str], object]
    show: Callable[[str, bytes], object]
    """Asks about a picture, which is called bird.png."""
    screen: Callable[[], list[str]]
    """The texts of the bot's messages there."""
    until: Callable[[Callable[[], bool]], Awaitable[object]]
    online: Callable[[], Awaitable[None]]
    """Waits until the bot would hear what is said."""


@asynccontextmanager
async def discord() -> AsyncIterator[Platform]:
    async with SimDiscord() as sim:
        place = sim.private()
        given = DiscordSettings(token=SecretStr(sim.token), api_url=sim.rest_url, gateway_url=sim.gateway_url)
        yield Platform(
            "discord",
            DiscordAdapter(given),
            sim.user.id,
            lambda text: sim.say(place, text),
            lambda text, data: sim.say(place, text, files={"bird.png": data}),
            lambda: [post.now.text for post in sim.answers(place)],
            lambda condition: sim.until(condition, 20),
            sim.online,
        )


@asynccontextmanager
async def telegram() -> AsyncIterator[Platform]:
    async with SimTelegram() as sim:
        yield Platform(
            "telegram",
            TelegramAdapter(TelegramSettings(token=SecretStr(sim.token), base_url=sim.url)),
            7,
            lambda text: sim.say(7, text, user=7),
            lambda text, data: sim.send(7, Sent("document", "bird.png", "image/png", data), caption=text),
            lambda: [answer.look.text for answer in sim.answers(7)],
            lambda condition: sim.until(condition, 20),
            sim.online,
        )


On = Callable[[], AbstractAsyncContextManager[Platform]]


@asynccontextmanager
async def serving(
    folder: Path, platform: Platform, *sims: SimVllm, beside: OpenEngine | None = None
) -> AsyncIterator[None]:
    """The whole bot, with its engine on these servers; ``beside`` one that is its default, and they are "large"."""
    clock, stop = SystemClock(), asyncio.Event()
    settings = Settings(
        answers=AnswerSettings(system_prompt=""),
        store=StoreSettings(path=folder / "bot.sqlite3"),
        access={platform.name: Allowed(users=frozenset({platform.person}))},
    )
    urls = tuple(sim.url for sim in sims)
    wanted = Remote(urls, "", "", 0, step_budget=512, cache_tokens=0, interval=0.05, waits=Waits(), key=None)

    def elsewhere() -> AbstractAsyncContextManager[OpenedEngine]:
        return open_remote(wanted, clock, lambda name: CharacterTokenizer())

    others = {"large": elsewhere} if beside else {}
    settings = settings.model_copy(update={"models": dict.fromkeys(others, EngineSettings())})
    async with open_app(settings, beside or elsewhere, clock, unobserved, others) as app:
        served = asyncio.create_task(serve(app, {platform.name: platform.adapter}, clock, stop, 1.0))
        await platform.online()
        await app.host.engine()
        yield
        stop.set()
        await served


@pytest.mark.parametrize("on", [discord, telegram], ids=lambda on: on.__name__)
async def test_a_server_that_dies_in_mid_answer_leaves_what_was_read(on: On, tmp_path: Path) -> None:
    """It is marked, and the next question is answered by the other server, in the same conversation."""
    async with (
        SimVllm(said) as first,
        SimVllm(said) as second,
        on() as platform,
        serving(tmp_path, platform, first, second),
    ):
        first.break_after(3, Break.RESET)  # the first one is chosen where all are idle
        platform.say("What is a heron?")
        await platform.until(lambda: any("interrupted" in text for text in platform.screen()))
        (cut,) = platform.screen()
        await first.stop()
        platform.say("And an egret?")
        await platform.until(lambda: platform.screen()[-1] == ANSWER)

    assert cut.startswith("A heron is")
    assert words.INTERRUPTED_MARK.strip("*()") in cut


@pytest.mark.parametrize("on", [discord, telegram], ids=lambda on: on.__name__)
async def test_without_any_server_questions_are_kept_until_one_is_back(on: On, tmp_path: Path) -> None:
    """Whoever asks is told, and answered once."""
    async with SimVllm(said) as sim, on() as platform, serving(tmp_path, platform, sim):
        await sim.stop()
        platform.say("What is a heron?")
        await platform.until(lambda: platform.screen() == [words.RESTARTING])
        await sim.start()
        await platform.until(lambda: platform.screen() == [ANSWER])

    assert len([asked for asked in sim.asked if asked.session]) == 1


@pytest.mark.parametrize("on", [discord, telegram], ids=lambda on: on.__name__)
async def test_beside_an_engine_in_the_bot_they_are_another_model(on: On, tmp_path: Path) -> None:
    """When they are away the one in the bot answers as soon as it is chosen, also what waited for them."""
    small = ScriptedEngine(lambda request: Script(["Small."]), SystemClock())
    async with SimVllm(said) as sim, on() as platform, serving(tmp_path, platform, sim, beside=lambda: opened(small)):

        def ends(with_: str) -> bool:
            return with_ in "".join(platform.screen()[-1:])

        for text, answer in (("Hello", "Small."), ("/model large", "large"), ("What is a heron?", ANSWER)):
            platform.say(text)
            await platform.until(partial(ends, answer))
        await sim.stop()
        platform.say("And an egret?")
        await platform.until(lambda: platform.screen()[-1] == f"{words.RESTARTING} {words.ANOTHER_MODEL}")
        platform.say("/model demo")
        await platform.until(
            lambda: platform.screen()[-2:] == ["Small.", words.CHOSEN.format(kind="model", name="demo")]
        )


@pytest.mark.parametrize("on", [discord, telegram], ids=lambda on: on.__name__)
async def test_a_picture_is_seen_by_the_server(on: On, tmp_path: Path) -> None:
    async with SimVllm(said, sees=1) as sim, on() as platform, serving(tmp_path, platform, sim):
        platform.show("What is that?", bird())
        await platform.until(lambda: platform.screen() == [ANSWER])

    chat = sim.asked[-1].chat
    assert chat is not None
    assert [picture.size for picture in chat.images] == [(40, 30)]
    assert chat.turns[-1].text == "[image: bird.png]\n\nWhat is that?"


@pytest.mark.parametrize("on", [discord, telegram], ids=lambda on: on.__name__)
async def test_a_picture_that_the_server_does_not_take_is_told(on: On, tmp_path: Path) -> None:
    """As when it was started anew with another model; the conversation goes on."""
    async with SimVllm(said, sees=1) as sim, on() as platform, serving(tmp_path, platform, sim):
        sim.sees = 0
        platform.show("What is that?", bird())
        await platform.until(lambda: platform.screen() == [words.PICTURES_REFUSED.format(names="bird.png")])
        platform.say("What is a heron?")
        await platform.until(lambda: platform.screen()[1:] == [ANSWER])
