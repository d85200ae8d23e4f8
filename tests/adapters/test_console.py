"""The console: lines in, growing answers out, in place on a terminal and as a stream elsewhere."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from clawdbot.chat import Event, File, Frame, Message, Reply, State
from clawdbot.errors import Gone
from clawdbot.testing.clock import ManualClock
from clawdbot_console import ConsoleAdapter, ConsoleSettings, plugin
from clawdbot_console.lines import LineReader
from clawdbot_console.reply import ConsoleReply
from clawdbot_console.screen import Stream, Terminal, last_block, screen_on

Read = Callable[[], Awaitable[str]]


class Paper:
    """A screen that keeps every drawing: text, lasting, waiting; notes are lasting texts."""

    def __init__(self) -> None:
        self.drawn: list[tuple[str, bool, bool]] = []

    def draw(self, text: str, *, lasting: bool, waiting: bool) -> None:
        self.drawn.append((text, lasting, waiting))

    def note(self, text: str) -> None:
        self.drawn.append((text, True, False))


def script(*lines: str) -> Read:
    """Standard input that holds these lines."""
    left: Iterator[str] = iter(lines)

    async def read() -> str:
        return next(left, "")

    return read


class Echo:
    """A core that answers each message with its text at once, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Message] = []

    async def receive(self, event: Event, reply: Reply) -> None:
        assert isinstance(event, Message)
        self.asked.append(event)
        await reply.send(Frame(f"You said: {event.text}", State.FINAL), "key")


def console(file: StringIO, *, terminal: bool = False) -> Console:
    return Console(file=file, force_terminal=terminal, width=80, color_system=None)


# Lines in


async def test_each_line_is_a_message_of_the_owner(clock: ManualClock) -> None:
    """Empty ones are none; all are of one private conversation; the end of input ends it."""
    core, out = Echo(), StringIO()
    adapter = ConsoleAdapter(
        ConsoleSettings(),
        read=script("First\n", "\n", "  \n", " Second \n", "Third"),
        console=console(out),
        clock=clock,
    )

    await adapter.run(core.receive)

    assert [message.text for message in core.asked] == ["First", "Second", "Third"]
    assert len({message.id for message in core.asked}) == 3
    (place,) = {message.conversation for message in core.asked}
    assert place.private
    assert {message.author.owner for message in core.asked} == {True}


async def test_the_next_line_is_read_when_the_answer_is_complete(clock: ManualClock) -> None:
    replies: list[Reply] = []

    async def receive(event: Event, reply: Reply) -> None:
        replies.append(reply)

    adapter = ConsoleAdapter(
        ConsoleSettings(), read=script("First\n", "Second\n"), console=console(StringIO()), clock=clock
    )
    running = asyncio.create_task(adapter.run(receive))
    await clock.settle()
    post = await replies[0].send(Frame("A", State.STREAMING), "key")
    await clock.settle()
    assert len(replies) == 1
    await post.edit(Frame("A bird.", State.FINAL))
    await clock.settle()

    assert len(replies) == 2
    running.cancel()


async def test_an_answer_of_several_parts_ends_with_the_last(clock: ManualClock) -> None:
    reply = ConsoleReply(Paper())
    await reply.send(Frame("One", State.FINAL, last=False), "key-0")
    assert not reply.finished.is_set()
    await reply.send(Frame("Two", State.FINAL), "key-1")

    assert reply.finished.is_set()


async def test_once_asks_one_thing_and_ends(clock: ManualClock) -> None:
    core = Echo()
    adapter = ConsoleAdapter(
        ConsoleSettings(once="Hello"), read=script("never read\n"), console=console(StringIO()), clock=clock
    )

    await adapter.run(core.receive)

    assert [message.text for message in core.asked] == ["Hello"]


async def test_piped_questions_are_shown_with_their_answers(clock: ManualClock) -> None:
    out = StringIO()
    adapter = ConsoleAdapter(ConsoleSettings(), read=script("First\n", "Second\n"), console=console(out), clock=clock)

    await adapter.run(Echo().receive)

    assert out.getvalue() == "> First\nYou said: First\n> Second\nYou said: Second\n"


def test_nobody_waits_for_the_answers_of_an_earlier_run() -> None:
    with pytest.raises(Gone):
        ConsoleAdapter(ConsoleSettings(), console=console(StringIO())).reply("console")


def test_the_plugin_builds_it_without_a_token() -> None:
    assert isinstance(plugin.build(plugin.settings()), ConsoleAdapter)
    assert "token" not in plugin.settings.model_fields


