"""What a check has found, and how all of them are made."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARN = "warn"
    """The bot will run; somebody should know."""
    FAIL = "fail"
    """The bot will not run, or not as it is meant to."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check has found. Neither text ever holds a secret."""

    level: Level
    about: str
    text: str
    """Sentences."""
    remedy: str = ""
    """What to do, as sentences; empty when all is well."""

    @property
    def line(self) -> str:
        """All of it in one line."""
        return " ".join(f"{self.level:<4}  {self.about}: {self.text} {self.remedy}".split("\n")).rstrip()

    def without(self, redact: Callable[[str], str]) -> "Finding":
        """The same, with texts as ``redact`` leaves them: what a foreign library said may hold anything."""
        return replace(self, text=redact(self.text), remedy=redact(self.remedy))

    def to_map(self) -> dict[str, str]:
        """The same for a JSON file."""
        return {name: str(value) for name, value in asdict(self).items()}


def ok(about: str, text: str) -> Finding:
    """All is well."""
    return Finding(Level.OK, about, text)


def warn(about: str, text: str, remedy: str) -> Finding:
    """Somebody should know."""
    return Finding(Level.WARN, about, text, remedy)


def fail(about: str, text: str, remedy: str) -> Finding:
    """Somebody has to mend it."""
    return Finding(Level.FAIL, about, text, remedy)


@dataclass(frozen=True, slots=True)
class Check:
    """One look at one thing."""

    about: str
    look: Callable[[], Awaitable[Finding]]


def check(about: str, look: Callable[..., Finding], *given: object) -> Check:
    """A check that reads files or asks the system: it is made in a thread, with what is ``given``."""
    return Check(about, lambda: asyncio.to_thread(look, about, *given))


async def examine(checks: Sequence[Check], show: Callable[[Finding], None]) -> list[Finding]:
    """Make all ``checks`` at once; ``show`` is given each finding in their order, as soon as it is there."""
    findings: list[Finding] = []
    async with asyncio.TaskGroup() as group:
        looking = [group.create_task(_survived(one)) for one in checks]
        for task in looking:
            finding = await task
            show(finding)
            findings.append(finding)
    return findings


async def _survived(one: Check) -> Finding:
    """A check that breaks is a finding of its own: the others still tell what they see."""
    try:
        return await one.look()
    except Exception as error:  # noqa: BLE001 - the supervisor of the checks
        # Its text may hold anything, a token too.
        *_, last = traceback.extract_tb(error.__traceback__)
        place = f"{Path(last.filename).name}, line {last.lineno}"
        text = f"This check broke down ({type(error).__name__} in {place})."
        return fail(one.about, text, "That is a fault of the doctor's; please report it. What it looks at may be well.")
