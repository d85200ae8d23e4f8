"""How an answer grows where the platform has drafts: on the screen like a message, but none until it lasts."""

from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from itertools import pairwise
from math import inf
from typing import Any

import pytest

from clawdbot.chat import Bucket, Drafts, Frame, Pace, Rate, State
from clawdbot.delivery.live import LiveReply
from clawdbot.delivery.outbox import Journal
from clawdbot.errors import DeliveryError, Gone, Limited, Rejected, Unreachable, Unsure
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.memory import MemoryPost, MemoryReply, Mishap, limits

Live = Callable[..., LiveReply]
Play = Callable[..., Awaitable[None]]
Speak = Callable[..., Coroutine[Any, Any, None]]

WORDS = [f"word{number} " for number in range(400)]
EDITS = Pace(first=(0.4, 0.8), by_age=((0.0, 1.0),))
DRAFTS = Drafts(Bucket("memory:drafts", (Rate(1000, 1.0),)), Pace(first=(0.4,), by_age=((0.0, 0.75),)), renew=20.0)


class DraftingReply(MemoryReply):
    """A reply in memory with drafts. Each next one meets one of ``troubles``; `Rejected` ends them all."""

    def __init__(self, clock: ManualClock, *troubles: DeliveryError | None, size: int = 10_000) -> None:
        super().__init__(clock, limits(size=size, pace=EDITS, shared=True))
        self.drafts: Drafts | None = DRAFTS
        self.drafted: list[tuple[float, str]] = []
        """When each draft was tried, seconds since the reply was made, and what it showed."""
        self.seen: Frame | None = None
        """The draft on the screen."""
        self.made_at = clock.now()
        self._troubles = deque(troubles)

    @property
    def age(self) -> float:
        return round(self._clock.now() - self.made_at, 3)

    async def draft(self, frame: Frame) -> None:
        self.drafted.append((self.age, frame.text))
        trouble = self._troubles.popleft() if self._troubles else None
        if isinstance(trouble, Rejected):
            self.drafts = None
        if trouble is not None:
            raise trouble
        self.seen = frame

    async def send(self, frame: Frame, key: str) -> MemoryPost:
        post = await super().send(frame, key)
        self.seen = None
        return post

    def called(self) -> list[float]:
        """When anything was called there."""
        return sorted([*(at for at, _ in self.drafted), *(round(call.at - self.made_at, 3) for call in self.calls)])


async def test_an_answer_grows_in_drafts_and_lasts_as_one_message(clock: ManualClock, play: Play, speak: Speak) -> None:
    reply = DraftingReply(clock)
    await play(speak(reply, WORDS))
    texts = [text for _, text in reply.drafted]
    assert len(texts) > 5
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    assert reply.screen.seen() == ["".join(WORDS).strip()]
    assert reply.seen is None


async def test_drafts_have_a_pace_of_their_own(clock: ManualClock, play: Play, speak: Speak) -> None:
    reply = DraftingReply(clock)
    await play(speak(reply, WORDS))
    first, second, *others = (later - earlier for (earlier, _), (later, _) in pairwise(reply.drafted))
    assert first == pytest.approx(0.4)
    assert [second, *others] == pytest.approx([0.75] * (len(others) + 1))


async def test_a_draft_counts_as_the_first_word(clock: ManualClock, live: Live) -> None:
    reply = DraftingReply(clock)
    async with live(reply) as answer:
        answer.show("Hello")
        await clock.settle()
        assert answer.first_visible == clock.now()
        assert (reply.seen, reply.screen.texts) == (Frame("Hello", State.STREAMING), [])


async def test_one_that_does_not_change_is_shown_again_before_it_disappears(clock: ManualClock, live: Live) -> None:
    reply = DraftingReply(clock)
    async with live(reply) as answer:
        answer.show("Hello")
        await clock.advance(65.0)
        assert [at for at, _ in reply.drafted] == [0.0, 20.0, 40.0, 60.0]


async def test_new_text_does_not_wait_for_that(clock: ManualClock, live: Live) -> None:
    reply = DraftingReply(clock)
    async with live(reply) as answer:
        answer.show("Hello")
        await clock.advance(9.0)
        answer.show("Hello again")
        await clock.settle()
        assert reply.drafted == [(0.0, "Hello"), (9.0, "Hello again")]


async def test_a_notice_is_a_draft_too(clock: ManualClock, live: Live, play: Play) -> None:
    """So that nothing is left of it."""
    reply = DraftingReply(clock)
    async with live(reply) as answer:
        answer.wait("In line.")
        await clock.advance(1.0)
        assert reply.seen == Frame("In line.", State.WAITING)
        answer.show("Hello")
        await play(answer.finish("Hello.", State.FINAL))
    assert reply.screen.seen() == ["Hello."]


async def test_a_notice_that_is_over_is_left_to_disappear(clock: ManualClock, live: Live) -> None:
    reply = DraftingReply(clock)
    async with live(reply) as answer:
        answer.wait("In line.")
        await clock.advance(1.5)
        answer.wait("")
        await clock.advance(60.0)
        assert reply.drafted == [(1.0, "In line.")]