# A file descriptor


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Both ends of a pipe, to read from and to write to; whoever closes the second one ends the input."""
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


async def test_lines_come_one_by_one(pipe: tuple[int, int]) -> None:
    """Whatever the pieces in which they arrive; the last one needs no line end."""
    reading, writing = pipe
    lines = LineReader(reading)
    os.write(writing, "Grüße\nsecond\nth".encode())
    first, second = await lines.next(), await lines.next()
    os.write(writing, b"ird")
    os.close(writing)

    assert (first, second) == ("Grüße\n", "second\n")
    assert await lines.next() == "third"
    assert [await lines.next(), await lines.next()] == ["", ""]


async def test_a_line_that_nobody_waited_for_is_not_lost(pipe: tuple[int, int]) -> None:
    """Whoever was cancelled while it was typed leaves it to the next."""
    reading, writing = pipe
    lines = LineReader(reading)
    waiting = asyncio.create_task(lines.next())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    os.write(writing, b"late\n")
    os.close(writing)

    assert await lines.next() == "late\n"


async def test_what_is_not_text_does_not_end_the_console(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    os.write(writing, b"\xff\xfe\n")
    os.close(writing)

    assert await LineReader(reading).next() == "\ufffd\ufffd\n"


@pytest.mark.timeout(30)
def test_a_console_that_waits_for_a_line_can_be_left() -> None:
    """Ctrl-C need not wait for Enter, and the process ends in order."""
    code = """if True:
        import asyncio
        from clawdbot_console import ConsoleAdapter, ConsoleSettings

        async def main():
            running = asyncio.create_task(ConsoleAdapter(ConsoleSettings()).run(None))
            await asyncio.sleep(0)
            running.cancel()

        asyncio.run(main())
    """
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as left:
        assert left.wait() == 0
        assert left.stderr is not None
        assert left.stderr.read() == b""


# Answers out


async def test_a_frame_is_drawn_with_what_it_is() -> None:
    paper = Paper()
    post = await ConsoleReply(paper).send(Frame("The model is loading.", State.WAITING), "key")
    await post.edit(Frame("A heron", State.STREAMING))
    await post.edit(Frame("A heron is a bird.", State.FINAL))

    assert paper.drawn == [
        ("The model is loading.", False, True),
        ("A heron", False, False),
        ("A heron is a bird.", True, False),
    ]


async def test_a_footnote_is_a_line_below() -> None:
    paper = Paper()
    await ConsoleReply(paper).send(Frame("A heron.", State.FINAL, footnote="first word 0.24 s"), "k")
    assert [text for text, _, _ in paper.drawn] == ["A heron.", "first word 0.24 s"]


async def test_a_repeated_edit_is_not_drawn_again() -> None:
    """A stream cannot take back what it wrote."""
    paper = Paper()
    reply = ConsoleReply(paper)
    post = await reply.send(Frame("A heron", State.STREAMING), "key")
    for _ in range(2):
        await post.edit(Frame("A heron is a bird.", State.FINAL))

    assert len(paper.drawn) == 2


def test_files_are_written_where_nobody_else_can_have_put_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the folder for temporary files, and their place is said; those of growing frames are not written."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    paper = Paper()
    reply = ConsoleReply(paper)
    asyncio.run(reply.send(Frame("…", State.STREAMING, (File("chart.png", b"no"),)), "key"))
    asyncio.run(reply.send(Frame("Here", State.FINAL, (File("chart.png", b"PNG"),)), "key"))

    (written,) = tmp_path.rglob("chart.png")
    assert written.read_bytes() == b"PNG"
    assert written.parent.stat().st_mode & 0o077 == 0
    assert paper.drawn[-1][0] == f"(written to {written})"


def drawn(*frames: tuple[str, State]) -> str:
    """What a stream screen writes for these frames."""
    out = StringIO()
    stream = Stream(console(out))
    for text, state in frames:
        stream.draw(text, lasting=state.lasting, waiting=state is State.WAITING)
    return out.getvalue()


def test_a_stream_writes_what_a_frame_adds() -> None:
    """A word appears when the next one begins: its end could still be a mark that only closes it for display."""
    assert drawn(("A her", State.STREAMING)) == "A "
    assert drawn(("A her", State.STREAMING), ("A heron is a", State.STREAMING)) == "A heron is "


@pytest.mark.parametrize("text", ["A heron is a bird.", "**Bold** and `code`", "One\n\nTwo", ""])
def test_a_stream_ends_with_the_text_and_a_line_end(text: str) -> None:
    growing = [(text[:length], State.STREAMING) for length in range(1, len(text))]

    assert drawn(*growing, (text, State.FINAL)) == f"{text}\n"


def test_a_stream_leaves_out_what_closes_open_markdown() -> None:
    assert drawn(("It is **very**", State.STREAMING), ("It is **very big**", State.FINAL)) == "It is **very big**\n"


def test_a_stream_shows_no_notices() -> None:
    assert drawn(("Loading", State.WAITING), ("Hello", State.FINAL)) == "Hello\n"


def test_a_text_that_became_another_is_written_whole() -> None:
    """The finished text is what counts."""
    assert drawn(("One two ", State.STREAMING), ("Two three.", State.FINAL)) == "One two \nTwo three.\n"


def test_each_answer_of_a_stream_stands_alone() -> None:
    out = StringIO()
    stream = Stream(console(out))
    for text in ("Same", "Same"):
        stream.draw(text, lasting=True, waiting=False)

    assert out.getvalue() == "Same\nSame\n"


def test_text_of_a_stream_is_not_taken_for_markup() -> None:
    """Neither colours nor links nor line breaks of rich's own."""
    long = "[red]word[/red] " * 20

    assert drawn((long, State.FINAL)) == f"{long}\n"


