"""How a growing text is drawn: in place on a terminal, as a stream of text elsewhere."""

from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.markdown import Markdown
from rich.text import Text


class Screen(Protocol):
    """Draws one answer."""

    def draw(self, text: str, *, lasting: bool, waiting: bool) -> None:
        """Show the whole ``text``; ``lasting``: it is complete; ``waiting``: it is a notice, not the answer."""
        ...

    def note(self, text: str) -> None:
        """Write a line below."""
        ...


def screen_on(console: Console) -> Screen:
    """The screen that suits the console."""
    return Terminal(console) if console.is_terminal else Stream(console)


class Terminal:
    """Draws Markdown in place.

    Only the last block is drawn again and again. Those before it are settled: what has left the screen at its top can
    be reached no more, and would stand in the terminal's memory as often as it was drawn.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._settled = ""

    def draw(self, text: str, *, lasting: bool, waiting: bool) -> None:
        """See `Screen.draw`."""
        live = self._begun()
        if waiting:
            live.update(Text(text, style="dim"), refresh=True)
            return
        self._settle(text)
        live.update(_markdown(text[len(self._settled) :]), refresh=True)
        if lasting:
            live.stop()
            self._live = None
            self._settled = ""

    def note(self, text: str) -> None:
        """See `Screen.note`."""
        self._console.print(text, style="dim", markup=False, highlight=False)

    def _begun(self) -> Live:
        if self._live is None:
            # No thread of its own redraws it: every frame does.
            self._live = Live(console=self._console, auto_refresh=False)
            self._live.start()
        return self._live

    def _settle(self, text: str) -> None:
        """Write the blocks of ``text`` that are complete above what is drawn again."""
        if not text.startswith(self._settled):
            self._settled = ""  # it has become another text, all of which counts
        end = last_block(text)
        if end > len(self._settled):
            self._console.print(_markdown(text[len(self._settled) : end]))
            self._console.print()
            self._settled = text[:end]


def _markdown(text: str) -> Markdown:
    # Chats break a line where the text does; Markdown's own rule would run such lines together.
    return Markdown(text.replace("\n", "  \n"))


def last_block(text: str) -> int:
    """Where the last block of Markdown begins: behind an empty line, not indented, not inside of code."""
    begin = at = 0
    in_code = after_blank = False
    for line in text.splitlines(keepends=True):
        if after_blank and not in_code and not line[0].isspace():
            begin = at
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
        after_blank = not line.strip()
        at += len(line)
    return begin


class Stream:
    """Writes what a frame adds, so that the output reads well in a pipe or a file."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._written = ""

    def draw(self, text: str, *, lasting: bool, waiting: bool) -> None:
        """See `Screen.draw`."""
        if waiting:
            return
        if lasting:
            self._finish(text)
            return
        # What closes open Markdown for display goes again with the next frame; it stands behind the last space.
        stable = text[: max(text.rfind(" "), text.rfind("\n")) + 1]
        if stable.startswith(self._written):
            self._write(stable[len(self._written) :])
            self._written = stable

    def note(self, text: str) -> None:
        """See `Screen.note`."""
        self._write(f"{text}\n")

    def _finish(self, text: str) -> None:
        if text.startswith(self._written):
            self._write(text[len(self._written) :] + "\n")
        else:
            # It was drawn another way while it grew; the whole of it is what counts.
            self._write(f"\n{text}\n")
        self._written = ""

    def _write(self, text: str) -> None:
        self._console.out(text, end="", highlight=False)
        self._console.file.flush()
