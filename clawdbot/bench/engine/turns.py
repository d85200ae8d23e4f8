"""``clawdbot bench turns``: one long conversation, whose prompts are made as the bot makes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import median

from clawdbot.bench.engine.hearing import Heard, exactly, hear
from clawdbot.clock import Clock
from clawdbot.engine.protocol import Engine, Request, Role
from clawdbot.prompts.prompt import Prompt, Room, compose
from clawdbot.store import Turn

TOPICS = ("the sea", "old maps", "bread", "the moon", "small gardens", "trains", "honey", "glass", "winter", "bridges")

EARLY, LATE = range(3, 11), range(41, 61)
"""Turns that are held against each other: before any trimming, and after several."""


@dataclass(frozen=True, slots=True)
class Row:
    """One turn of the conversation."""

    turn: int
    """From 1 on."""
    prompt_tokens: int
    cached_tokens: int
    """How much of the prompt the prefix cache served."""
    trimmed: bool
    """Whether the oldest exchanges were dropped for this prompt."""
    ttft: float
    """Seconds from the question to the first token, making the prompt included."""

    def to_map(self) -> dict[str, object]:
        """As it stands in the JSON file."""
        sizes = {"prompt_tokens": self.prompt_tokens, "cached_tokens": self.cached_tokens}
        return {"turn": self.turn, **sizes, "trimmed": self.trimmed, "ttft": round(self.ttft * 1000, 3)}


async def converse(
    engine: Engine, clock: Clock, *, system: str, within: Room, turns: int, answer: int, seed: int
) -> list[Row]:
    """Ask so many questions in one conversation; each answer has ``answer`` tokens and keeps its own token ids."""
    random = Random(seed)
    history: list[Turn] = []
    rows = []
    for number in range(1, turns + 1):
        question = ask(random)
        heard = Heard(clock.now())
        made = await compose(engine.tokenizer, system, history, question, within)
        history = kept(history, made.first_turn)
        await hear(engine, Request(f"turns/{seed}/{number}", made.tokens, exactly(answer)), heard, clock)
        history += exchange(number, question, made, heard)
        rows.append(_row(number, made, heard))
    return rows


def ask(random: Random) -> str:
    """A question of about 30 tokens."""
    one, other, third = random.sample(TOPICS, 3)
    return f"What do {one} and {other} have in common, what sets both apart from {third}, and why is that so?"


def kept(history: Sequence[Turn], first_turn: int | None) -> list[Turn]:
    """What is left of the history, as the store would bring it next time."""
    return [turn for turn in history if first_turn is None or turn.id >= first_turn]


def exchange(number: int, question: str, made: Prompt, heard: Heard) -> list[Turn]:
    """A question and its answer as two turns of the history."""
    sides: tuple[tuple[Role, str, list[int]], ...] = (
        ("user", question, made.question),
        ("assistant", heard.text, heard.tokens),
    )
    return [Turn(2 * number + side, role, text, tokens) for side, (role, text, tokens) in enumerate(sides)]


def slowing(rows: Sequence[Row]) -> float | None:
    """The median time to the first token of the late turns by that of the early ones; None without late ones."""
    early = [row.ttft for row in rows if row.turn in EARLY]
    late = [row.ttft for row in rows if row.turn in LATE]
    return median(late) / median(early) if late else None


def cached_share(rows: Sequence[Row]) -> float:
    """How much of all prompts the prefix cache served, 0 to 1."""
    return sum(row.cached_tokens for row in rows) / sum(row.prompt_tokens for row in rows)


def _row(number: int, made: Prompt, heard: Heard) -> Row:
    cached = (heard.usage.cached_tokens or 0) if heard.usage else 0
    return Row(number, len(made.tokens), cached, made.first_turn is not None, heard.ttft or 0.0)
