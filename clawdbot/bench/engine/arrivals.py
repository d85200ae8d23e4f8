"""The mixed traffic of ``clawdbot bench load``: which prompt arrives when, fixed by a seed (pure)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Literal

Kind = Literal["short", "long"]
TraceName = Literal["cpu", "h200"]

WORDS = range(1000, 30_000)
"""Token ids that are ordinary words in the vocabulary of every model that is measured."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One prompt and when it arrives."""

    at: float
    """Seconds after the beginning of the trace."""
    kind: Kind
    tokens: int
    """The length of its prompt."""
    answer: int
    """How many tokens are written for it, no more and no fewer."""


@dataclass(frozen=True, slots=True)
class Streams:
    """Chats in which an answer grows all the time: when one is complete, the next question is asked at once."""

    chats: int
    tokens: int
    """The length of each prompt."""
    answer: int
    """How many tokens each answer has."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """A trace: the same for every policy that it is used for."""

    name: str
    seed: int
    streams: Streams
    arrivals: tuple[Arrival, ...]
    """In the order of their times."""

    def to_map(self) -> dict[str, object]:
        """As it stands in the JSON file, with every single arrival."""
        return asdict(self)


def draw(name: TraceName, seed: int) -> Traffic:
    """The trace of this name. With another seed prompts have other words, and on the H200 other times and lengths."""
    arrivals = _cpu() if name == "cpu" else _h200(Random(seed))
    streams = Streams(2, 30, 200) if name == "cpu" else Streams(16, 100, 400)
    return Traffic(name, seed, streams, tuple(sorted(arrivals, key=lambda arrival: arrival.at)))


def prompt(*drawn_from: object, tokens: int) -> list[int]:
    """A prompt of so many random words, another one for everything else that it is drawn from.

    Two of them differ from the first token on, so the prefix cache never has any of it.
    """
    random = Random("/".join(map(str, drawn_from)))
    return random.choices(WORDS, k=tokens)


def _cpu() -> Sequence[Arrival]:
    longs = [Arrival(12.0 * number, "long", 1500, 8) for number in range(10)]
    # Half a step later than the long ones, or some would arrive in the same moment.
    shorts = [Arrival(0.85 + 1.7 * number, "short", 30, 8) for number in range(70)]
    return [*longs, *shorts]


def _h200(random: Random) -> Sequence[Arrival]:
    longs = []
    at = random.expovariate(1.5)
    while at < 20.0:
        longs.append(Arrival(at, "long", 12_000, 16))
        at += random.expovariate(1.5)
    shorts = [Arrival(0.1 * number, "short", random.randint(40, 200), 16) for number in range(200)]
    return [*longs, *shorts]
