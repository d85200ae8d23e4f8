"""``clawdbot bench stop``: how soon the engine has a stop, under load, and whether anything comes after it.

The whole bot runs on a platform in memory, so no round trip of a platform is in the figures. Chats stream all the time
and long prompts are read; somebody stops an answer while it waits in line, while its prompt is read, or while it is
written.
"""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from clawdbot.app import open_app, serve
from clawdbot.bench.engine.stop_scene import MOMENTS, PEOPLE, Moment, Scene, Stopped, Watched
from clawdbot.clock import Clock
from clawdbot.engine.host import OpenedEngine
from clawdbot.latency.observed import unobserved
from clawdbot.latency.timing import Summary, summary
from clawdbot.settings.config import Allowed, AnswerSettings, SessionSettings, Settings, StoreSettings
from clawdbot.testing.rig import MemoryPlatform

ANSWER = 400
"""Tokens of the longest answer."""


@dataclass(frozen=True, slots=True)
class Stops:
    """A whole run."""

    stops: Sequence[Stopped]
    leaked_blocks: int
    """Blocks of the KV cache in use when all was over, more than before."""

    def times(self, *moments: Moment) -> Summary:
        """From press to abort, of the stops at these moments."""
        return summary(one.seconds for one in self.stops if one.moment in moments)

    def to_map(self) -> dict[str, object]:
        """As it stands in the JSON file."""
        return {
            "press_to_abort": self.times(*MOMENTS).to_map(),
            "moments": {moment: self.times(moment).to_map() for moment in MOMENTS},
            "text_after_stop": sum(one.after for one in self.stops),
            "caught_up": sum(one.caught_up for one in self.stops),
            "leaked_blocks": self.leaked_blocks,
        }


async def measure(
    engine: OpenedEngine, clock: Clock, *, used: Callable[[], int], stops: int, chats: int, seed: int
) -> Stops:
    """Stop ``stops`` answers while ``chats`` others stream. ``used``: blocks in use, by the engine's own gauge."""
    watched = Watched(engine, clock)
    with TemporaryDirectory(prefix="clawdbot-bench-") as folder:
        settings = Settings(
            answers=AnswerSettings(temperature=0.0, max_tokens=ANSWER),
            sessions=SessionSettings(concurrent=chats + 4),
            access={"memory": Allowed(users=frozenset(PEOPLE))},
            store=StoreSettings(path=Path(folder) / "clawdbot.sqlite3"),
        )
        async with open_app(settings, watched.opened, clock, unobserved) as app:
            platform, ending = MemoryPlatform(clock), asyncio.Event()
            served = asyncio.create_task(serve(app, {"memory": platform}, clock, ending, 0.0))
            await platform.online.wait()
            scene = Scene(app.sessions, platform, watched, clock, Random(seed))
            before = await scene.at_rest(used)
            async with scene.streaming(chats):
                await scene.learn()
                found = [await scene.stop(moment) for moment in drawn(stops, seed)]
            leaked = await scene.at_rest(used) - before
            ending.set()
            await served
    return Stops(found, leaked)


def drawn(stops: int, seed: int) -> list[Moment]:
    """When each answer is stopped: all moments equally often, in an order that ``seed`` draws."""
    moments = list(itertools.islice(itertools.cycle(MOMENTS), stops))
    Random(seed).shuffle(moments)
    return moments
