"""One answer on the console."""

import asyncio
import itertools
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from clawdbot.chat import Bucket, File, Frame, Limits, Pace, State
from clawdbot_console.screen import Screen

_NO_LIMIT = Bucket("console", ())

# A screen takes any text at any time; frames closer than this pace would only flicker.
LIMITS = Limits(
    fits=lambda text: True,
    size=1_000_000,
    sends=_NO_LIMIT,
    edits=_NO_LIMIT,
    typing=None,
    bot=_NO_LIMIT,
    pace=Pace(first=(), by_age=((0.0, 0.05),)),
)


class ConsoleReply:
    """Where one answer goes: below what is on the screen."""

    ref = "console"
    limits = LIMITS

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._posts = itertools.count(1)
        self._shown: Frame | None = None
        self.finished = asyncio.Event()
        """The answer's last frame is on the screen."""

    async def send(self, frame: Frame, key: str) -> "ConsolePost":
        """See `Reply.send`."""
        await self._show(frame)
        return self.post(str(next(self._posts)))

    def post(self, ref: str) -> "ConsolePost":
        """See `Reply.post`."""
        return ConsolePost(ref, self.change)

    async def typing(self) -> None:
        """See `Reply.typing`; a console shows none."""

    async def change(self, frame: Frame) -> None:
        """Draw ``frame`` instead of what was drawn last, unless that is the same: a screen cannot take it back."""
        if frame != self._shown:
            await self._show(frame)

    async def _show(self, frame: Frame) -> None:
        """Draw ``frame``; the files of a lasting one are written into a folder for temporary ones."""
        self._shown = frame
        self._screen.draw(frame.text, lasting=frame.state.lasting, waiting=frame.state is State.WAITING)
        if not frame.state.lasting:
            return
        for file in frame.files:
            self._screen.note(f"(written to {await asyncio.to_thread(_written, file)})")
        if frame.footnote:
            self._screen.note(frame.footnote)
        if frame.last:
            self.finished.set()


class ConsolePost:
    """One answer that is on the screen already."""

    def __init__(self, ref: str, change: Callable[[Frame], Awaitable[None]]) -> None:
        self.ref = ref
        self._change = change

    async def edit(self, frame: Frame) -> None:
        """See `Post.edit`."""
        await self._change(frame)


def _written(file: File) -> Path:
    """Where it is: in a folder of its own, so that nobody else on this machine can have put a link there."""
    path = Path(tempfile.mkdtemp(prefix="clawdbot-"), file.name)
    path.write_bytes(file.data)
    return path
