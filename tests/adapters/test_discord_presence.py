"""The line below the bot's name on Discord: what the bot is doing, within Discord's limit, over reconnects."""

from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from pathlib import Path

import pytest

from clawdbot.abilities import Load, Phase
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.contract import running
from clawdbot.testing.discord import DiscordHarness, SimDiscord
from clawdbot_discord import DiscordAdapter
from clawdbot_discord.controls import CONTROLS
from clawdbot_discord.presence import EVERY, line

from .discord_bot import DiscordBot, settings_for

READY = Load(Phase.READY, 0, 0)


class Scene:
    """A session with Discord, and time that passes when the test says so."""

    def __init__(self, sim: SimDiscord, adapter: DiscordAdapter, clock: ManualClock) -> None:
        self.sim = sim
        self.clock = clock
        self.show = adapter.show_load

    @property
    def said(self) -> list[str]:
        return [text for _, text in self.sim.gateway.presences]

    async def until(self, condition: Callable[[], bool]) -> None:
        await self.sim.until(condition)


@pytest.fixture
async def scene(clock: ManualClock) -> AsyncIterator[Scene]:
    sim = SimDiscord(clock=clock)
    harness = DiscordHarness(lambda server: DiscordAdapter(settings_for(server), clock), CONTROLS, sim)
    async with harness, running(harness):
        adapter = harness.adapter
        assert isinstance(adapter, DiscordAdapter)
        await harness.online()
        yield Scene(sim, adapter, clock)


@pytest.mark.parametrize(
    ("load", "said"),
    [
        (READY, "ready"),
        (Load(Phase.READY, 3, 2), "3 answering, 2 waiting"),
        (Load(Phase.READY, 1200, 0), "1,200 answering"),
        (Load(Phase.LOADING, 0, 0), "loading the model"),
        (Load(Phase.LOADING, 0, 4), "loading the model, 4 waiting"),
        (Load(Phase.RESTARTING, 0, 1), "restarting the model, 1 waiting"),
        (Load(Phase.ASLEEP, 0, 0), "asleep until somebody asks"),
        (Load(Phase.WAKING, 0, 1), "waking up, 1 waiting"),
    ],
)
def test_it_says_what_the_bot_does(load: Load, said: str) -> None:
    assert line(load) == said


async def test_it_changes_once_in_twenty_seconds_and_the_latest_counts(scene: Scene) -> None:
    """Discord takes five changes in that time, and closes the connection of who makes more."""
    scene.show(Load(Phase.LOADING, 0, 0))
    await scene.until(lambda: scene.said == ["loading the model"])
    for number in range(1, 200):
        scene.show(Load(Phase.READY, number, 0))
        await scene.clock.advance(0.5)
    await scene.until(lambda: len(scene.said) == 5)
    times = [at for at, _ in scene.sim.gateway.presences]

    assert [later - sooner for sooner, later in pairwise(times)] == [EVERY] * 4
    assert scene.said[1] == "40 answering"


async def test_what_has_not_changed_is_not_said_again(scene: Scene) -> None:
    """Also when it was something else meanwhile."""
    scene.show(READY)
    await scene.until(lambda: scene.said == ["ready"])
    scene.show(Load(Phase.READY, 1, 0))
    await scene.clock.advance(EVERY / 2)
    scene.show(READY)
    await scene.clock.advance(EVERY)
    scene.show(Load(Phase.READY, 2, 0))
    await scene.until(lambda: len(scene.said) == 2)

    assert scene.said == ["ready", "2 answering"]


async def test_a_new_session_shows_it_too(scene: Scene) -> None:
    scene.show(READY)
    await scene.until(lambda: scene.said == ["ready"])
    scene.sim.gateway.invalidate()
    await scene.until(lambda: scene.sim.gateway.identified == 2)
    assert scene.said == []
    await scene.clock.advance(EVERY)
    await scene.until(lambda: scene.said == ["ready"])


async def test_a_session_that_is_back_shows_what_came_meanwhile(scene: Scene) -> None:
    scene.show(READY)
    await scene.until(lambda: scene.said == ["ready"])
    scene.sim.gateway.drop()
    await scene.until(lambda: not scene.sim.gateway.connected)
    scene.show(Load(Phase.READY, 1, 0))
    await scene.clock.advance(EVERY)
    await scene.until(lambda: scene.sim.gateway.resumed == 1)
    await scene.clock.advance(EVERY)
    await scene.until(lambda: len(scene.said) > 1)

    assert scene.said == ["ready", "1 answering"]


async def test_a_whole_bot_says_that_it_is_ready(tmp_path: Path) -> None:
    async with SimDiscord() as sim, DiscordBot(sim, tmp_path).running():
        await sim.until(lambda: bool(sim.gateway.presences))

    assert [text for _, text in sim.gateway.presences] == ["ready"]


async def test_it_can_be_switched_off(tmp_path: Path) -> None:
    async with SimDiscord() as sim, DiscordBot(sim, tmp_path, presence=False).running():
        sim.say(sim.channel, "Hello")
        await sim.until(lambda: len(sim.answers(sim.channel)) == 1)

        assert sim.gateway.presences == []
