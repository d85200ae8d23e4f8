"""The Discord client on SimCord: another's idea of how Discord behaves, in process, under the real discord.py."""

from collections.abc import AsyncIterator, Sequence

import discord
import pytest
import simcord
from pydantic import SecretStr

from clawdbot.chat import Conversation, Event, Frame, Message, Person, Post, Pressed, Quoted, Reply, State
from clawdbot.clock import SystemClock
from clawdbot_discord.backlog import Backlog
from clawdbot_discord.client import Session
from clawdbot_discord.line import Line
from clawdbot_discord.settings import DiscordSettings


class Echo:
    """A core that says again what it heard, and leaves an answer to "wait" open until it is stopped."""

    def __init__(self) -> None:
        self.heard: list[Event] = []
        self.open: Post | None = None

    async def receive(self, event: Event, reply: Reply) -> None:
        """Answer one event."""
        self.heard.append(event)
        if isinstance(event, Pressed) and self.open is not None:
            await self.open.edit(Frame("wait", State.STOPPED))
        if not isinstance(event, Message):
            return
        growing = Frame(event.text[:4], State.STREAMING, private=event.text.startswith("/"))
        post = await reply.send(growing, event.id[-20:])
        if event.text == "wait":
            self.open = post
        else:
            await post.edit(Frame(event.text, State.FINAL, private=growing.private))

    def suggest(self, command: str, where: Conversation, by: Person) -> Sequence[str]:
        """Offer three names."""
        return ("default", "tutor", "pirate")


class Stage:
    """A guild with a channel, a person in it, and the bot."""

    def __init__(self, env: simcord.Env, echo: Echo) -> None:
        self.env = env
        self.echo = echo
        guild = env.create_guild()
        self.channel = guild.create_text_channel("general")
        self.ada = guild.add_member(env.create_user("ada"))

    @property
    def last(self) -> discord.Message:
        """The newest message of the channel."""
        assert self.channel.last_message is not None
        return self.channel.last_message


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
async def simcord_bot(echo: Echo) -> AsyncIterator[Session]:
    """The client that SimCord's own fixture brings online; it puts another HTTP client into it."""
    line = Line(DiscordSettings(token=SecretStr("t")), SystemClock())
    line.client = session = Session(echo.receive, line, Backlog(), echo.suggest)
    connector = session.http.connector
    yield session
    await connector.close()


@pytest.fixture
async def stage(simcord_env: simcord.Env, simcord_bot: Session, echo: Echo) -> Stage:
    await simcord_bot.register()
    return Stage(simcord_env, echo)


def mention(env: simcord.Env) -> str:
    assert env.bot.user is not None
    return env.bot.user.mention


async def test_a_mention_is_answered_where_it_was_said(stage: Stage) -> None:
    asked = await stage.ada.send(stage.channel, f"{mention(stage.env)} what is a heron?")
    assert stage.last.content == "what is a heron?"
    assert stage.last.reference is not None
    assert stage.last.reference.message_id == asked.id


async def test_talk_between_others_is_left_alone(stage: Stage) -> None:
    await stage.ada.send(stage.channel, "lunch?")
    assert stage.echo.heard == []


async def test_a_reply_to_the_bot_is_answered(stage: Stage) -> None:
    await stage.ada.send(stage.channel, f"{mention(stage.env)} hi")
    await stage.ada.send(stage.channel, "and again", reply_to=stage.last)
    assert stage.last.content == "and again"


async def test_a_private_message_is_answered(stage: Stage) -> None:
    await stage.ada.send_dm("what is a heron?")
    answer = stage.ada.user.dm_channel.last_message
    assert answer is not None
    assert answer.content == "what is a heron?"


async def test_latency_is_answered_for_the_caller_alone(stage: Stage) -> None:
    result = await stage.ada.slash(stage.channel, "latency")
    assert result.ephemeral
    assert result.response is not None
    assert result.response.content == "/latency"


@pytest.mark.parametrize("name", ["new", "stop", "help"])
async def test_the_other_commands_are_there(stage: Stage, name: str) -> None:
    result = await stage.ada.slash(stage.channel, name)
    assert result.response is not None
    assert result.response.content == f"/{name}"


async def test_names_are_offered_while_one_is_typed(stage: Stage) -> None:
    offered = await stage.ada.autocomplete(stage.channel, "persona", "name", "t")

    assert [one["value"] for one in offered] == ["tutor", "default", "pirate"]


async def test_what_is_replied_to_comes_along(stage: Stage) -> None:
    said = await stage.ada.send(stage.channel, "Herons swim.")
    await stage.ada.send(stage.channel, f"{mention(stage.env)} true?", reply_to=said)
    event = stage.echo.heard[-1]

    assert isinstance(event, Message)
    assert event.quoted == Quoted("ada", "Herons swim.")


async def test_stop_can_be_pressed_and_goes(stage: Stage) -> None:
    await stage.ada.send(stage.channel, f"{mention(stage.env)} wait")
    pressed = stage.last
    result = await stage.ada.click(pressed, label="Stop")
    assert result.acknowledged
    event = stage.echo.heard[-1]
    assert isinstance(event, Pressed)
    assert (event.control, event.post, event.by.id) == ("stop", str(pressed.id), stage.ada.id)
    assert "Stop" not in str(stage.last.components)


async def test_nobody_is_pinged(stage: Stage) -> None:
    """Whatever the text says, in sends and in edits."""
    await stage.ada.send(stage.channel, f"{mention(stage.env)} @everyone {stage.ada.mention}")
    bodies = [entry.json or {} for entry in stage.env.http_requests if entry.method in ("POST", "PATCH")]
    assert [body["allowed_mentions"]["parse"] for body in bodies] == [[], []]
