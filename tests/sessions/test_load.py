"""Adapters that show what the bot is doing are told of every change, at most once a second."""

from collections.abc import Callable
from itertools import pairwise

from clawdbot.abilities import Load, Phase
from clawdbot.engine.settings import EngineSettings
from clawdbot.settings.config import SessionSettings
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.rig import MemoryPlatform, Rig, slow

NewRig = Callable[..., Rig]


class Board(MemoryPlatform):
    """A platform with a place for the load."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self._time = clock
        self.told: list[tuple[float, Load]] = []

    def show_load(self, load: Load) -> None:
        self.told.append((self._time.now(), load))


async def test_they_are_told_of_every_change(rig: NewRig) -> None:
    """What the model works on and what waits for it, of all platforms and conversations together."""
    bot = rig(slow, sessions=SessionSettings(concurrent=2))
    bot.platform = board = Board(bot.clock)
    bot.loaded.clear()
    async with bot.running():
        await bot.advance(2.0)
        for chat in range(3):
            bot.platform.say("Count", chat=chat)
        await bot.advance(2.0)
        bot.loaded.set()
        await bot.advance(3.0)
        await bot.idle()
        await bot.advance(2.0)

    loads = [load for _, load in board.told]
    assert loads == [
        Load(Phase.LOADING, 0, 0),
        Load(Phase.LOADING, 0, 3),
        Load(Phase.READY, 2, 1),
        Load(Phase.READY, 1, 0),
        Load(Phase.READY, 0, 0),
    ]


async def test_a_crowd_is_told_of_once_a_second(rig: NewRig) -> None:
    bot = rig(slow)
    bot.platform = board = Board(bot.clock)
    async with bot.running():
        for chat in range(30):
            bot.platform.say("Count", chat=chat)
            await bot.advance(0.1)
        await bot.idle()

    times = [at for at, _ in board.told]
    assert all(later - sooner >= 1.0 for sooner, later in pairwise(times[1:]))


async def test_an_engine_that_sleeps_says_so(rig: NewRig) -> None:
    bot = rig(engine=EngineSettings(sleep_after=1.0))
    bot.platform = board = Board(bot.clock)
    async with bot.running():
        await bot.advance(62.0)

    assert board.told[-1][1] == Load(Phase.ASLEEP, 0, 0)
