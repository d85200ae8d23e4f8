"""What people remove under the bot: generation stops, nothing is posted anew, and nobody is called in vain."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from clawdbot.app import App
from clawdbot.testing.discord import Post, SimDiscord
from clawdbot.testing.engine import Script

from .discord_bot import DiscordBot


class Scene:
    """An answer that grows for as long as a test may take."""

    def __init__(self, sim: SimDiscord, bot: DiscordBot, app: App, question: Post) -> None:
        self.sim = sim
        self.bot = bot
        self.question = question
        self._app = app

    @property
    def answers(self) -> list[Post]:
        """The bot's messages that are there."""
        return self.sim.answers(self.sim.channel)

    async def stopped(self) -> None:
        """Wait until the model writes no more and all is done that follows from it."""
        await self._app.sessions.idle()

    def check_aborted(self) -> None:
        """The model was told to stop, once."""
        (engine,) = self.bot.engines
        assert (len(engine.requests), len(engine.aborted), engine.running) == (1, 1, set())


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with SimDiscord() as sim:
        bot = DiscordBot(sim, tmp_path, lambda _: Script([f"word {number} " for number in range(2000)], gap=0.02))
        async with bot.running() as app:
            await sim.online()
            question = sim.say(sim.channel, "What is a heron?")
            await sim.until(lambda: bool(sim.answers(sim.channel)))
            yield Scene(sim, bot, app, question)


async def test_a_growing_answer_that_is_deleted_is_not_posted_again(scene: Scene) -> None:
    scene.sim.delete_question(scene.answers[0])
    await scene.stopped()
    scene.check_aborted()
    assert scene.answers == []
    assert len(scene.sim.calls_of("POST message")) == 1


async def test_a_deleted_question_stops_its_answer(scene: Scene) -> None:
    """What is shown stays, marked."""
    scene.sim.delete_question(scene.question)
    await scene.stopped()
    scene.check_aborted()
    (answer,) = scene.answers
    assert answer.text.endswith("*(stopped)*")
    assert not answer.now.growing


async def test_a_deleted_channel_ends_the_answer(scene: Scene) -> None:
    scene.sim.channel.gone = True
    await scene.stopped()
    scene.check_aborted()
    assert [call.status for call in scene.sim.calls if call.status >= 400] == [404]


@pytest.mark.parametrize("code", [50001, 50013])
async def test_where_the_bot_may_write_no_more_the_answer_ends_with_one_refused_call(scene: Scene, code: int) -> None:
    scene.sim.channel.closed = code
    await scene.stopped()
    scene.check_aborted()
    assert [call.code for call in scene.sim.calls if call.status == 403] == [code]


async def test_a_channel_where_the_bot_may_write_again_is_answered(scene: Scene) -> None:
    scene.sim.channel.closed = 50013
    await scene.stopped()
    scene.sim.channel.closed = 0
    scene.bot.script = lambda _: Script(["Yes."])
    scene.sim.say(scene.sim.channel, "Are you back?")
    await scene.sim.until(lambda: scene.answers[-1].text == "Yes.")
    assert len(scene.answers) == 2