async def test_a_notice_that_goes_on_is_shown_again(clock: ManualClock, live: Live) -> None:
    reply = DraftingReply(clock)
    async with live(reply) as answer:
        answer.wait("In line.")
        await clock.advance(45.0)
        assert [at for at, _ in reply.drafted] == [1.0, 21.0, 41.0]


async def test_what_an_answer_has_outgrown_becomes_a_message(clock: ManualClock, live: Live) -> None:
    """Its end goes on as a draft."""
    reply = DraftingReply(clock, size=30)
    async with live(reply) as answer:
        answer.show("The first part is this one.")
        await clock.advance(1.0)
        answer.show("The first part is this one.\n\nThe second one is here.")
        await clock.advance(2.0)
        assert reply.screen.texts == ["The first part is this one."]
        assert reply.seen == Frame("The second one is here.", State.STREAMING)


@pytest.mark.parametrize("after", [0, 1, 4])
async def test_a_refused_draft_leaves_edits_at_their_own_pace(
    clock: ManualClock, play: Play, speak: Speak, after: int
) -> None:
    """Never faster ones: a bot that went on at the drafts' pace would be shut out for minutes, with the final text."""
    plain = MemoryReply(clock, limits(size=10_000, pace=EDITS, shared=True))
    await play(speak(plain, WORDS))
    usual = [later.at - earlier.at for earlier, later in pairwise(plain.calls[:-1])]
    reply = DraftingReply(clock, *[None] * after, Rejected("no drafts here"))
    await play(speak(reply, WORDS))
    assert len(reply.drafted) == after + 1
    shown = [reply.drafted[-1][0], *(call.at - reply.made_at for call in reply.calls[:-1])]
    gaps = [later - earlier for earlier, later in pairwise(shown)]
    assert len(gaps) > 4
    assert all(gap >= wanted - 1e-3 for gap, wanted in zip(gaps, usual[after:], strict=False))
    assert reply.screen.texts == plain.screen.texts


@pytest.mark.parametrize("seconds", [3.0, 280.0])
async def test_a_draft_that_has_to_wait_closes_the_place(
    clock: ManualClock, play: Play, speak: Speak, seconds: float
) -> None:
    """No other draft, no message, no typing until the wait is over; then the answer arrives."""
    reply = DraftingReply(clock, Limited(seconds))
    await play(speak(reply, WORDS))
    assert [at for at in reply.called() if 0.0 < at < seconds] == []
    assert reply.screen.texts == ["".join(WORDS).strip()]


async def test_a_place_that_has_to_wait_takes_no_drafts(clock: ManualClock, live: Live, play: Play) -> None:
    told, asked = DraftingReply(clock), DraftingReply(clock)
    told.inject("send", Mishap(Limited(30.0)))
    async with live(told) as notice, live(asked) as answer:
        first = notice.finish("Help", State.FINAL)
        answer.show("Hello")

        async def wait() -> None:
            await first

        await play(wait())
    assert all(at == 0.0 or at >= 30.0 for at in asked.called())
    assert told.screen.texts == ["Help"]


@pytest.mark.parametrize("trouble", [Unreachable("502"), Unsure("no answer")])
async def test_a_lost_draft_is_a_dropped_frame(
    clock: ManualClock, play: Play, speak: Speak, live: Live, trouble: DeliveryError
) -> None:
    reply = DraftingReply(clock, trouble)
    async with live(reply) as answer:
        answer.show("Hello")
        await clock.advance(0.5)
        await play(answer.finish("Hello.", State.FINAL))
        assert answer.ambiguous_sends == 0
    assert [at for at, _ in reply.drafted] == [0.0, 0.4]
    assert reply.screen.seen() == ["Hello."]


async def test_where_nobody_can_read_it_the_answer_is_lost(clock: ManualClock, live: Live) -> None:
    reply = DraftingReply(clock, Gone("chat not found"))
    async with live(reply) as answer:
        answer.show("Hello")
        await clock.settle()
        assert answer.lost is not None


async def test_a_crash_leaves_nothing_to_take_up(clock: ManualClock, live: Live) -> None:
    """The draft disappears by itself, so the next start finds a question without an answer."""

    class Noting:
        def __init__(self) -> None:
            self.notes: list[str] = []

        async def begin(self, parts: int) -> None:
            self.notes.append("begin")

        async def posted(self, part: int, post: str) -> None:
            self.notes.append("posted")

        async def refused(self, parts: int, seconds: float) -> None:
            self.notes.append("refused")

    journal = Noting()
    noted: Journal = journal
    async with live(DraftingReply(clock), journal=noted) as answer:
        answer.show("Hello")
        await clock.advance(10.0)
    assert journal.notes == []


async def test_what_was_a_message_before_a_restart_grows_by_edits(clock: ManualClock, live: Live, play: Play) -> None:
    reply = DraftingReply(clock)
    begun = await reply.send(Frame("Hel", State.STREAMING), "k-0")
    async with live(reply, posts=[begun.ref]) as answer:
        for count in range(1, 30):
            answer.show("Hello " * count)
            await clock.advance(0.5)
        await play(answer.finish("Hello", State.FINAL))
    assert reply.drafted == []
    edits = [call.at for call in reply.made("edit")][:-1]
    assert min((later - earlier for earlier, later in pairwise(edits[2:])), default=inf) >= 1.0
