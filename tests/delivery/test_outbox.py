"""What is noted of an answer on its way, and how the next process takes it up from there."""

from collections.abc import Awaitable, Callable

import pytest

from clawdbot.chat import File, Frame, State
from clawdbot.delivery.live import LiveReply
from clawdbot.errors import DeliveryError, Forbidden, Gone, Limited, Moved, Rejected, StoreError, Unreachable, Unsure
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.memory import NO_MISHAP, Call, MemoryPost, MemoryReply, Mishap, Screen, limits
from clawdbot.words import INTERRUPTED_MARK, WITHDRAWN

Live = Callable[..., LiveReply]
Play = Callable[..., Awaitable[None]]

WORDS = [f"word{number} " for number in range(400)]


class Labelled(MemoryPost):
    """A message whose ref tells what is attached to it."""

    files = ""

    @property
    def ref(self) -> str:
        return super().ref + self.files

    async def edit(self, frame: Frame) -> None:
        await super().edit(frame)
        self.files = "".join(f"+{file.name}" for file in frame.files)


class Shelf(MemoryReply):
    """A platform of such messages."""

    async def send(self, frame: Frame, key: str) -> MemoryPost:
        return Labelled(self, await self.show("send", len(self.screen.frames), frame, key))


class Notes:
    """A journal that keeps what it is told, with the texts that are on the screen at that moment."""

    def __init__(
        self,
        error: StoreError | None = None,
        screen: Screen | None = None,
        takes: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.posts: list[tuple[int, str]] = []
        self.begun: list[tuple[int, list[str]]] = []
        self.refusals: list[tuple[int, float]] = []
        self._error = error
        self._screen = screen or Screen()
        self._takes = takes

    async def begin(self, parts: int) -> None:
        self._fail()
        self.begun.append((parts, list(self._screen.texts)))
        if self._takes is not None:
            await self._takes()

    async def posted(self, part: int, post: str) -> None:
        self._fail()
        self.posts.append((part, post))

    async def refused(self, parts: int, seconds: float) -> None:
        self._fail()
        self.refusals.append((parts, seconds))

    def _fail(self) -> None:
        if self._error is not None:
            raise self._error


async def test_messages_are_noted_as_they_are_posted(clock: ManualClock, live: Live) -> None:
    """After a crash the journal says what is on the screen already."""
    reply = MemoryReply(clock, limits(size=200))
    notes = Notes()
    async with live(reply, journal=notes) as answer:
        await answer.finish("".join(WORDS[:60]), State.FINAL)
    assert notes.posts == [(part, str(part)) for part in range(len(reply.screen.texts))]


async def test_message_that_got_another_name_by_an_edit_is_noted_again(clock: ManualClock, live: Live) -> None:
    """Where a file is a message of its own, the ref says that it is there; after a crash it would be posted again."""

    reply = Shelf(clock)
    notes = Notes()
    async with live(reply, journal=notes) as answer:
        answer.show("Hello")
        await clock.settle()
        await answer.finish("Hello there", State.FINAL, (File("answer.md", b"rest"),))
    assert notes.posts == [(0, "0"), (0, "0+answer.md")]


async def test_full_disk_does_not_stop_the_answer(
    clock: ManualClock, live: Live, caplog: pytest.LogCaptureFixture
) -> None:
    reply = MemoryReply(clock)
    async with live(reply, journal=Notes(StoreError("disk full"))) as answer:
        answer.show("Hello")
        await clock.settle()
        await answer.finish("Hello there", State.FINAL)
    assert reply.screen.texts == ["Hello there"]
    assert "could not be noted" in caplog.text


async def test_a_text_is_noted_before_it_can_be_seen(clock: ManualClock, live: Live) -> None:
    """Also where it takes the place of a notice; or a crash would leave a text that nobody knows."""
    reply = MemoryReply(clock)
    notes = Notes(screen=reply.screen)
    async with live(reply, journal=notes) as answer:
        answer.wait("Loading")
        await clock.advance(1.5)
        answer.show("Hello")
        await clock.advance(0.1)
    assert reply.screen.seen() == ["Loading", "Hello"]
    assert notes.begun == [(1, []), (1, ["Loading"])]


async def test_a_slow_disk_does_not_keep_the_first_text_back(clock: ManualClock, live: Live, play: Play) -> None:
    """Nor do notes pile up behind one that takes long: the next one says more."""
    reply = MemoryReply(clock)
    notes = Notes(takes=lambda: clock.sleep(8.0))
    start = clock.now()

    async def own() -> None:
        async with live(reply, journal=notes) as answer:
            for count in range(1, 101):
                answer.show("".join(WORDS[:count]))
                await clock.sleep(0.1)
            await answer.finish("".join(WORDS[:100]), State.FINAL)

    await play(own())
    assert reply.screen.history[0].at - start == pytest.approx(0.02)
    assert len(notes.begun) == 2


async def test_a_growing_text_is_noted_now_and_then(clock: ManualClock, live: Live) -> None:
    """Not with every frame: a crash may cost a few seconds of it."""
    reply = MemoryReply(clock)
    notes = Notes(screen=reply.screen)
    async with live(reply, journal=notes) as answer:
        for count in range(1, 101):
            answer.show("".join(WORDS[:count]))
            await clock.advance(0.1)
        await answer.finish("".join(WORDS[:100]), State.FINAL)
    assert len(reply.calls) > 8
    assert [parts for parts, _ in notes.begun] == [1, 1, 1, 1]


async def test_a_text_is_noted_before_every_try_to_post_it(clock: ManualClock, live: Live) -> None:
    """Each may leave a copy behind, and none may show more than the next process knows."""
    reply = MemoryReply(clock, remembers=False)
    reply.inject("send", *[Mishap(Unsure("time-out"), landed=True)] * 2)
    notes = Notes(screen=reply.screen)
    async with live(reply, journal=notes) as answer:
        for count in range(1, 21):
            answer.show("".join(WORDS[:count]))
            await clock.advance(0.1)
    assert len(reply.made("send")) == 3
    assert len(notes.begun) == 3


async def test_a_message_is_noted_before_it_is_posted(clock: ManualClock, live: Live) -> None:
    """A process that is killed after the call knows that there may be one."""
    reply = MemoryReply(clock, limits(size=200))
    notes = Notes(screen=reply.screen)
    async with live(reply, journal=notes) as answer:
        await answer.finish("".join(WORDS[:60]), State.FINAL)
    assert [(parts, len(texts)) for parts, texts in notes.begun] == [(1, 0), (2, 1), (3, 2)]


@pytest.mark.parametrize(
    ("error", "refusals"),
    [
        (Limited(7.0), [(0, 7.0)]),
        (Unreachable("502"), [(0, 0.0)]),
        (Rejected("never"), [(0, 0.0)]),
        (Forbidden("blocked"), [(0, 0.0)]),
        (Gone("deleted"), [(0, 0.0)]),
        (Unsure("time-out"), []),
    ],
)
async def test_a_message_that_was_certainly_not_posted_is_noted_no_more(
    clock: ManualClock, live: Live, error: DeliveryError, refusals: list[tuple[int, float]]
) -> None:
    """After a restart there is no doubt about it, and nothing is counted as sent twice."""
    reply = MemoryReply(clock)
    reply.inject("send", Mishap(error))
    notes = Notes()
    async with live(reply, journal=notes) as answer:
        answer.show("Hello")
        await clock.settle()
        assert notes.refusals == refusals


@pytest.mark.parametrize(("wait", "refusals"), [(4.9, []), (300.0, [(1, 300.0)])])
async def test_a_long_wait_is_noted(
    clock: ManualClock, live: Live, wait: float, refusals: list[tuple[int, float]]
) -> None:
    """A start in the middle of it must not call the platform; a short one is over by then."""
    reply = MemoryReply(clock)
    reply.inject("edit", Mishap(Limited(wait)))
    notes = Notes()
    async with live(reply, journal=notes) as answer:
        answer.show("Hello")
        await clock.settle()
        answer.show("Hello there")
        await clock.advance(0.5)
        assert notes.refusals == refusals


@pytest.mark.parametrize(("wait", "refusals"), [(4.9, []), (300.0, [(0, 300.0)])])
async def test_a_long_wait_for_typing_is_noted_too(
    clock: ManualClock, live: Live, wait: float, refusals: list[tuple[int, float]]
) -> None:
    """On some platforms it holds for messages as well."""
    reply = MemoryReply(clock)
    reply.inject("typing", Mishap(Limited(wait)))
    notes = Notes()
    async with live(reply, journal=notes):
        await clock.advance(0.6)
        assert notes.refusals == refusals


async def test_a_refusal_does_not_settle_an_earlier_doubt(clock: ManualClock, live: Live, play: Play) -> None:
    """The first try may have landed, whatever happens to the second."""
    reply = MemoryReply(clock)
    reply.inject("send", Mishap(Unsure("time-out"), landed=True), Mishap(Limited(5.0)))
    notes = Notes()

    async def own() -> None:
        async with live(reply, journal=notes) as answer:
            await answer.finish("Hello", State.FINAL)

    await play(own())
    assert notes.refusals == [(1, 5.0)]
    assert reply.screen.texts == ["Hello"]


async def test_answer_is_taken_up_after_a_restart(clock: ManualClock, live: Live) -> None:
    """Messages that a former process posted are edited; only the missing ones are sent."""
    reply = MemoryReply(clock, limits(size=200))
    text = "".join(WORDS[:60])
    async with live(reply) as before:
        before.show(text[:250])
        await clock.settle()
    posts = [str(part) for part in range(len(reply.screen.texts))]
    sends = len(reply.made("send"))
    async with live(reply, posts=posts) as answer:
        await answer.finish(text, State.INTERRUPTED)
    assert len(reply.made("send")) == len(reply.screen.texts) > sends == len(posts)
    assert "".join(" ".join(reply.screen.texts).split()) == "".join(f"{text}\n\n{INTERRUPTED_MARK}".split())


async def test_message_that_is_no_longer_needed_says_so(clock: ManualClock, live: Live) -> None:
    """The answer that is given after a restart is shorter: no stale text stays below it."""
    reply = MemoryReply(clock, limits(size=200))
    async with live(reply) as before:
        before.show("".join(WORDS[:60]))
        await clock.settle()
    posts = [str(part) for part in range(len(reply.screen.texts))]
    async with live(reply, posts=posts) as answer:
        await answer.finish("Short", State.FINAL)
    assert reply.screen.texts == ["Short", WITHDRAWN, WITHDRAWN]
    assert [frame.last for frame in reply.screen.frames] == [True, False, False]


async def test_messages_that_are_no_longer_needed_do_not_move_along(clock: ManualClock, live: Live, play: Play) -> None:
    """A group becomes a supergroup: nothing is sent there only to say that it is not needed."""
    left_behind = range(0)

    def faults(call: Call) -> Mishap:
        return Mishap(Moved(-1001)) if call.method == "edit" and call.part in left_behind else NO_MISHAP

    reply = MemoryReply(clock, limits(size=200), faults=faults)
    async with live(reply) as before:
        await before.finish("".join(WORDS[:60]).strip(), State.FINAL)
    left_behind = range(len(reply.screen.texts))

    async def finish() -> None:
        async with live(reply, key="another", posts=[str(part) for part in left_behind]) as answer:
            await answer.finish("Short", State.FINAL)

    await play(finish())
    assert len(left_behind) > 2
    assert reply.screen.texts[len(left_behind) :] == ["Short"]


async def test_another_answer_is_posted_again_where_the_former_was_removed(
    clock: ManualClock, live: Live, play: Play
) -> None:
    """All of it, in its order, by keys that stand for no removed message."""
    reply = MemoryReply(clock, limits(size=200))
    text = "".join(WORDS[:60]).strip()
    async with live(reply) as before:
        await before.finish(text, State.FINAL)
    posted = len(reply.screen.texts)
    reply.delete(0)

    async def finish() -> None:
        async with live(reply, posts=[str(part) for part in range(posted)], anew=True) as answer:
            await answer.finish(text, State.FINAL)

    await play(finish())
    assert reply.screen.texts[posted:] == reply.screen.texts[:posted]
    assert posted > 1


async def test_message_that_the_journal_does_not_know_is_recognised(clock: ManualClock, live: Live) -> None:
    """Killed between the send and the note: the same key brings the message back, and it is brought up to date."""
    reply = MemoryReply(clock)
    async with live(reply) as before:
        before.show("Hello")
        await clock.settle()
    async with live(reply, posts=()) as answer:
        await answer.finish("Hello there", State.FINAL)
    assert reply.screen.texts == ["Hello there"]


@pytest.mark.parametrize(("remembers", "texts"), [(True, ["Hello there"]), (False, ["Hello", "Hello there"])])
async def test_a_message_of_which_nobody_knows_is_sent_again_and_counted(
    clock: ManualClock, live: Live, caplog: pytest.LogCaptureFixture, remembers: bool, texts: list[str]
) -> None:
    """Killed in the middle of the call: where the platform does not know the key, a copy may stay."""
    reply = MemoryReply(clock, remembers=remembers)
    async with live(reply) as before:
        before.show("Hello")
        await clock.settle()
    async with live(reply, posts=[None]) as answer:
        await answer.finish("Hello there", State.FINAL)
        assert answer.ambiguous_sends == 1
    assert reply.screen.texts == texts
    assert caplog.messages == ["memory: 1 send got no answer and was sent again"]


async def test_only_the_missing_part_is_sent_after_a_restart(clock: ManualClock, live: Live) -> None:
    """The first one is acknowledged once more where it stands."""
    reply = MemoryReply(clock, limits(size=200))
    text = "".join(WORDS[:40])
    reply.inject("send", NO_MISHAP, Mishap(Unreachable("502")))
    async with live(reply) as before:
        before.show(text)
        await clock.settle()
    assert len(reply.screen.texts) == 1
    async with live(reply, posts=["0"]) as answer:
        await answer.finish(text, State.FINAL)
    assert len(reply.made("send")) == len(reply.screen.texts) + 1
    assert " ".join(reply.screen.texts).split() == text.split()
    assert answer.ambiguous_sends == 0
