"""The bot follows its people on both platforms: other answers, edited questions, cut texts, and Stop at any moment."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path
from typing import Any, Protocol

import pytest
from pydantic import SecretStr

from clawdbot import words
from clawdbot.app import App
from clawdbot.engine.protocol import Request
from clawdbot.sessions.ticket import Ticket
from clawdbot.settings.config import SessionSettings
from clawdbot.testing.discord import Channel, Post, SimDiscord
from clawdbot.testing.engine import Script, ScriptedEngine
from clawdbot.testing.faults import Fault, Trouble
from clawdbot.testing.rig import question
from clawdbot.testing.telegram import Sent, Shown, SimTelegram
from clawdbot_discord.controls import REGENERATE, STOP
from clawdbot_telegram import TelegramAdapter, TelegramSettings

from .discord_bot import DiscordBot

ADA, GROUP = 1, -5
STOPPED = words.STOPPED_MARK.strip("*")
"""Telegram shows it in italics, without the signs of Markdown."""
SOON = 2.0
"""Seconds; a stop takes a few thousandths of one here, and the machine may be busy."""


class Platform(Protocol):
    """One of the two, as a person uses it: in private (``place`` 0) or in company."""

    def say(self, text: str, place: int = 0) -> Any:
        """Write something to the bot; in company with its name."""
        ...

    def edit(self, said: Any, text: str) -> None:
        """Change what was written in private."""
        ...

    def press(self, control: str) -> None:
        """Use the control below the last answer in private."""
        ...

    def texts(self, place: int = 0) -> list[str]:
        """The bot's messages."""
        ...

    def shows(self, *texts: str) -> bool:
        """Whether those are the bot's messages in private, in any order, and none of them grows."""
        ...

    def hang(self) -> None:
        """Let the next edit get no answer for seconds."""
        ...

    @property
    def hung(self) -> bool:
        """Whether that has come."""
        ...

    async def online(self) -> None:
        """Wait until the bot listens."""
        ...

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so."""
        ...


class OnDiscord:
    """A private chat and a channel."""

    def __init__(self, sim: SimDiscord) -> None:
        self.sim = sim
        self._places: list[Channel] = [sim.private(), sim.channel]

    def say(self, text: str, place: int = 0) -> Post:
        return self.sim.say(self._places[place], text)

    def edit(self, said: Post, text: str) -> None:
        self.sim.edit_question(said, text)

    def press(self, control: str) -> None:
        self.sim.press(self.sim.answers(self._places[0])[-1], {"stop": STOP, "regenerate": REGENERATE}[control])

    def texts(self, place: int = 0) -> list[str]:
        return [post.text for post in self.sim.answers(self._places[place])]

    def shows(self, *texts: str) -> bool:
        answers = self.sim.answers(self._places[0])
        return sorted(self.texts()) == sorted(texts) and not any(post.now.growing for post in answers)

    def hang(self) -> None:
        self.sim.faults.add("PATCH message", Fault(Trouble.HANG, seconds=3.0))

    @property
    def hung(self) -> bool:
        return self.sim.faults.injected[Trouble.HANG] == 1

    async def online(self) -> None:
        await self.sim.online()

    async def until(self, condition: Callable[[], bool]) -> None:
        await self.sim.until(condition)


class OnTelegram:
    """A private chat and a group."""

    def __init__(self, sim: SimTelegram) -> None:
        self.sim = sim
        self._places = [ADA, sim.group(GROUP)]

    def say(self, text: str, place: int = 0) -> Shown:
        said = f"@{self.sim.bot.username} {text}" if place else text
        return self.sim.say(self._places[place], said, user=ADA)

    def edit(self, said: Shown, text: str) -> None:
        self.sim.edit_question(said, text)

    def press(self, control: str) -> None:
        self.sim.press(self.sim.answers(ADA)[-1], control)

    def texts(self, place: int = 0) -> list[str]:
        return [shown.text for shown in self.sim.answers(self._places[place])]

    def shows(self, *texts: str) -> bool:
        return sorted(self.texts()) == sorted(texts) and not any(one.look.growing for one in self.sim.answers(ADA))

    def hang(self) -> None:
        self.sim.faults.add("editMessageText", Fault(Trouble.HANG, seconds=3.0))

    @property
    def hung(self) -> bool:
        return self.sim.faults.injected[Trouble.HANG] == 1

    async def online(self) -> None:
        await self.sim.online()

    async def until(self, condition: Callable[[], bool]) -> None:
        await self.sim.until(condition)


class Bot(DiscordBot):
    """A bot on both, whose engine may take its time to load."""

    def __init__(self, discord: SimDiscord, telegram: SimTelegram, folder: Path) -> None:
        settings = TelegramSettings(token=SecretStr(telegram.token), base_url=telegram.url)
        super().__init__(discord, folder, beside={"telegram": TelegramAdapter(settings)})
        self.loaded = asyncio.Event()
        self.loaded.set()

    @asynccontextmanager
    async def _open_engine(self) -> AsyncIterator[ScriptedEngine]:
        await self.loaded.wait()
        async with super()._open_engine() as engine:
            yield engine


class Stage:
    """Both platforms, and the bot that serves them."""

    def __init__(self, discord: SimDiscord, telegram: SimTelegram, folder: Path) -> None:
        self.telegram, self.discord = telegram, discord
        self.platforms: dict[str, Platform] = {"discord": OnDiscord(discord), "telegram": OnTelegram(telegram)}
        self.bot = Bot(discord, telegram, folder)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[App]:
        async with self.bot.running() as app:
            for platform in self.platforms.values():
                await platform.online()
            yield app


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with SimDiscord() as discord, SimTelegram(privacy=False) as telegram:
        yield Stage(discord, telegram, tmp_path)


both = pytest.mark.parametrize("name", ["discord", "telegram"])


def counted(stage: Stage) -> None:
    """Let the model say how often it was asked."""
    stage.bot.script = lambda request: Script([f"Answer {len(stage.bot.requests)} to {question(request.prompt)}"])


@both
async def test_regenerate_puts_another_answer_in_the_place_of_the_first(stage: Stage, name: str) -> None:
    """After a restart of the bot, too."""
    platform = stage.platforms[name]
    counted(stage)
    async with stage.running() as app:
        platform.say("hi")
        await platform.until(lambda: platform.shows("Answer 1 to hi"))
        await app.sessions.idle()
        platform.press("regenerate")
        await platform.until(lambda: platform.shows("Answer 2 to hi"))
        await app.sessions.idle()
    async with stage.running():
        platform.press("regenerate")
        await platform.until(lambda: platform.shows("Answer 3 to hi"))

    assert len(stage.bot.requests) == 3


@both
async def test_another_answer_can_be_stopped_before_its_first_word(stage: Stage, name: str) -> None:
    """The message says within about a second that it is written anew, with Stop; then the former one is there again."""
    platform = stage.platforms[name]
    counted(stage)
    async with stage.running() as app:
        platform.say("hi")
        await platform.until(lambda: platform.shows("Answer 1 to hi"))
        await app.sessions.idle()
        stage.bot.script = reading
        platform.press("regenerate")
        await platform.until(lambda: platform.texts() == [words.WRITING_ANEW])
        platform.press("stop")
        await platform.until(lambda: platform.shows("Answer 1 to hi"))
        await app.sessions.idle()

    assert not any(engine.running for engine in stage.bot.engines)


@both
async def test_the_answer_follows_an_edited_question(stage: Stage, name: str) -> None:
    platform = stage.platforms[name]
    counted(stage)
    async with stage.running():
        said = platform.say("hallo")
        await platform.until(lambda: platform.shows("Answer 1 to hallo"))
        platform.edit(said, "hello")
        await platform.until(lambda: platform.shows("Answer 2 to hello"))

    assert [question(request.prompt) for request in stage.bot.requests] == ["hallo", "hello"]


@both
async def test_commands_write_anew_and_forget(stage: Stage, name: str) -> None:
    platform = stage.platforms[name]
    counted(stage)
    async with stage.running() as app:
        platform.say("hi")
        await platform.until(lambda: platform.shows("Answer 1 to hi"))
        await app.sessions.idle()
        platform.say("/retry")
        await platform.until(lambda: platform.shows("Answer 2 to hi", words.RETRYING))
        platform.say("/undo")
        await platform.until(lambda: words.UNDONE in platform.texts())
        platform.say("/retry")
        await platform.until(lambda: words.NOTHING_TO_RETRY in platform.texts())

    assert [question(request.prompt) for request in stage.bot.requests] == ["hi", "hi"]


@pytest.mark.parametrize("place", [0, 1])
async def test_a_paste_that_the_client_cut_in_three_is_one_question(stage: Stage, place: int) -> None:
    """In a group only the first piece mentions the bot. White space is lost where a piece ends before the limit."""
    platform, chat = stage.platforms["telegram"], (ADA, GROUP)[place]
    stage.bot.script = lambda request: Script([f"{len(question(request.prompt))} characters"])
    async with stage.running() as app:
        head = "a" * (4096 - len(f"@{stage.telegram.bot.username} ") * place)
        platform.say(head, place)
        stage.telegram.say(chat, "b" * 2100, user=ADA)
        stage.telegram.say(chat, "c" * 10, user=ADA)
        await platform.until(lambda: any(text.startswith("62") for text in platform.texts(place)))
        await app.sessions.idle()

    asked = question(stage.bot.requests[-1].prompt)
    assert asked.endswith(head + "b" * 2100 + "\n" + "c" * 10)
    assert platform.texts(place) == [f"{len(asked)} characters"]


def last_asked(stage: Stage) -> str:
    """What the model was asked last; nothing before."""
    return question(stage.bot.requests[-1].prompt) if stage.bot.requests else ""


@pytest.mark.parametrize("place", [0, 1])
async def test_an_edit_of_any_piece_of_a_paste_changes_that_piece(stage: Stage, place: int) -> None:
    """After a restart, too. In a group a later piece does not name the bot, and what others say there is no piece."""
    platform, sim = stage.platforms["telegram"], stage.telegram
    name = f"@{sim.bot.username} " * place
    stage.bot.script = lambda request: Script(["Done."])
    async with stage.running() as app:
        head = platform.say("a" * (4096 - len(name)), place)
        tail = sim.say((ADA, GROUP)[place], "tail", user=ADA)
        talk = sim.say(GROUP, "What a text!", user=7)
        await platform.until(lambda: last_asked(stage).endswith("aatail"))
        await app.sessions.idle()
        sim.edit_question(talk, "What a long text!")
        sim.edit_question(tail, "end")
        await platform.until(lambda: last_asked(stage).endswith("aaend"))
        await app.sessions.idle()
    async with stage.running() as app:
        sim.edit_question(head, f"{name}{'b' * 3000}")
        await platform.until(lambda: last_asked(stage).endswith("bbend"))
        await app.sessions.idle()

    assert "aa" not in last_asked(stage)
    assert "long" not in last_asked(stage)
    assert len(platform.texts(place)) == 1


async def test_an_edit_of_a_caption_within_an_album_asks_the_whole_of_it(stage: Stage) -> None:
    """In a group the other messages of it do not name the bot."""
    platform, sim = stage.platforms["telegram"], stage.telegram
    birds = [Sent("document", f"{name}.txt", "text/plain", name.encode()) for name in ("Heron", "Egret")]
    async with stage.running() as app:
        _, second = sim.send(GROUP, *birds, caption=f"@{sim.bot.username} Which is taller?", user=ADA)
        await platform.until(lambda: last_asked(stage).endswith("Which is taller?"))
        await app.sessions.idle()
        sim.edit_question(second, "In feet.")
        await platform.until(lambda: last_asked(stage).endswith("Which is taller?\nIn feet."))
        await app.sessions.idle()

    assert all(bird in last_asked(stage) for bird in ("Heron", "Egret"))
    assert len(platform.texts(1)) == 1


@both
async def test_an_edit_that_takes_the_bots_name_away_is_still_one_of_the_question(stage: Stage, name: str) -> None:
    """And no answer to somebody else."""
    platform = stage.platforms[name]
    async with stage.running() as app:
        said = platform.say("hallo", 1)
        await platform.until(lambda: last_asked(stage).endswith("hallo"))
        await app.sessions.idle()
        platform.edit(said, "hello")
        await platform.until(lambda: last_asked(stage).endswith("hello"))
        await app.sessions.idle()

    assert len(platform.texts(1)) == 1


async def test_a_question_that_is_deleted_at_once_is_not_answered(stage: Stage) -> None:
    """The deletion comes right behind it on Discord; Telegram tells of none."""
    platform = stage.platforms["discord"]
    stage.bot.script = reading
    async with stage.running() as app:
        stage.discord.delete_question(platform.say("Hello"))
        await stage.discord.until(lambda: any(ticket.cut is not None for ticket in app.sessions.tickets))
        await app.sessions.idle()

    assert not any(engine.running for engine in stage.bot.engines)


async def test_talk_among_people_after_a_long_text_is_none_of_it(stage: Stage) -> None:
    """What somebody else says in the group is not a piece of it."""
    platform = stage.platforms["telegram"]
    async with stage.running() as app:
        platform.say("a" * 3000, 1)
        stage.telegram.say(GROUP, "What a text!", user=7)
        await platform.until(lambda: len(platform.texts(1)) == 1)
        await app.sessions.idle()

    (request,) = stage.bot.requests
    assert question(request.prompt).endswith("a" * 3000)


# Stop


def endless(request: Request) -> Script:
    return Script([f"word {number} " for number in range(2000)], gap=0.05)


def reading(request: Request) -> Script:
    """A prompt that is read for ever."""
    return Script(["?"], first=inf)


async def stopped(platform: Platform, tickets: Sequence[Ticket]) -> None:
    """Wait until none of these answers is being made any more, wherever they are. Raises TimeoutError."""
    async with asyncio.timeout(SOON):
        await platform.until(lambda: all(ticket.cut is not None and ticket.written for ticket in tickets))


@both
@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("state", ["read", "written", "hanging", "loading"])
async def test_stop_works_at_once_in_every_state(stage: Stage, name: str, state: str, twice: bool) -> None:
    """While the prompt is read, the text written, an edit without an answer, the engine loaded; twice in a row, too."""
    platform = stage.platforms[name]
    stage.bot.script = reading if state == "read" else endless
    if state == "loading":
        stage.bot.loaded.clear()
    async with stage.running() as app:
        platform.say("Count")
        if state == "read":
            await platform.until(lambda: bool(stage.bot.requests))
        elif state == "loading":
            await platform.until(lambda: platform.texts() == [words.LOADING])
        else:
            await platform.until(lambda: bool(platform.texts()))
        if state == "hanging":
            platform.hang()
            await platform.until(lambda: platform.hung)

        for _ in range(1 + twice):
            platform.say("/stop")
        await stopped(platform, app.sessions.tickets)

        assert all(not engine.running for engine in stage.bot.engines)
        await platform.until(lambda: any(STOPPED in text for text in platform.texts()))


@both
@pytest.mark.parametrize("ahead", [0, 1])
async def test_stop_works_at_once_for_a_question_that_waits(stage: Stage, name: str, ahead: int) -> None:
    """For its turn in the conversation, and for a place in the engine, which an answer elsewhere has."""
    platform = stage.platforms[name]
    stage.bot.script = endless
    stage.bot.settings = stage.bot.settings.model_copy(update={"sessions": SessionSettings(concurrent=1)})
    async with stage.running() as app:
        platform.say("Count", ahead)
        await platform.until(lambda: len(stage.bot.requests) == 1)
        platform.say("Wait")
        await platform.until(lambda: len(app.sessions.tickets) == 2)
        waiting = app.sessions.tickets[1]
        platform.say("/stop")
        await stopped(platform, [waiting])

        await platform.until(lambda: any(text.strip("*") == STOPPED for text in platform.texts()))
    assert len(stage.bot.requests) == 1
