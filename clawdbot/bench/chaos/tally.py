"""Adds up what was wrong with the screens of many answers, and which faults they had to stand (pure)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from clawdbot.bench.chaos.judge import Verdict


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer's verdict."""

    name: str
    """Platform and number of the question, for whoever looks for the reason."""
    verdict: Verdict
    excused: int = 0
    """Sends that posted a message without the bot being able to know it, on a platform that knows no repetition."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What `clawdbot bench chaos` counts."""

    answers: int = 0
    lost: int = 0
    duplicated: int = 0
    wrong_text: int = 0
    unmarked: int = 0
    ambiguous_sends: int = 0
    cut_short: int = 0
    """Answers that say themselves that they are not all; no fault."""
    early_calls: int = 0
    """Calls that the platform had asked not to make yet; counted in virtual time."""
    engines_left: int = 0
    """Engine processes that outlived their bot."""
    faults: Mapping[str, int] = field(default_factory=dict)
    """How often each kind of fault happened."""
    suspects: tuple[str, ...] = ()
    """The answers with which something is wrong."""

    @property
    def clean(self) -> bool:
        """Whether nothing was lost, twice, wrong or unmarked, and no process was left over."""
        return not (self.lost or self.duplicated or self.wrong_text or self.unmarked or self.engines_left)

    def __add__(self, other: "Tally") -> "Tally":
        """Both together."""
        return Tally(
            self.answers + other.answers,
            self.lost + other.lost,
            self.duplicated + other.duplicated,
            self.wrong_text + other.wrong_text,
            self.unmarked + other.unmarked,
            self.ambiguous_sends + other.ambiguous_sends,
            self.cut_short + other.cut_short,
            self.early_calls + other.early_calls,
            self.engines_left + other.engines_left,
            Counter(self.faults) + Counter(other.faults),
            self.suspects + other.suspects,
        )

    def to_map(self) -> dict[str, object]:
        """As it stands in the JSON file."""
        return {
            "answers": self.answers,
            "lost": self.lost,
            "duplicated": self.duplicated,
            "wrong_text": self.wrong_text,
            "unmarked": self.unmarked,
            "ambiguous_sends": self.ambiguous_sends,
            "cut_short": self.cut_short,
            "early_calls": self.early_calls,
            "engines_left": self.engines_left,
            "faults": dict(sorted(self.faults.items())),
            "suspects": list(self.suspects),
        }


def count(judged: Iterable[Judged], faults: Mapping[str, int]) -> Tally:
    """Add up ``judged``. A copy is excused only by a send of its own answer that the bot could not know of."""
    total = Tally(faults=dict(faults))
    for one in judged:
        verdict = one.verdict
        ambiguous = min(verdict.copies, one.excused)
        duplicated = verdict.copies - ambiguous
        faulty = verdict.lost or duplicated or verdict.wrong_text or verdict.unmarked
        total += Tally(
            answers=1,
            lost=int(verdict.lost),
            duplicated=duplicated,
            wrong_text=int(verdict.wrong_text),
            unmarked=int(verdict.unmarked),
            ambiguous_sends=ambiguous,
            cut_short=int(verdict.cut_short),
            suspects=(f"{one.name}: {_complaint(verdict, duplicated)}",) if faulty else (),
        )
    return total


def _complaint(verdict: Verdict, duplicated: int) -> str:
    wrong = {
        "lost": verdict.lost,
        "duplicated": duplicated,
        "wrong text": verdict.wrong_text,
        "unmarked": verdict.unmarked,
    }
    return ", ".join(name for name, true in wrong.items() if true)
