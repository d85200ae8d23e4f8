"""What happens in a chaos run, drawn from a seed: questions with their answers, and the faults of calls (pure)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from clawdbot.testing.engine import Script
from clawdbot.testing.faults import Fault, Trouble

Length = Literal["short", "middle", "long", "code"]
LENGTHS: Sequence[Length] = ("short", "middle", "long", "code")
OFTEN = (45, 30, 15, 10)
"""How often each length is drawn, in percent."""
MESSAGES = 2.5
"""A long answer fills so many messages: it needs three."""
FAILING = 0.04
"""So many of the answers end in a failure of the engine."""
TOKENS = 60
"""About the most tokens of one answer: more would only take longer to play."""

TROUBLES = (
    Trouble.LIMITED,
    Trouble.ERROR,
    Trouble.BAD_GATEWAY,
    Trouble.RESET_BEFORE,
    Trouble.RESET_AFTER,
    Trouble.TIMEOUT_AFTER,
)
"""What happens to calls, each as often as the others."""

_WORDS = ("river", "window", "paper", "garden", "reader", "stone", "number", "music", "bridge", "letter", "weather")


@dataclass(frozen=True, slots=True)
class Asked:
    """One question and all that the engine will write as its answer."""

    number: int
    script: Script

    @property
    def text(self) -> str:
        """What the person writes; `clawdbot.bench.trace.asked` finds the number in a prompt."""
        return f"Question {self.number}: what do you know about it?"

    @property
    def answer(self) -> str:
        """The whole answer."""
        return "".join(self.script.tokens)

    @property
    def whole(self) -> bool:
        """Whether the engine comes to the end of it."""
        return not self.script.fails


def draw_question(
    random: Random,
    number: int,
    size: int,
    *,
    length: Length | None = None,
    failing: float = FAILING,
    first: tuple[float, float] = (0.1, 1.5),
    gap: tuple[float, float] = (0.05, 0.4),
) -> Asked:
    """A question for a platform whose messages hold ``size`` characters.

    ``first`` and ``gap`` are bounds for the seconds to the first token and between tokens.
    """
    kind = length or random.choices(LENGTHS, OFTEN)[0]
    text = _write(random, number, kind, _characters(random, kind, size))
    tokens = _cut(text, max(8, len(text) // TOKENS))
    fails = random.random() < failing
    if fails:
        tokens = tokens[: random.randint(1, len(tokens))]
    return Asked(number, Script(tokens, random.uniform(*first), random.uniform(*gap), fails))


class FaultDraw:
    """A `clawdbot.testing.faults.Plan`: of the calls with one of ``names`` so many (``rate``, 0 to 1) go wrong."""

    def __init__(
        self,
        random: Random,
        rate: float,
        names: Collection[str],
        *,
        waits: tuple[float, float] = (1.0, 300.0),
        silence: tuple[float, float] = (10.0, 20.0),
    ) -> None:
        """``waits``: bounds for the seconds of a 429; ``silence``: for how long no answer comes in a time-out."""
        self._random = random
        self._rate = rate
        self._names = names
        self._waits = waits
        self._silence = silence

    def __call__(self, call: str) -> Fault | None:
        """What goes wrong with the call that is made now."""
        if call not in self._names or self._random.random() >= self._rate:
            return None
        trouble = self._random.choice(TROUBLES)
        bounds = self._waits if trouble is Trouble.LIMITED else self._silence
        return Fault(trouble, self._random.uniform(*bounds))


def _characters(random: Random, kind: Length, size: int) -> int:
    match kind:
        case "short":
            return random.randint(20, 200)
        case "middle":
            return random.randint(300, size * 3 // 4)
        case "long" | "code":
            return int(size * MESSAGES)


def _write(random: Random, number: int, kind: Length, least: int) -> str:
    """Markdown of ``least`` characters or a little more.

    No word occurs twice in any answer of a run, so a judge knows where every piece of a screen belongs.
    """
    words = _Words(random, number)
    blocks: list[str] = []
    while sum(map(len, blocks)) < least:
        if kind == "code" and len(blocks) == 1:
            blocks.append(words.code(least * 2 // 3))
        else:
            blocks.append(words.bullets() if len(blocks) % 3 == 2 else words.paragraph())
        if kind == "short":
            return blocks[0][:least].rstrip() + f" {words.next()}."
    return "\n\n".join(blocks)


class _Words:
    """Words of one answer, each with a number of its own."""

    def __init__(self, random: Random, number: int) -> None:
        self._random = random
        self._number = number
        self._count = 0

    def next(self) -> str:
        self._count += 1
        return f"{self._random.choice(_WORDS)}{self._number}w{self._count}"

    def sentence(self) -> str:
        return " ".join(self.next() for _ in range(self._random.randint(5, 12))) + "."

    def paragraph(self) -> str:
        return " ".join(self.sentence() for _ in range(self._random.randint(2, 4)))

    def bullets(self) -> str:
        return "\n".join(f"- {self.sentence()}" for _ in range(self._random.randint(2, 4)))

    def code(self, least: int) -> str:
        lines: list[str] = []
        while sum(map(len, lines)) < least:
            lines.append(f"    {self.next()}({self.next()}, {self.next()})")
        return "\n".join(["```python", *lines, "```"])


def _cut(text: str, size: int) -> tuple[str, ...]:
    return tuple(text[at : at + size] for at in range(0, len(text), size))
