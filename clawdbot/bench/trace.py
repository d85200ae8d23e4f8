"""The trace of a bench: who asks what when, and what the engine answers, all drawn from one seed (pure)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

FIRST = 0.2
"""Seconds that a scripted engine takes for the first token, where nobody says otherwise."""
_WORDS = tuple(
    word
    for line in (
        "time river answer window small model light token paper garden reader because between never should first",
        "second stone write early under quiet simple number music always bridge letter green walking several morning",
        "question machine careful distance without another remember station colour weather north system language of a",
    )
    for word in line.split()
)
_TOKEN = re.compile(r" ?[^\W_]{1,7}|\n+| +|[^\w\s]{1,2}|_")
_QUESTION = re.compile(r"Question (\d+):")
TAIL = 256
"""Tokens of a prompt's end in which the question is looked for first."""
_END = ("\n\n", "The", " end")
"""The last tokens of every answer: the last thing that comes is something that a reader sees."""


@dataclass(frozen=True, slots=True)
class Question:
    """One message of a person. Nobody asks twice in the same chat, so ``number`` names the chat too."""

    number: int
    at: float
    """Seconds after the beginning of the trace."""
    tokens: tuple[str, ...]
    """What the engine writes as the answer: Markdown, in the pieces of an ordinary tokenizer."""

    @property
    def text(self) -> str:
        """What the person writes."""
        return f"Question {self.number}: what do you know about it?"

    @property
    def answer(self) -> str:
        """The whole answer."""
        return "".join(self.tokens)


@dataclass(frozen=True, slots=True)
class Trace:
    """All questions, and the engine's pace: seconds to the first token and between tokens."""

    questions: tuple[Question, ...]
    first: float
    gap: float

    @property
    def seconds(self) -> float:
        """When the engine writes its last token if every question reaches it at once."""
        return max(question.at + self.first + len(question.tokens) * self.gap for question in self.questions)


def draw(*, chats: int, rounds: int, spread: float, tokens: int, first: float, rate: float, seed: int) -> Trace:
    """``rounds`` times ``chats`` questions within ``spread`` seconds, with answers of ``tokens`` tokens.

    A round begins two seconds after the answers of the one before are written. ``rate`` is in tokens per second.
    """
    random = Random(seed)
    length = spread + first + tokens / rate + 2.0
    questions = []
    for number in range(chats * rounds):
        at = number // chats * length + random.uniform(0, spread)
        questions.append(Question(number, at, answer_tokens(random, tokens)))
    return Trace(tuple(sorted(questions, key=lambda question: question.at)), first, 1 / rate)


def asked(prompt: Sequence[int]) -> int:
    """The number of the question that a prompt of `CharacterTokenizer` ends with. Raises LookupError without one."""
    text = ""
    # Nearly always it is at the very end; only a begun answer that goes on may have it far before that.
    for tail in (prompt[-TAIL:], prompt):
        text = "".join(chr(token) for token in tail if token > 0)
        if numbers := _QUESTION.findall(text):
            return int(numbers[-1])
    raise LookupError(f"no question of the trace in {text[-80:]!r}")


def answer_tokens(random: Random, count: int) -> tuple[str, ...]:
    """An answer of ``count`` tokens, 3 at least: paragraphs, lists, headings, tables, code, cut off near the end."""
    blocks = [_paragraph(random)] if random.random() < 0.7 else [_block(random)]
    found: list[str] = []
    while len(found) < count:
        blocks.append(_block(random))
        found = _TOKEN.findall("\n\n".join(blocks))
    return (*found[: max(0, count - len(_END))], *_END)


def _block(random: Random) -> str:
    """Text after anything else: two lists in a row would be read as one."""
    block = random.choice((_paragraph, _list, _numbered, _heading, _code, _table))
    return f"{block(random)}\n\n{_paragraph(random)}"


def _words(random: Random, least: int, most: int) -> list[str]:
    return random.choices(_WORDS, k=random.randint(least, most))


def _sentence(random: Random) -> str:
    words = _words(random, 5, 14)
    words[0] = words[0].capitalize()
    if random.random() < 0.4:
        at = random.randrange(len(words))
        mark = random.choice(("**", "`", "*"))
        words[at] = f"{mark}{words[at]}{mark}"
    return " ".join(words) + random.choice("...?!")


def _paragraph(random: Random) -> str:
    return " ".join(_sentence(random) for _ in range(random.randint(2, 4)))


def _list(random: Random) -> str:
    return "\n".join(f"- {_sentence(random)}" for _ in range(random.randint(2, 5)))


def _numbered(random: Random) -> str:
    return "\n".join(f"{number}. {_sentence(random)}" for number in range(1, random.randint(3, 5)))


def _heading(random: Random) -> str:
    return f"## {' '.join(_words(random, 2, 4)).capitalize()}\n\n{_paragraph(random)}"


def _code(random: Random) -> str:
    name, argument = random.sample(_WORDS, 2)
    lines = [f"def {name}({argument}):", f"    return [{argument} + {random.randint(1, 99)}]"]
    return "\n".join(["```python", *lines, "```"])


def _table(random: Random) -> str:
    rows = [" | ".join(_words(random, 2, 2)) for _ in range(random.randint(2, 4))]
    return "\n".join(f"| {row} |" for row in [rows[0], "--- | ---", *rows[1:]])
