"""The bot's core on platforms in memory, in virtual time: calls fail, connections drop, the bot is killed and started.

A kill is what the platform and the disk see of one: at some moment no call has an effect any more, and the next life
begins with the database as it was then.
"""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from random import seed as seed_all

from clawdbot.app import App, open_app, serve
from clawdbot.bench.chaos_judge import Shown, Truth, judge
from clawdbot.bench.chaos_plan import Asked, FaultDraw, draw_question
from clawdbot.bench.chaos_platform import KINDS, METHODS, Kind, Line, Platform
from clawdbot.bench.chaos_tally import Judged, Tally, count
from clawdbot.bench.chaos_time import Player, VirtualClock, VirtualLoop
from clawdbot.bench.trace import asked
from clawdbot.chat import Frame
from clawdbot.clock import first_of
from clawdbot.config import Allowed, AnswerSettings, SessionSettings, Settings, StoreSettings
from clawdbot.engine.protocol import Request
from clawdbot.testing.engine import Script, ScriptedEngine, opened
from clawdbot.testing.faults import Faults

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
    platforms = [_platform(kind, clock, Random(f"{seed}/{kind.flavour}"), rate) for kind in kinds]
    cast = _cast(answers, seed, platforms)
    life = _Lives(
        platforms, clock, loop, {one.number: one for part in cast.values() for ones in part for one in ones}, folder
    )
    stage = _Stage(platforms, cast, life, clock, seed, progress)
    await life.start()
    await life.player.play(stage.perform())
    await life.end()
    return stage.tally()


def _platform(kind: Kind, clock: VirtualClock, random: Random, rate: float) -> Platform:
    faults = Faults(FaultDraw(random, rate, METHODS))
    return Platform(kind, clock, faults, random, rate)


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


class _Lives:
    """The bot, from one kill to the next."""

    def __init__(
        self,
        platforms: Sequence[Platform],
        clock: VirtualClock,
        loop: VirtualLoop,
        questions: dict[int, Asked],
        folder: Path,
    ) -> None:
        self.player = Player(clock, loop, self._flush)
        self.kills = 0
        self._platforms = platforms
        self._clock = clock
        self._questions = questions
        self._folder = folder
        self._app: App | None = None
        self._lines: dict[str, Line] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the bot on the database of its last life; returns when it listens on every platform."""
        async with self.player.paused():
            self._lines = {platform.kind.flavour: Line(platform) for platform in self._platforms}
            self._task = task = asyncio.create_task(self._live())
            listening = asyncio.gather(*(line.online.wait() for line in self._lines.values()))
            await asyncio.wait((task, listening), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                listening.cancel()
                task.result()

    async def kill(self) -> None:
        """End the bot as a kill does: at once, with nothing said to anybody."""
        async with self.player.paused():
            before, self.kills = self._database, self.kills + 1
            with closing(sqlite3.connect(before)) as source, closing(sqlite3.connect(self._database)) as copy:
                source.backup(copy)
            for line in self._lines.values():
                line.cut()
            await self.end()
            before.unlink()

    async def end(self) -> None:
        """Clear away what is left of this life."""
        if self._task is not None:
            self._task.cancel()
            async with asyncio.timeout(60):
                await asyncio.wait({self._task})

    async def idle(self) -> None:
        """Return when the bot has nothing to do."""
        if self._app is not None:
            await self._app.sessions.idle()

    async def _flush(self) -> None:
        if self._app is not None:
            store = self._app.store
            await asyncio.gather(store.history("nobody's", ""), store.first_refusal("nobody's", 0))

    @property
    def _database(self) -> Path:
        return self._folder / f"life-{self.kills}.sqlite3"

    async def _live(self) -> None:
        engine = ScriptedEngine(self._script, self._clock)
        settings = self._settings()
        async with open_app(settings, lambda: opened(engine), self._clock, lambda timing: None) as app:
            self._app = app
            try:
                await serve(app, self._lines, self._clock, asyncio.Event(), settings.sessions.drain)
            finally:
                self._app = None

    def _script(self, request: Request) -> Script:
        return self._questions[asked(request.prompt)].script

    def _settings(self) -> Settings:
        everybody = frozenset(range(1, len(self._questions) + 1))
        return Settings(
            answers=AnswerSettings(system_prompt=""),
            sessions=SessionSettings(concurrent=256, waiting=1024, queue=IN_A_CHAT),
            access={platform.kind.flavour: Allowed(users=everybody) for platform in self._platforms},
            store=StoreSettings(path=self._database),
        )


class _Stage:
    """People ask in many chats at once, while connections drop and the bot is killed."""

    def __init__(
        self,
        platforms: Sequence[Platform],
        cast: dict[str, list[list[Asked]]],
        lives: _Lives,
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
            faults += Counter({trouble.value: many for trouble, many in platform.faults.injected.items()})
            faults += platform.counted
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


def _judge(platform: Platform, question: Asked) -> Judged:
    name = str(question.number)
    screen = [_shown(frame) for frame in platform.replies[name].screen.frames]
    verdict = judge(Truth(question.answer, question.whole), screen)
    excused = 0 if platform.kind.remembers else platform.unanswered_sends[name]
    return Judged(f"{platform.kind.flavour} {name}", verdict, excused)


def _shown(frame: Frame) -> Shown:
    text = "\n".join((frame.text, *(file.data.decode() for file in frame.files)))
    return Shown(text, growing=frame.last and not frame.state.lasting)