CONTROL = re.compile(r"\x1b\[(\??\d*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n]+)")


def seen(output: str, height: int) -> list[str]:
    """The lines that a terminal shows and has scrolled away, after ``output``. It knows what rich makes use of."""
    lines, row = [""], 0
    for count, command, start, end, text in CONTROL.findall(output):
        if command == "A":  # the top of the screen is as far as the cursor goes
            row = max(row - int(count or 1), len(lines) - height)
        elif command == "K":
            lines[row] = ""
        elif end:
            row += 1
            lines += [""] * (row == len(lines))
        elif text:
            lines[row] = text.rstrip()
        else:
            assert start or count.startswith("?"), (count, command)
    return [line.strip() for line in lines if line.strip()]


def on_terminal(*frames: tuple[str, State], height: int = 10) -> list[str]:
    """What stands on a terminal, and above it, after these frames."""
    out = StringIO()
    terminal = Terminal(Console(file=out, force_terminal=True, width=40, height=height, color_system=None))
    for text, state in frames:
        terminal.draw(text, lasting=state.lasting, waiting=state is State.WAITING)
    return seen(out.getvalue(), height)


def test_a_terminal_draws_in_place() -> None:
    """A notice and each frame make room for the next; the finished one stays, and the next answer begins below."""
    frames = [
        ("The model is loading.", State.WAITING),
        ("A **heron**", State.STREAMING),
        ("A **heron** is", State.STREAMING),
        ("A **heron** is a bird.", State.FINAL),
        ("Another", State.FINAL),
    ]

    assert on_terminal(*frames[:1]) == ["The model is loading."]
    assert on_terminal(*frames[:3]) == ["A heron is"]
    assert on_terminal(*frames) == ["A heron is a bird.", "Another"]


def test_an_answer_longer_than_the_terminal_stands_there_once() -> None:
    """What has scrolled away cannot be drawn again; what is written now is seen."""
    expected = [f"Paragraph {number}." for number in range(30)]
    text = "\n\n".join(expected)
    growing = [(text[:length], State.STREAMING) for length in range(1, len(text), 7)]

    assert on_terminal(*growing)[:-1] == expected[:-1]
    assert on_terminal(*growing, (text, State.FINAL)) == expected


def test_a_block_longer_than_the_terminal_is_whole_at_the_end() -> None:
    code = "\n".join(f"line {number}" for number in range(30))
    growing = [(f"```\n{code[:length]}\n```", State.STREAMING) for length in range(1, len(code), 20)]

    expected = [f"line {number}" for number in range(30)]
    assert on_terminal(*growing, (f"```\n{code}\n```", State.FINAL)) == expected


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("One", "One"),
        ("One\n\nTwo", "Two"),
        ("One\n\nTwo\n\n", "Two\n\n"),
        ("One\n\n```\na\n\nb", "```\na\n\nb"),
        ("One\n\n```\na\n\nb\n```\n\nTwo", "Two"),
        ("- One\n\n  more of it", "- One\n\n  more of it"),
        ("", ""),
    ],
)
def test_a_block_begins_behind_an_empty_line(text: str, last: str) -> None:
    """Not inside of code, and not where the line belongs to the item above."""
    assert text[last_block(text) :] == last


def test_the_screen_suits_the_console() -> None:
    assert isinstance(screen_on(console(StringIO(), terminal=True)), Terminal)
    assert isinstance(screen_on(console(StringIO())), Stream)
