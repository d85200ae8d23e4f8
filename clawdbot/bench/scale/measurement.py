"""``clawdbot bench scale``: many conversations that stream at once in one process.

The whole bot runs: sessions, admission, live replies, the store in a file. The platform is a list in memory without any
limit and the engine a script, so what is measured is the bot's own work.
"""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import psutil

from clawdbot.app import App, open_app, serve
from clawdbot.bench.measures import Written, letters
from clawdbot.bench.scale.crowd import NAME, Crowd, Screen, Square
from clawdbot.bench.trace import answer_tokens, asked
from clawdbot.clock import Clock, SystemClock
from clawdbot.engine.settled import Settled
from clawdbot.latency.timing import Summary, summary
from clawdbot.settings.config import Allowed, SessionSettings, Settings, StoreSettings
from clawdbot.testing.engine import INFO, Script, ScriptedEngine, opened

SCRIPTS = 64
"""Different answers: each is given to many conversations."""
READS_AT_ONCE = replace(INFO, step_budget=INFO.context)
"""An engine that takes any prompt in one step: its tokenizer has a token for every byte, but none shall be long."""
STEP = 0.01
"""Seconds of one step of the engine."""
TICK = 0.01
"""Seconds between two looks at the loop's punctuality."""
MIB = 2**20


@dataclass(frozen=True, slots=True)
class Scale:
    """What was measured. Times in seconds."""

    conversations: int
    answers: int
    wrong: int
    """Answers whose last text on the screen was not what the engine wrote."""
    loop_lag: Summary
    """How much later than asked the event loop ran something, every 10 ms."""
    added_first_visible: Summary
    """From the first token that makes two visible characters to the first text on the screen."""
    cpu_share: float
    """The processor's time that the whole process took, the script of the engine included; 1.0 is one core."""
    rss_mib: float
    """The most memory that the process had, less what it had when nobody was there."""

    def to_map(self) -> dict[str, object]:
        """As it stands in the JSON file."""
        return {
            "conversations": self.conversations,
            "loop_lag": self.loop_lag.to_map(),
            "added_first_visible": self.added_first_visible.to_map(),
            "cpu_share": round(self.cpu_share, 3),
            "rss_mib": round(self.rss_mib, 1),
            "answers": self.answers,
            "wrong": self.wrong,
        }


@dataclass(slots=True)
class Watch:
    """Looks at the loop and at the process while the bot works."""

    lags: list[float] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    used: float = field(default_factory=time.process_time)
    memory: int = field(default_factory=lambda: psutil.Process().memory_info().rss)
    most: int = 0

    async def look(self) -> None:
        """Look every `TICK` until cancelled."""
        process = psutil.Process()
        while True:
            due = time.monotonic() + TICK
            await asyncio.sleep(TICK)
            self.lags.append(max(0.0, time.monotonic() - due))
            if len(self.lags) % 50 == 0:
                self.most = max(self.most, process.memory_info().rss)

    @property
    def cpu_share(self) -> float:
        """Cores that the process kept busy until now."""
        return (time.process_time() - self.used) / (time.monotonic() - self.began)

    @property
    def rss_mib(self) -> float:
        """How much the memory had grown at most."""
        return max(0, self.most - self.memory) / MIB


async def measure(crowd: Crowd, script: Sequence[Script]) -> Scale:
    """Let the crowd talk to the bot, which answers question ``n`` by the script ``n`` modulo their number."""
    clock = SystemClock()
    engine = ScriptedEngine(
        lambda request: script[asked(request.prompt) % len(script)], clock, READS_AT_ONCE, step=STEP
    )
    square = Square(crowd, clock)
    async with _serving(engine, square, crowd, clock) as app:
        gc.collect()
        watch = Watch()
        looking = asyncio.create_task(watch.look())
        await square.play()
        await app.sessions.idle()
        cpu_share = watch.cpu_share
        looking.cancel()
    written = _written(engine, script)
    return Scale(
        conversations=crowd.conversations,
        answers=len(square.screens),
        wrong=sum(not _right(written.get(number), screen) for number, screen in enumerate(square.screens)),
        loop_lag=summary(watch.lags),
        added_first_visible=summary(_added(one, square.screens[number]) for number, one in written.items()),
        cpu_share=cpu_share,
        rss_mib=watch.rss_mib,
    )


def scripts(*, rate: float, tokens: int, first: float, seed: int) -> tuple[Script, ...]:
    """Answers of ``tokens`` tokens, ``rate`` a second after ``first`` seconds."""
    random = Random(seed)
    return tuple(Script(answer_tokens(random, tokens), first, 1 / rate) for _ in range(SCRIPTS))


@asynccontextmanager
async def _serving(engine: ScriptedEngine, square: Square, crowd: Crowd, clock: Clock) -> AsyncIterator[App]:
    """The bot as ``clawdbot run`` has it, on the square, until the end of the block."""
    stop = asyncio.Event()
    with TemporaryDirectory(prefix="clawdbot-bench-") as folder:
        settings = Settings(
            sessions=SessionSettings(concurrent=crowd.conversations),
            access={NAME: Allowed(users=frozenset(range(1, crowd.conversations + 1)))},
            store=StoreSettings(path=Path(folder) / "clawdbot.sqlite3"),
        )
        async with open_app(settings, Settled().around(lambda: opened(engine)), clock, lambda timing: None) as app:
            serving = asyncio.create_task(serve(app, {NAME: square}, clock, stop, settings.sessions.drain))
            try:
                await square.open()
                await app.host.engine()
                yield app
            finally:
                stop.set()
                await serving


def _written(engine: ScriptedEngine, script: Sequence[Script]) -> dict[int, Written]:
    """What the engine wrote, by the number of the question."""
    written = {}
    for request in engine.requests:
        number = asked(request.prompt)
        one = script[number % len(script)]
        written[number] = Written(engine.asked_at[request.id], tuple(one.tokens), one.first, one.gap)
    return written


def _right(written: Written | None, screen: Screen) -> bool:
    return written is not None and letters("".join(screen.texts)) == letters("".join(written.tokens))


def _added(written: Written, screen: Screen) -> float | None:
    return None if screen.first_text is None else screen.first_text - written.showable
