"""The bot as a real process, killed at moments of its answers and started again, until everything is delivered.

Both platforms have a bot of their own, and both bots are killed at the same time as often. In every life five people
ask; one of them gets a long answer, and a moment of that one ends the life. What is under way then is the next life's.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from clawdbot.bench.chaos.bot import Orders
from clawdbot.bench.chaos.moments import Moment, look_up_all, reach
from clawdbot.bench.chaos.plan import Asked, draw_question
from clawdbot.bench.chaos.scenes import SIZES, ChaosScene, open_chaos
from clawdbot.bench.chaos.sdk import PLATFORMS, settled, verdict
from clawdbot.bench.chaos.tally import Judged, Tally, count
from clawdbot.bench.chaos.victim import Victim
from clawdbot.bench.scenes import Platform
from clawdbot.errors import AdapterError

IN_A_LIFE = 5
"""Questions asked in one life."""
KEPT = 4
"""For so many lives the place of a question stays open after it was asked."""
FIRST, GAP = (0.2, 0.5), (0.005, 0.03)
"""Bounds for the seconds to the first token and between tokens."""
RTT = 0.04
"""The round trip of every call in seconds: moments have a length."""
PATIENCE = 20.0
"""Seconds for which a moment is waited for; then the bot is killed wherever it is."""
LAST_PATIENCE, SETTLING = 90.0, 2.0
"""Seconds that the last life has to deliver everything, and for which its screens are watched afterwards."""


@dataclass(frozen=True, slots=True)
class Cast:
    """Draws the questions of one platform anew from their numbers, in any process."""

    seed: int
    platform: Platform

    def __call__(self, number: int) -> Asked:
        """The question with this number; the first of every life is a long one that does not fail."""
        random, size = Random(f"{self.seed}/{self.platform}/{number}"), SIZES[self.platform]
        if number % IN_A_LIFE:
            return draw_question(random, number, size, first=FIRST, gap=GAP)
        return draw_question(random, number, size, length="long", failing=0.0, first=FIRST, gap=GAP)


async def run_kills(
    kills: int, seed: int, folder: Path, progress: Callable[[int], None], *, settling: float = SETTLING
) -> Tally:
    """Kill both bots ``kills`` times in all. Raises `AdapterError` when one does not come up or ends by itself.

    ``settling``: for how many seconds after the last answer a screen could still be spoilt.
    """
    done = Counter[str]()

    async def play(platform: Platform, lives: int) -> Tally:
        def tell(life: int) -> None:
            done[platform] = life
            progress(done.total())

        async with open_chaos(platform, None, (lives + 1) * IN_A_LIFE, RTT) as scene:
            return await _Series(platform, scene, seed, folder / f"{platform}.sqlite3", tell).perform(lives, settling)

    halves = (kills - kills // 2, kills // 2)
    first, second = await asyncio.gather(*(play(one, lives) for one, lives in zip(PLATFORMS, halves, strict=True)))
    return first + second


class _Series:
    """The lives of one platform's bot."""

    def __init__(
        self, platform: Platform, scene: ChaosScene, seed: int, database: Path, tell: Callable[[int], None]
    ) -> None:
        self._platform = platform
        self._scene = scene
        self._cast = Cast(seed, platform)
        self._random = Random(f"{seed}/{platform}/moments")
        self._database = database
        self._tell = tell
        self._orders = Orders({platform: scene.address}, {platform: scene.allowed}, database, self._cast)
        self._asked: list[Asked] = []
        self._unknown: Counter[int] = Counter()
        """By question, messages that were on the screen and not in the database when the bot was killed.

        One a kill at most, since an answer has one call under way: what else is not known is the bot's own fault."""
        self._events: Counter[str] = Counter()
        self._engines_left = 0

    async def perform(self, lives: int, settling: float) -> Tally:
        """Live and die so many times, then once more to deliver what is left."""
        for life in range(lives):
            await self._live(life)
            self._tell(life + 1)
        await self._deliver(settling)
        self._events += Counter({trouble.value: many for trouble, many in self._scene.faults.injected.items()})
        judged = [self._judge(one) for one in self._asked]
        return count(judged, self._events) + Tally(engines_left=self._engines_left)

    async def _live(self, life: int) -> None:
        victim = await self._start()
        asked = [self._cast(life * IN_A_LIFE + number) for number in range(IN_A_LIFE)]
        moment = self._random.choice(list(Moment))
        reaching = asyncio.create_task(
            reach(moment, self._scene, self._database, asked[0].number, self._random, seconds=PATIENCE)
        )
        for one in asked:
            self._scene.ask(one.number, one.text)
            self._asked.append(one)
        reached = await reaching
        await self._kill(victim)
        self._events[f"kill_{moment.value}" if reached else "kill_elsewhere"] += 1

    async def _start(self) -> Victim:
        victim = await Victim.start(self._orders)
        try:
            await self._scene.online()
        except TimeoutError as error:
            state = "is alive" if victim.alive else "has ended"
            raise AdapterError(f"The bot on {self._platform} does not connect; its process {state}.") from error
        return victim

    async def _kill(self, victim: Victim) -> None:
        self._engines_left += await victim.kill()
        stored = look_up_all(self._database)
        for one in self._asked:
            known = stored[one.number].posts if one.number in stored else 0
            unknown = len(self._scene.screen(one.number)) - known
            self._unknown[one.number] += unknown > self._unknown[one.number]
        for one in self._asked[: -KEPT * IN_A_LIFE]:
            if one.number in stored and stored[one.number].delivered:
                self._scene.close(one.number)

    async def _deliver(self, settling: float) -> None:
        victim = await self._start()
        open_ones: Sequence[tuple[ChaosScene, Asked]] = [(self._scene, one) for one in self._asked]
        await settled(open_ones, LAST_PATIENCE, lambda done: None)
        await asyncio.sleep(settling)
        self._engines_left += await victim.kill()

    def _judge(self, one: Asked) -> Judged:
        excused = 0 if self._platform == "discord" else self._unknown[one.number]
        return verdict(self._scene, self._platform, one, excused)
