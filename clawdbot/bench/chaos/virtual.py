"""The bot's core on platforms in memory, in virtual time: people ask, calls fail, connections drop, bots are killed."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from random import seed as seed_all

from clawdbot.bench.chaos.judge import Shown, Truth, judge
from clawdbot.bench.chaos.lives import Lives
from clawdbot.bench.chaos.plan import Asked, draw_question
from clawdbot.bench.chaos.platform import KINDS, Kind, Platform
from clawdbot.bench.chaos.tally import Judged, Tally, count
from clawdbot.chat import Frame
from clawdbot.clock import first_of
from clawdbot.testing.virtual_time import VirtualClock, VirtualLoop

IN_A_CHAT = 10
"""Questions of one chat, one after the other."""
AT_ONCE = 0.2
"""So many questions are asked without waiting for the answer to the one before."""
PAUSE = 20.0
"""The longest that a person thinks before the next question, in seconds."""
KILLS, DROPS, DOWN = (30.0, 120.0), (30.0, 180.0), (0.5, 30.0)
"""Bounds for the seconds between two kills, between two drops of a connection, and until the bot is started again."""
PATIENCE = 3600.0
"""Seconds after which an answer is not waited for any more."""

Progress = Callable[[int], None]
"""Is told how many answers are there."""


async def run_virtual(
    answers: int, seed: int, rate: float, folder: Path, progress: Progress, kinds: Sequence[Kind] = KINDS
) -> Tally:
    """Play ``answers`` questions in a `VirtualLoop`; ``rate`` of the calls and events go wrong."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop), "virtual time needs its own loop"
    seed_all(seed)  # the jitter of the bot's own retries comes from there
    clock = VirtualClock()
    platforms = [Platform(kind, clock, f"{seed}/{kind.flavour}", rate) for kind in kinds]
    cast = _cast(answers, seed, platforms)
    known = {one.number: one for chats in cast.values() for chat in chats for one in chat}
    lives = Lives(platforms, clock, loop, known, folder)
    stage = _Stage(platforms, cast, lives, clock, seed, progress)
    await lives.start()
    await lives.player.play(stage.perform())
    await lives.end()
    return stage.tally()


def _cast(answers: int, seed: int, platforms: Sequence[Platform]) -> dict[str, list[list[Asked]]]:
    """By platform, the questions of each chat."""
    random = Random(f"{seed}/questions")
    cast: dict[str, list[list[Asked]]] = {platform.kind.flavour: [] for platform in platforms}
    for number in range(answers):
        kind = platforms[number % len(platforms)].kind
        chats = cast[kind.flavour]
        if not chats or len(chats[-1]) == IN_A_CHAT:
            chats.append([])
        chats[-1].append(draw_question(random, number, kind.size))
    return cast


class _Stage:
    """People ask in many chats at once, while connections drop and the bot is killed."""

    def __init__(
        self,
        platforms: Sequence[Platform],
        cast: dict[str, list[list[Asked]]],
        lives: Lives,
        clock: VirtualClock,
        seed: int,
        progress: Progress,
    ) -> None:
        self._platforms = platforms
        self._cast = cast
        self._lives = lives
        self._clock = clock
        self._seed = seed
        self._progress = progress
        self._over = asyncio.Event()
        self._done = 0

    async def perform(self) -> None:
        """Let all questions be asked and answered; then nothing is under way any more."""
        async with asyncio.TaskGroup() as troubles:
            troubles.create_task(self._kill())
            for platform in self._platforms:
                troubles.create_task(self._drop(platform))
            async with asyncio.TaskGroup() as people:
                for platform in self._platforms:
                    for chat, questions in enumerate(self._cast[platform.kind.flavour], 1):
                        people.create_task(self._converse(platform, chat, questions))
            self._over.set()
        await first_of(self._lives.idle(), self._clock.sleep(PATIENCE))

    def tally(self) -> Tally:
        """What the screens show."""
        faults = Counter(kill=self._lives.kills)
        judged = []
        for platform in self._platforms:
            faults += platform.happened
            for question in (one for chat in self._cast[platform.kind.flavour] for one in chat):
                judged.append(_judge(platform, question))
        return count(judged, faults) + Tally(early_calls=sum(platform.early for platform in self._platforms))

    async def _converse(self, platform: Platform, chat: int, questions: Sequence[Asked]) -> None:
        random = Random(f"{self._seed}/{platform.kind.flavour}/{chat}")
        async with asyncio.TaskGroup() as waiting:
            for question in questions:
                await self._clock.sleep(random.uniform(0.1, PAUSE))
                platform.ask(question.number, chat, question.text)
                answered = waiting.create_task(self._answered(platform, str(question.number)))
                if random.random() >= AT_ONCE:
                    await answered

    async def _answered(self, platform: Platform, name: str) -> None:
        """Return when something lasting is there."""
        await first_of(self._lasting(platform, name), self._clock.sleep(PATIENCE))
        self._done += 1
        self._progress(self._done)

    async def _lasting(self, platform: Platform, name: str) -> None:
        while not any(frame.last and frame.state.lasting for frame in platform.replies[name].screen.frames):
            await platform.change(name)

    async def _kill(self) -> None:
        random = Random(f"{self._seed}/kills")
        while await self._quiet(random.uniform(*KILLS)):
            await self._lives.kill()
            await self._clock.sleep(random.uniform(*DOWN))
            await self._lives.start()

    async def _drop(self, platform: Platform) -> None:
        random = Random(f"{self._seed}/{platform.kind.flavour}/drops")
        while await self._quiet(random.uniform(*DROPS)):
            platform.drop()

    async def _quiet(self, seconds: float) -> bool:
        """Let ``seconds`` pass; False when all is over."""
        await first_of(self._over.wait(), self._clock.sleep_alone(seconds))
        return not self._over.is_set()


def excused(platform: Platform, name: str) -> int:
    """How many copies the answer to a message may have: none where a repetition is recognised."""
    return 0 if platform.kind.remembers else platform.unanswered_sends[name]


def _judge(platform: Platform, question: Asked) -> Judged:
    name = str(question.number)
    screen = [_shown(frame) for frame in platform.replies[name].screen.frames]
    verdict = judge(Truth(question.answer, question.whole), screen)
    return Judged(f"{platform.kind.flavour} {name}", verdict, excused(platform, name))


def _shown(frame: Frame) -> Shown:
    text = "\n".join((frame.text, *(file.data.decode() for file in frame.files)))
    return Shown(text, growing=frame.last and not frame.state.lasting)
