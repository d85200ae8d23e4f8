"""What is on the page's chat: questions and answers, and who is told when one of them changes."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from clawdbot.chat import Frame, State
from clawdbot.clock import Clock, until

KEPT = 200
"""Notes that stay on the board; a reader who comes later sees those."""
BEAT = 15.0
"""Seconds without a change after which readers are told that there is none."""

CONTROLS = {
    State.WAITING: "stop",
    State.STREAMING: "stop",
    State.INTERRUPTED: "continue",
    State.FINAL: "regenerate",
    State.STOPPED: "regenerate",
}
"""The control below the last message of an answer."""


@dataclass(frozen=True, slots=True)
class Note:
    """One message on the board: what somebody asked (no ``frame``), or a part of an answer."""

    ref: str
    question: str
    """The ref of the question that it belongs to."""
    text: str
    frame: Frame | None = None

    @property
    def control(self) -> str:
        """What can be done with it: "stop", "continue", "regenerate", or "" for nothing."""
        return CONTROLS.get(self.frame.state, "") if self.frame is not None and self.frame.last else ""

    def to_map(self) -> dict[str, Any]:
        """The same for the page."""
        return {
            "ref": self.ref,
            "question": self.question,
            "text": self.text,
            "state": self.frame.state.value if self.frame else "asked",
            "control": self.control,
            "files": [file.name for file in self.frame.files] if self.frame else [],
            "footnote": self.frame.footnote if self.frame else "",
        }


class Board:
    """The notes, the oldest first, and the readers who follow them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._notes: dict[str, tuple[int, Note]] = {}
        """Each with the number of its last change."""
        self._changes = 0
        self._changed = asyncio.Event()
        """Set, and replaced by a new one, with every change."""

    @property
    def notes(self) -> list[Note]:
        """All that are on it."""
        return [note for _, note in self._notes.values()]

    def find(self, ref: str) -> Note | None:
        """The note ``ref``, if it is there."""
        return self._notes[ref][1] if ref in self._notes else None

    def put(self, note: Note) -> None:
        """Show ``note``, in its place if it is there already."""
        if self.find(note.ref) == note:
            return
        self._changes += 1
        self._notes[note.ref] = (self._changes, note)
        if len(self._notes) > KEPT:
            del self._notes[next(iter(self._notes))]
        self._changed.set()
        self._changed = asyncio.Event()

    async def follow(self) -> AsyncIterator[list[Note]]:
        """Everything, then what has changed, for good; nothing now and then. A slow reader misses states, no note."""
        seen = 0
        while True:
            changed = self._changed
            news = [note for number, note in self._notes.values() if number > seen]
            seen = self._changes
            yield news
            await until(changed, BEAT, self._clock)
