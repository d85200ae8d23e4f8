"""Platforms on which a file is a message of its own: every call is made when there is room for it, and counted."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from clawdbot.chat import File, Frame, Rate, State
from clawdbot.delivery.live import LiveReply
from clawdbot.errors import Unsure
from clawdbot.latency.observed import Call, Fact
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.memory import NO_MISHAP, MemoryPost, MemoryReply, Mishap, limits

Live = Callable[..., LiveReply]
Play = Callable[..., Awaitable[None]]

FILES = (File("one.md", b"1"), File("two.md", b"2"))


class Apart(MemoryReply):
    """Shows each file as a message with its name."""

    async def send(self, frame: Frame, key: str) -> MemoryPost:
        post = await super().send(replace(frame, files=()), key)
        return ApartPost(self, int(post.ref), frame)

    async def attach(self, file: File) -> None:
        await self.show("send", len(self.screen.frames), Frame(file.name, State.FINAL), file.name)


class ApartPost(MemoryPost):
    """`Stepwise`."""

    def __init__(self, reply: Apart, part: int, frame: Frame) -> None:
        super().__init__(reply, part)
        self._apart = reply
        self._frame = frame
        self._attached = 0

    @property
    def ref(self) -> str:
        return f"{super().ref}/{self._attached}"

    @property
    def unfinished(self) -> bool:
        return self._attached < len(self._frame.files)

    async def edit(self, frame: Frame) -> None:
        if self.unfinished and frame == self._frame:
            await self._apart.attach(frame.files[self._attached])
            self._attached += 1
        else:
            await super().edit(replace(frame, files=()))
        self._frame = frame


class Refs:
    """A journal that keeps the refs of posts."""

    def __init__(self) -> None:
        self.posted_refs: list[tuple[int, str]] = []

    async def begin(self, parts: int) -> None:
        """Forget it."""

    async def posted(self, part: int, post: str) -> None:
        self.posted_refs.append((part, post))

    async def refused(self, parts: int, seconds: float) -> None:
        """Forget it."""


async def test_every_file_waits_for_its_place(clock: ManualClock, live: Live, play: Play) -> None:
    """A text with two files is three calls: the platform that takes one in 2 s gets one in 2 s."""
    reply = Apart(clock, limits(place=(Rate(1, 2.0),), shared=True))

    async def own() -> None:
        async with live(reply) as answer:
            await answer.finish("Hello", State.FINAL, FILES)
            assert answer.complete == clock.now()

    start = clock.now()
    await play(own())
    assert reply.screen.texts == ["Hello", "one.md", "two.md"]
    assert [call.at - start for call in reply.calls] == pytest.approx([0.0, 2.0, 4.0])


async def test_a_text_is_noted_before_its_files_are_there(clock: ManualClock, live: Live, play: Play) -> None:
    """Or a crash in the wait between them would post it again."""
    reply, notes = Apart(clock), Refs()

    async def own() -> None:
        async with live(reply, journal=notes) as answer:
            await answer.finish("Hello", State.FINAL, FILES)

    await play(own())
    assert notes.posted_refs == [(0, "0/0"), (0, "0/1"), (0, "0/2")]


async def test_a_file_whose_receipt_got_lost_is_sent_again_and_counted(
    clock: ManualClock, play: Play, live: Live
) -> None:
    """The text that is there already is not."""
    reply = Apart(clock, remembers=False)
    reply.inject("send", NO_MISHAP, Mishap(Unsure("time-out"), landed=True))

    async def own() -> None:
        async with live(reply) as answer:
            await answer.finish("Hello", State.FINAL, FILES)
            assert answer.ambiguous_sends == 1

    await play(own())
    assert reply.screen.texts == ["Hello", "one.md", "one.md", "two.md"]


async def test_every_call_is_told(clock: ManualClock, live: Live, play: Play) -> None:
    """Whoever watches the bot sees each of them, as what it is."""
    facts: list[Fact] = []
    reply = Apart(clock)

    async def own() -> None:
        async with live(reply) as answer:
            answer._budgets.observe = facts.append
            answer.show("Hel")
            await clock.sleep(0.1)
            await answer.finish("Hello", State.FINAL, FILES)

    await play(own())
    assert [fact.kind for fact in facts if isinstance(fact, Call)] == ["send", "edit", "send", "send"]
