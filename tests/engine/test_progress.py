import io

from rich.console import Console
from rich.progress import Progress as Bars

from clawdbot.engine.progress import Drawn, shown


def test_a_pipe_gets_a_line_a_step() -> None:
    stream = io.StringIO()

    with shown(stream) as progress:
        progress("fetch it", 0.1)
        progress("fetch it", 0.9)
        progress("convert it", None)

    assert stream.getvalue() == "Fetch it …\nConvert it …\n"


def test_a_terminal_gets_a_bar_a_step() -> None:
    stream = io.StringIO()

    with Bars(console=Console(file=stream, force_terminal=True, width=80)) as bars:
        progress = Drawn(bars)
        progress("fetch it", 0.25)
        progress("convert it", None)
        first, second = bars.tasks

    assert (first.description, first.completed, first.total) == ("Fetch it", 1.0, 1.0)
    assert (second.description, second.total) == ("Convert it", None)
