"""A whole bot on SimCord: what people on Discord see from their question to the end of its answer."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any

import discord
import pytest
import simcord
from pydantic import SecretStr

from clawdbot import words
from clawdbot.app import open_app
from clawdbot.bot import Bot
from clawdbot.chat import Event, Message, Reply
from clawdbot.clock import SystemClock
from clawdbot.settings.config import Allowed, AnswerSettings, Settings, StoreSettings
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.engine import Script, ScriptedEngine
from clawdbot.testing.waiting import patience
from clawdbot_discord.backlog import Backlog
from clawdbot_discord.client import Session
from clawdbot_discord.line import Line
from clawdbot_discord.settings import DiscordSettings

WORD = 5.0
"""Seconds that the model needs for a word."""


class SimcordClock(SystemClock):
    """This machine's time, at SimCord's date."""

    def __init__(self, env: simcord.Env) -> None:
        self._env = env

    def wall(self) -> float:
        return self._env.now().timestamp()


class Watched(Session):
    """The bot's own session, for tests that wait until it was told something."""

    def __init__(self) -> None:
        line = Line(DiscordSettings(token=SecretStr("t")), SystemClock())
        line.client = self
        self.bot: Bot | None = None
        self.told = asyncio.Event()
        # SimCord waits for all that its events set off: right for a command, not for an answer that is being written.
        self._outside = copy_context()
        super().__init__(self._hand_on, line, Backlog())

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        super().dispatch(event, *args, **kwargs)
        self.told.set()

    def _hand_on(self, event: Event, reply: Reply) -> Awaitable[None]:
        assert self.bot is not None
        if isinstance(event, Message) and event.text.startswith("/"):
            return self.bot.receive(event, reply)
        return self._outside.run(self.bot.receive, event, reply)


class Stage:
    """A guild with a channel, an admin, Ada and Bob, and a model that writes when the test lets it."""

    def __init__(self, env: simcord.Env, session: Watched) -> None:
        self.env = env
        self.session = session
        guild = env.create_guild()
        self.channel = guild.create_text_channel("general")
        self.ada, self.bob, self.admin = (guild.add_member(env.create_user(name)) for name in ("ada", "bob", "root"))
        self.role = guild.create_role("friends")
        self.friend = guild.add_member(env.create_user("fay"), roles=[self.role])
        self.stranger = guild.add_member(env.create_user("eve"), roles=[guild.create_role("others")])
        self.model = ManualClock()
        self.engines: list[ScriptedEngine] = []

    @asynccontextmanager
    async def open_engine(self) -> AsyncIterator[ScriptedEngine]:
        self.engines.append(ScriptedEngine(lambda _: Script(["A heron ", "is a ", "@everyone."], gap=WORD), self.model))
        yield self.engines[-1]

    @property
    def answer(self) -> discord.Message:
        """The newest message of the channel."""
        assert self.channel.last_message is not None
        return self.channel.last_message

    @property
    def controls(self) -> list[str | None]:
        """What the buttons below it say."""
        rows = (row for row in self.answer.components if isinstance(row, discord.ActionRow))
        return [item.label for row in rows for item in row.children if isinstance(item, discord.Button)]

    async def ask(self) -> None:
        """Ada asks something; the first words of the answer are there."""
        assert self.env.bot.user is not None
        await self.ada.send(self.channel, f"{self.env.bot.user.mention} what is a heron?")
        await self.until(lambda: self.answer.content == "A heron")

    async def write(self, text: str) -> None:
        """Let the model write its next word; ``text`` is what the answer says then."""
        await self.model.advance(WORD)
        await self.until(lambda: self.answer.content == text)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until ``condition`` holds. Raises TimeoutError."""
        async with patience(10, lambda: self.answer):
            while not condition():
                self.session.told.clear()
                await self.session.told.wait()


@pytest.fixture
async def simcord_bot() -> AsyncIterator[Watched]:
    """The session that SimCord's own fixture brings online; it puts another HTTP client into it."""
    session = Watched()
    connector = session.http.connector
    yield session
    await connector.close()


