"""Says how far a long preparation is: a bar on a terminal, a plain line a step elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars


class Progress(Protocol):
    """Called several times a second during a step."""

    def __call__(self, step: str, share: float | None) -> None:
        """``step`` is what is being done, such as "fetch the demo model"; ``share`` is 0 to 1, None if unknown."""
        ...


def silent(step: str, share: float | None) -> None:
    """Say nothing."""


@contextmanager
def shown(stream: TextIO) -> Iterator[Progress]:
    """Show progress on ``stream`` while the block lasts."""
    console = Console(file=stream)
    if not console.is_terminal:
        yield Lines(stream)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Bars(*columns, console=console) as bars:
        yield Drawn(bars)


class Lines:
    """One line when a step begins."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._step = ""

    def __call__(self, step: str, share: float | None) -> None:
        if step != self._step:
            self._step = step
            self._stream.write(f"{_title(step)} …\n")
            self._stream.flush()


class Drawn:
    """One bar a step."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._step = ""
        self._task: TaskID | None = None

    def __call__(self, step: str, share: float | None) -> None:
        if self._task is None or step != self._step:
            self._finish()
            self._step = step
            self._task = self._bars.add_task(_title(step), total=None if share is None else 1.0)
        if share is not None:
            self._bars.update(self._task, completed=share)

    def _finish(self) -> None:
        if self._task is not None:
            self._bars.update(self._task, total=1.0, completed=1.0)
            self._bars.stop_task(self._task)


def _title(step: str) -> str:
    return step[:1].upper() + step[1:]
