"""The mixed traffic of `clawdbot tune`, fitted to how fast the machine reads (pure).

The busier an engine is, the more its settings matter; one that cannot keep up shows nothing but its queue. So the trace
asks for about 60% of what the machine can do, whatever machine it is.
"""

from dataclasses import dataclass
from random import Random

from clawdbot.bench.engine.arrivals import Arrival, Streams, Traffic

SECONDS = 24.0
"""How long things arrive."""
LONG_SHARE, SHORT_SHARE = 0.5, 0.1
"""How much of the reading speed long and short prompts take."""
READING = 3.0
"""Seconds that reading one long prompt takes at most, so that a slow machine reads several, too."""
FEWEST_LONG, FEWEST_SHORT = 3, 12
"""So many arrive, however slow the machine is."""
BUSIEST = 10.0
"""The most short prompts a second."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What arrives on one kind of machine."""

    name: str
    streams: Streams
    probe: int
    """Tokens of the prompts with which the reading speed is measured."""
    long: int
    """The most tokens of a long prompt."""
    short: tuple[int, int]
    """The fewest and the most tokens of a short one."""
    answer: int
    """Tokens of the answers to both."""


CPU = Scene("tune-cpu", Streams(2, 30, 200), 600, 1500, (20, 40), 8)
CUDA = Scene("tune-cuda", Streams(16, 100, 400), 6000, 12_000, (40, 200), 16)


def probe(scene: Scene, context: int, seed: int) -> Traffic:
    """Two long prompts at once beside the streaming chats; see `speed`."""
    tokens = min(scene.probe, context // 2)
    return Traffic(f"{scene.name}-probe", seed, scene.streams, (Arrival(0.0, "long", tokens, 1),) * 2)


def speed(traffic: Traffic, seconds: float) -> float:
    """Prompt tokens a second, when the last prompt of ``traffic`` was read after so many ``seconds``."""
    return sum(arrival.tokens for arrival in traffic.arrivals) / seconds


def draw(scene: Scene, speed: float, context: int, seed: int) -> Traffic:
    """The trace for a machine that reads ``speed`` prompt tokens a second and has so much ``context``.

    Arrivals are spread evenly, each by chance within its own part of the time, so that some come close together and
    no seed makes a busier trace than another.
    """
    random = Random(seed)
    longest = min(scene.long, context // 2)
    long = min(longest, max(scene.probe, round(speed * READING)))
    longs = max(FEWEST_LONG, round(SECONDS * speed * LONG_SHARE / long))
    # A machine that is too slow for the fewest in this time gets more time.
    seconds = max(SECONDS, longs * long / (speed * LONG_SHARE))
    rate = min(BUSIEST, speed * SHORT_SHARE / (sum(scene.short) / 2))
    shorts = max(FEWEST_SHORT, round(seconds * rate))
    arrivals = [Arrival(at, "long", long, scene.answer) for at in _spread(random, longs, seconds)]
    for at in _spread(random, shorts, seconds):
        arrivals.append(Arrival(at, "short", random.randint(*scene.short), scene.answer))
    return Traffic(scene.name, seed, scene.streams, tuple(sorted(arrivals, key=lambda arrival: arrival.at)))


def _spread(random: Random, number: int, seconds: float) -> list[float]:
    return [(place + random.random()) * seconds / number for place in range(number)]
