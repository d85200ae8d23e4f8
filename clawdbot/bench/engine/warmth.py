"""``clawdbot bench warmth``: what a conversation gains that is read again while somebody types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from clawdbot.bench.engine.arrivals import prompt
from clawdbot.bench.engine.hearing import Heard, exactly, hear
from clawdbot.clock import Clock
from clawdbot.engine.protocol import Engine, Request, Role
from clawdbot.errors import EngineError
from clawdbot.latency.timing import Summary, summary
from clawdbot.prompts.prompt import Room, compose
from clawdbot.prompts.warming import read
from clawdbot.store import Turn

Way = Literal["kept", "cold", "warmed"]
"""What the cache has of the conversation when its next question comes: all of it, nothing, or what was read ahead."""
WAYS: tuple[Way, ...] = get_args(Way)

QUESTION, ANSWER = 30, 100
"""Tokens of the turns that the conversation consists of."""
WRITTEN = 4
"""Tokens written for each question that is measured: only the first one counts."""
TRIES, PAUSE = 100, 0.05
"""How often, and with how many seconds between, the engine is asked to empty its cache when something still uses it."""


class Forgetful(Engine, Protocol):
    """An engine whose prefix cache can be emptied, as other conversations would do it in the course of time."""

    async def forget(self) -> bool:
        """Empty the prefix cache; False when a request that just ends still holds a part of it."""
        ...


@dataclass(frozen=True, slots=True)
class Warmth:
    """What was found. Times are seconds."""

    tokens: int
    """Of the conversation's prompt up to the question."""
    ttft: Mapping[Way, Summary]
    """From the question to its first token, making the prompt included."""
    cached: Mapping[Way, Sequence[int]]
    """How many tokens of each prompt the prefix cache served."""
    reading: Summary
    """How long reading ahead took: how long somebody has to type for the whole gain."""

    def to_map(self) -> dict[str, object]:
        """As it stands in the JSON file."""
        times = {f"{way}_ttft": self.ttft[way].to_map() for way in WAYS}
        cached = {way: list(self.cached[way]) for way in WAYS}
        return {"prompt_tokens": self.tokens, **times, "reading": self.reading.to_map(), "cached_tokens": cached}


class Talk:
    """A conversation with an engine, in which every question meets the same history."""

    def __init__(self, engine: Forgetful, clock: Clock, system: str, within: Room, history: Sequence[Turn]) -> None:
        self._engine = engine
        self._clock = clock
        self._system = system
        self._within = within
        self._history = history
        self._count = 0
        """How many requests there were; names each of them, and makes each question another one."""

    async def beginning(self) -> list[int]:
        """The prompt up to the question."""
        made = await compose(self._engine.tokenizer, self._system, self._history, "", self._within)
        return made.tokens[: made.beginning]

    async def forget(self) -> None:
        """Let the engine forget the conversation. Raises `EngineError` when it does not."""
        for _ in range(TRIES):
            if await self._engine.forget():
                return
            await self._clock.sleep(PAUSE)
        raise EngineError("The engine does not empty its prefix cache.")

    async def read_ahead(self) -> float:
        """Read the conversation as the bot does when somebody types; how many seconds that took."""
        self._count += 1
        begun = self._clock.now()
        await read(self._engine, f"ahead/{self._count}", await self.beginning())
        return self._clock.now() - begun

    async def ask(self) -> Heard:
        """Ask something that was not asked before and begins like nothing that was: only the history is shared."""
        self._count += 1
        heard = Heard(self._clock.now())
        question = f"{str(10_000 + self._count)[::-1]} is a number. What is there to know about it?"
        made = await compose(self._engine.tokenizer, self._system, self._history, question, self._within)
        await hear(self._engine, Request(f"warmth/{self._count}", made.tokens, exactly(WRITTEN)), heard, self._clock)
        return heard


def history_of(turns: int, seed: int) -> list[Turn]:
    """A conversation of so many questions, in words that mean nothing: what they cost depends on their number alone."""
    sides: tuple[tuple[Role, int], ...] = (("user", QUESTION), ("assistant", ANSWER))
    return [
        Turn(2 * number + side, role, "", prompt(seed, number, role, tokens=tokens))
        for number in range(1, turns + 1)
        for side, (role, tokens) in enumerate(sides)
    ]


async def measure(talk: Talk, rounds: int) -> Warmth:
    """Ask once a round each way; whichever goes first changes every time, so that a slow moment meets all of them."""
    heard: dict[Way, list[Heard]] = {way: [] for way in WAYS}
    reading = []
    await talk.read_ahead()  # or the first question would find nothing kept
    for number in range(rounds):
        first = number % len(WAYS)
        for way in WAYS[first:] + WAYS[:first]:
            if way != "kept":
                await talk.forget()
            if way == "warmed":
                reading.append(await talk.read_ahead())
            heard[way].append(await talk.ask())
    return Warmth(
        tokens=len(await talk.beginning()),
        ttft={way: summary(one.ttft for one in heard[way]) for way in WAYS},
        cached={way: [one.usage.cached_tokens or 0 for one in heard[way] if one.usage] for way in WAYS},
        reading=summary(reading),
    )
