"""The whole bot on both simulated platforms over real HTTP and WebSocket, with the platforms' own SDKs.

The same faults as in virtual time, but in real time: the platforms' waits are a hundredth of what they are there.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

from clawdbot.bench.chaos.bot import Orders, serving
from clawdbot.bench.chaos.judge import Truth, judge
from clawdbot.bench.chaos.plan import Asked, FaultDraw, draw_question
from clawdbot.bench.chaos.scenes import FAULTY, SIZES, ChaosScene, open_chaos
from clawdbot.bench.chaos.tally import Judged, Tally, count
from clawdbot.bench.scenes import Platform
from clawdbot.testing.engine import opened

PLATFORMS: tuple[Platform, ...] = ("discord", "telegram")
WAITS, SILENCE = (0.01, 3.0), (1.2, 2.0)
"""Bounds for the seconds of a 429 and of a time-out; the adapters give a call up after one second."""
FIRST, GAP = (0.05, 0.5), (0.005, 0.05)
"""Bounds for the seconds to the first token and between tokens."""
APART = 0.15
"""Seconds between two questions of a platform, on average."""
DROPS = (2.0, 6.0)
"""Bounds for the seconds between two drops of a gateway."""
SETTLING, PATIENCE = 3.0, 180.0
"""Seconds for which the screens are watched at the end, and for which the last answer is waited for."""


async def run_sdk(
    answers: int, seed: int, rate: float, folder: Path, progress: Callable[[int], None], *, settling: float = SETTLING
) -> Tally:
    """Let ``answers`` questions be answered; ``rate`` of the calls and events go wrong.

    ``settling``: for how many seconds after the last answer a screen could still be spoilt.
    """
    random = Random(f"{seed}/sdk")
    cast: dict[Platform, list[Asked]] = {platform: [] for platform in PLATFORMS}
    for number in range(answers):
        platform = PLATFORMS[number % len(PLATFORMS)]
        cast[platform].append(draw_question(random, number, SIZES[platform], first=FIRST, gap=GAP))
    known = {one.number: one for ones in cast.values() for one in ones}
    async with AsyncExitStack() as stack:
        scenes: dict[Platform, ChaosScene] = {}
        for platform in PLATFORMS:
            draw = FaultDraw(Random(f"{seed}/sdk/{platform}"), rate, FAULTY, waits=WAITS, silence=SILENCE)
            scenes[platform] = await stack.enter_async_context(open_chaos(platform, draw, answers, rtt=0.02))
        orders = Orders(
            {name: scene.address for name, scene in scenes.items()},
            {name: scene.allowed for name, scene in scenes.items()},
            folder / "sdk.sqlite3",
            known.__getitem__,
        )
        engine = orders.engine()
        async with serving(orders, lambda: opened(engine)):
            events = await _perform(scenes, cast, seed, rate, progress)
            await asyncio.sleep(settling)
    return _tally(scenes, cast, events)


async def _perform(
    scenes: Mapping[Platform, ChaosScene],
    cast: Mapping[Platform, Sequence[Asked]],
    seed: int,
    rate: float,
    progress: Callable[[int], None],
) -> Counter[str]:
    """Let people ask until everything is answered or given up; what happened besides faults of calls."""
    events: Counter[str] = Counter()
    await asyncio.gather(*(scene.online() for scene in scenes.values()))
    dropping = asyncio.create_task(_drop(scenes, Random(f"{seed}/sdk/drops"), events))
    try:
        await asyncio.gather(
            *(
                _ask(scenes[name], ones, Random(f"{seed}/sdk/{name}/people"), rate, events)
                for name, ones in cast.items()
            )
        )
        pairs = [(scenes[name], one) for name, ones in cast.items() for one in ones]
        await settled(pairs, PATIENCE, progress)
    finally:
        dropping.cancel()
    return events


async def _ask(scene: ChaosScene, cast: Sequence[Asked], random: Random, rate: float, events: Counter[str]) -> None:
    for one in cast:
        await asyncio.sleep(random.uniform(0, 2 * APART))
        scene.ask(one.number, one.text)
        if random.random() < rate:
            await asyncio.sleep(random.uniform(0, 1))
            scene.repeat(one.number)
            events["redelivered"] += 1


async def _drop(scenes: Mapping[Platform, ChaosScene], random: Random, events: Counter[str]) -> None:
    while True:
        await asyncio.sleep(random.uniform(*DROPS))
        events["gateway_drop"] += sum(scene.drop() for scene in scenes.values())


async def settled(pairs: Sequence[tuple[ChaosScene, Asked]], seconds: float, progress: Callable[[int], None]) -> None:
    """Return when nothing is missing below any question, ``seconds`` after the call at the latest."""
    missing = list(pairs)
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while missing and loop.time() < end:
        missing = [(scene, one) for scene, one in missing if not _complete(scene, one)]
        progress(len(pairs) - len(missing))
        await asyncio.sleep(0.2)


def _complete(scene: ChaosScene, one: Asked) -> bool:
    found = judge(Truth(one.answer, one.whole), scene.screen(one.number))
    return not (found.lost or found.unmarked or found.wrong_text)


def verdict(scene: ChaosScene, platform: Platform, one: Asked, excused: int) -> Judged:
    """What is wrong with the answer to a question."""
    return Judged(f"{platform} {one.number}", judge(Truth(one.answer, one.whole), scene.screen(one.number)), excused)


def _tally(
    scenes: Mapping[Platform, ChaosScene], cast: Mapping[Platform, Sequence[Asked]], events: Counter[str]
) -> Tally:
    for scene in scenes.values():
        events += Counter({trouble.value: many for trouble, many in scene.faults.injected.items()})
    return count(
        [
            verdict(scenes[platform], platform, one, scenes[platform].unanswered_sends(one.number))
            for platform, ones in cast.items()
            for one in ones
        ],
        events,
    )