@pytest.fixture
async def stage(simcord_env: simcord.Env, simcord_bot: Watched, tmp_path: Path) -> AsyncIterator[Stage]:
    stage = Stage(simcord_env, simcord_bot)
    people = Allowed(
        users=frozenset({stage.ada.id, stage.bob.id}),
        admins=frozenset({stage.admin.id}),
        roles=frozenset({stage.role.id}),
    )
    settings = Settings(
        answers=AnswerSettings(system_prompt=""),
        access={"discord": people},
        store=StoreSettings(path=tmp_path / "clawdbot.sqlite3"),
    )
    async with AsyncExitStack() as stack:
        clock = SimcordClock(simcord_env)
        app = await stack.enter_async_context(open_app(settings, stage.open_engine, clock, lambda timing: None))
        simcord_bot.bot = app.bot
        await simcord_bot.register()
        yield stage


async def test_an_answer_grows_in_one_message_and_ends(stage: Stage) -> None:
    await stage.ask()
    begun, growing = stage.answer, stage.controls
    await stage.write("A heron is a")
    await stage.write("A heron is a @everyone.")
    assert stage.answer.id == begun.id
    assert begun.reference is not None
    assert (growing, stage.controls) == (["Stop"], ["Regenerate"])


async def test_the_asker_can_stop_it(stage: Stage) -> None:
    await stage.ask()
    pressed = await stage.ada.click(stage.answer, label="Stop")
    await stage.until(lambda: stage.controls == ["Regenerate"])
    assert pressed.acknowledged
    assert stage.answer.content == f"A heron\n\n{words.STOPPED_MARK}"
    assert len(stage.engines[0].aborted) == 1


async def test_somebody_else_cannot(stage: Stage) -> None:
    """Their press is taken all the same: nothing has failed."""
    await stage.ask()
    pressed = await stage.bob.click(stage.answer, label="Stop")
    await stage.write("A heron is a")
    assert pressed.acknowledged
    assert stage.controls == ["Stop"]


async def test_an_admin_can(stage: Stage) -> None:
    await stage.ask()
    await stage.admin.click(stage.answer, label="Stop")
    await stage.until(lambda: stage.controls != ["Stop"])
    assert stage.controls == ["Regenerate"]
    assert stage.answer.content == "A heron\n\n*(stopped)*"


async def test_an_interrupted_answer_shows_continue(stage: Stage) -> None:
    """The model's process dies in the middle of it."""
    await stage.ask()
    stage.engines[0].die()
    await stage.until(lambda: stage.controls == ["Continue"])
    pressed = await stage.ada.click(stage.answer, label="Continue")
    assert stage.answer.content.startswith("A heron")
    assert pressed.acknowledged


@pytest.mark.parametrize("name", ["latency", "help"])
async def test_an_admin_may_call_every_command(stage: Stage, name: str) -> None:
    result = await stage.admin.slash(stage.channel, name)
    assert result.ephemeral
    assert result.response is not None
    assert result.response.content != words.ADMINS_ONLY


async def test_latency_is_for_admins(stage: Stage) -> None:
    """Others are told so, where nobody else sees it, and nothing more."""
    result = await stage.ada.slash(stage.channel, "latency")
    assert result.ephemeral
    assert result.response is not None
    assert result.response.content == words.ADMINS_ONLY


async def test_a_role_lets_its_bearers_talk(stage: Stage) -> None:
    """Messages and commands tell which roles somebody has; another role is none."""
    assert stage.env.bot.user is not None
    called = [await person.slash(stage.channel, "help") for person in (stage.friend, stage.stranger)]
    await stage.friend.send(stage.channel, f"{stage.env.bot.user.mention} what is a heron?")
    await stage.until(lambda: stage.answer.content == "A heron")
    said = [result.response.content for result in called if result.response is not None]
    assert said[0].startswith("/new")
    assert said[1:] == [words.REFUSED.format(id=stage.stranger.id)]


async def test_nobody_is_pinged_by_anything(stage: Stage) -> None:
    """Discord reads mentions in edits as well, and in answers to commands."""
    await stage.ask()
    await stage.write("A heron is a")
    await stage.write("A heron is a @everyone.")
    await stage.ada.slash(stage.channel, "help")
    bodies = [entry.json or {} for entry in stage.env.http_requests if entry.method in ("POST", "PATCH")]
    texts = [body.get("data", body) for body in bodies]
    pings = [text["allowed_mentions"]["parse"] for text in texts if "content" in text]
    assert len(pings) == 4
    assert not any(pings)
