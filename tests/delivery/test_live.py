"""What a reader sees of an answer while it grows."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from clawdbot.chat import Pace, Rate, State
from clawdbot.delivery.live import LiveReply
from clawdbot.delivery.pace import Budgets
from clawdbot.errors import Forbidden, Gone, Limited, Rejected, Unreachable, Unsure
from clawdbot.testing.clock import ManualAlarm, ManualClock
from clawdbot.testing.memory import NO_MISHAP, MemoryReply, Mishap, limits

Live = Callable[..., LiveReply]
Play = Callable[..., Awaitable[None]]
Speak = Callable[..., Coroutine[Any, Any, None]]

WORDS = [f"word{number} " for number in range(400)]
FIVE_IN_FIVE = (Rate(5, 5.0),)
QUICK_START = Pace(first=(0.4, 0.6, 0.9), by_age=((0.0, 1.25),))


def times(reply: MemoryReply, start: float) -> list[float]:
    """When each state became visible, seconds after ``start``."""
    return [round(state.at - start, 3) for state in reply.screen.history]


async def test_first_text_is_shown_at_once(clock: ManualClock, live: Live) -> None:
    """The first text that a reader can read does not wait for anything, not even for a turn of the clock."""
    reply = MemoryReply(clock)
    async with live(reply) as answer:
        answer.show("Hi")
        await clock.settle()
        assert reply.screen.texts == ["Hi"]
        assert answer.first_showable == answer.first_visible == clock.now()


async def test_first_text_is_not_a_single_letter(clock: ManualClock, live: Live) -> None:
    """One character makes a poor push message: it waits for the next token."""
    reply = MemoryReply(clock)
    async with live(reply) as answer:
        answer.show("I")
        await clock.advance(0.1)
        answer.show("I am")
        await clock.settle()
        assert reply.screen.seen() == ["I am"]


async def test_single_letter_is_shown_when_nothing_follows_it(clock: ManualClock, live: Live) -> None:
    """It waits 120 ms at most."""
    reply = MemoryReply(clock)
    async with live(reply) as answer:
        answer.show("I")
        await clock.advance(0.119)
        before = reply.screen.texts
        await clock.advance(0.002)
        assert (before, reply.screen.texts) == ([], ["I"])


@pytest.mark.parametrize("text", ["", "  \n", "**", "```python\n", "> ", "- ", "<think>Let me see", "<thi"])
async def test_text_that_shows_nothing_is_not_sent(clock: ManualClock, live: Live, text: str) -> None:
    reply = MemoryReply(clock)
    async with live(reply) as answer:
        answer.show(text)
        await clock.advance(0.4)
        assert reply.calls == []


async def test_frames_follow_the_pace(clock: ManualClock, play: Play, speak: Speak) -> None:
    """The second frame comes early, the later ones as the platform's pace says, the last when the answer ends."""
    reply = MemoryReply(clock, limits(size=10_000))
    start = clock.now()
    await play(speak(reply, WORDS[:100]))
    assert times(reply, start) == [0.0, 0.4, 1.0, 2.0, 2.5]


async def test_text_is_not_laid_out_while_the_bot_has_no_room(clock: ManualClock, live: Live) -> None:
    """A thousand answers that wait for a few places a second must not be drawn for every place that comes back."""
    drawn: list[str] = []

    def fits(text: str) -> bool:
        drawn.append(text)
        return True

    allowed = replace(limits(bot=(Rate(1, 30.0),)), fits=fits)
    first, second = MemoryReply(clock, allowed), MemoryReply(clock, allowed)
    async with live(first, key="a") as one, live(second, key="b") as other:
        one.show("Hello")
        await clock.settle()
        drawn.clear()
        other.show("Good evening")
        await clock.advance(29.0)
        before = list(drawn)
        await clock.advance(2.0)
    assert before == []
    assert second.screen.texts == ["Good evening"]


async def test_delays_of_a_busy_machine_do_not_add_up() -> None:
    """Each frame comes 50 ms later than the pace says, none two times that: twelve take twelve seconds."""

    class BusyClock(ManualClock):
        def alarm(self, seconds: float, ring: Callable[[], None]) -> ManualAlarm:
            return super().alarm(seconds + 0.05, ring)

    busy = BusyClock()
    reply = MemoryReply(busy, limits(size=10_000, pace=Pace(first=(), by_age=((0.0, 1.0),))))
    async with LiveReply(reply, key="k", budgets=Budgets(), clock=busy) as answer:
        start = busy.now()
        for count in range(1, 260):
            answer.show("".join(WORDS[:count]))
            await busy.advance(0.05)
    assert [round(at, 2) for at in times(reply, start)[:13]] == [0.0, *(second + 0.05 for second in range(1, 13))]


async def test_quick_beginning_is_not_paid_for_with_a_long_stop(clock: ManualClock, play: Play, speak: Speak) -> None:
    """In a bucket of five in five seconds: early frames first, then an even pace, and the final does not wait."""
    reply = MemoryReply(clock, limits(size=10_000, place=FIVE_IN_FIVE, pace=QUICK_START))
    start = clock.now()
    await play(speak(reply, WORDS))
    seen = times(reply, start)
    assert seen[:6] == [0.0, 0.4, 1.0, 1.9, 3.15, 4.4]
    assert max(later - earlier for earlier, later in pairwise(seen)) <= 1.26
    assert seen[-1] == 10.0


async def test_at_most_one_call_is_under_way(clock: ManualClock, play: Play, speak: Speak) -> None:
    """A model that is faster than the platform: the frames between are left out, edits end with the answer."""
    reply = MemoryReply(clock, limits(size=10_000), faults=lambda call: Mishap(delay=0.9))
    start = clock.now()
    await play(speak(reply, WORDS, rate=200.0))
    assert reply.most_in_flight == 1
    assert len(reply.calls) <= 4
    assert reply.calls[-1].at - start <= 2.0 + 0.9
    assert reply.screen.states == [State.FINAL]


async def test_tokens_never_wait_for_the_platform(clock: ManualClock, live: Live) -> None:
    """While a call hangs the newest text counts, and the next call shows it."""
    reply = MemoryReply(clock)
    reply.inject("send", Mishap(delay=5.0))
    async with live(reply) as answer:
        for count in range(1, 100):
            answer.show("".join(WORDS[:count]))
            await clock.advance(0.05)
        await clock.advance(1.0)
        assert reply.screen.seen() == ["word0", "".join(WORDS[:99]).rstrip()]


async def test_tokens_do_not_wake_the_writer_one_by_one(live: Live) -> None:
    """Between two frames it sleeps once, however many tokens come: many answers at once cost little."""

    class CountingClock(ManualClock):
        sleeps = 0

        def alarm(self, seconds: float, ring: Callable[[], None]) -> ManualAlarm:
            self.sleeps += 1
            return super().alarm(seconds, ring)

    clock = CountingClock()
    reply = MemoryReply(clock)
    async with live(reply, clock=clock) as answer:
        for count in range(1, 200):
            answer.show("".join(WORDS[:count]))
            await clock.advance(0.005)
        assert clock.sleeps <= 4


async def test_unsure_frame_is_not_taken_as_lost(clock: ManualClock, live: Live) -> None:
    """It may be on the screen: a text that was acknowledged before it is sent again to make sure."""
    reply = MemoryReply(clock)
    async with live(reply) as answer:
        answer.show("One")
        await clock.settle()
        reply.inject("edit", Mishap(Unsure("time-out"), landed=True))
        answer.show("One two")
        await clock.advance(0.5)
        answer.show("One")
        await clock.advance(1.0)
        assert reply.screen.seen() == ["One", "One two", "One"]


async def test_failing_frame_of_several_messages_is_not_hammered(clock: ManualClock, live: Live) -> None:
    """Each new try waits for the pace, whichever of the messages failed."""
    reply = MemoryReply(clock, limits(size=100))
    async with live(reply) as answer:
        answer.show("word0")
        await clock.settle()
        reply.inject("edit", *[Mishap(Unreachable("502"))] * 50)
        answer.show("".join(WORDS[:30]))
        await clock.advance(10.0)
    assert len(reply.made("edit")) <= 11


async def test_text_on_the_screen_is_not_sent_again(clock: ManualClock, live: Live) -> None:
    reply = MemoryReply(clock)
    async with live(reply) as answer:
        for _ in range(20):
            answer.show("Hello")
            await clock.advance(1.0)
        assert len(reply.made("send")) == 1
        assert reply.made("edit") == []


async def test_open_markdown_is_closed_for_display(clock: ManualClock, live: Live) -> None:
    """And the finished text is shown as it is."""
    reply = MemoryReply(clock)
    async with live(reply) as answer:
        answer.show("This is **bo")
        await clock.settle()
        growing = reply.screen.texts
        await answer.finish("This is **bo", State.FINAL)
        assert (growing, reply.screen.texts) == (["This is **bo**"], ["This is **bo"])


@pytest.mark.parametrize("error", [Unreachable("500"), Unsure("time-out"), Rejected("cannot parse"), Limited(0.5)])
async def test_frame_that_fails_is_dropped_and_the_next_one_shows_more(
    clock: ManualClock, live: Live, error: Exception
) -> None:
    reply = MemoryReply(clock)
    async with live(reply) as answer:
        answer.show("One")
        await clock.settle()
        reply.inject("edit", Mishap(error))  # type: ignore[arg-type]
        answer.show("One two")
        await clock.advance(0.4)
        answer.show("One two three")
        await clock.advance(1.0)
        assert reply.screen.seen() == ["One", "One two three"]


async def test_first_send_that_failed_is_repeated_with_its_key(clock: ManualClock, live: Live) -> None:
    """A send that may have landed is sent again; where the platform knows the key there is one message all the same."""
    reply = MemoryReply(clock)
    reply.inject("send", Mishap(Unsure("time-out"), landed=True))
    async with live(reply) as answer:
        answer.show("Hello")
        await clock.advance(0.5)
        answer.show("Hello there")
        await clock.advance(2.0)
        assert {call.key for call in reply.made("send")} == {"k-0"}
        assert reply.screen.texts == ["Hello there"]
        assert answer.ambiguous_sends == 1


async def test_nothing_goes_to_a_closed_bucket(clock: ManualClock, play: Play, speak: Speak) -> None:
    """While a chat is limited there is no call to it: no edits, no typing, no second message."""
    reply = MemoryReply(clock, limits(size=10_000, shared=True))
    reply.inject("edit", Mishap(Limited(30.0)))
    start = clock.now()
    await play(speak(reply, WORDS, rate=10.0))
    assert reply.early == []
    assert [call.at - start for call in reply.calls[:3]] == pytest.approx([0.0, 0.4, 30.4])


@pytest.mark.parametrize("error", [Gone("deleted"), Forbidden("blocked")])
async def test_lost_message_ends_the_calls(clock: ManualClock, live: Live, error: Exception) -> None:
    """Nobody can read on: the reply says so, and finishing raises the reason."""
    reply = MemoryReply(clock)
    reply.inject("edit", Mishap(error))  # type: ignore[arg-type]
    async with live(reply) as answer:
        for count in range(1, 100):
            answer.show("".join(WORDS[:count]))
            await clock.advance(0.1)
        assert answer.lost is error
        with pytest.raises(type(error)):
            await answer.finish("".join(WORDS[:100]), State.FINAL)
    assert len(reply.calls) == 2


async def test_long_text_grows_over_several_messages(clock: ManualClock, play: Play, speak: Speak) -> None:
    """9,000 characters: over all messages every word is there once, in order, and no message ever shrinks."""
    reply = MemoryReply(clock, limits(size=2000))
    words = [f"{number:05d} " for number in range(1500)]
    await play(speak(reply, words, rate=100.0))
    assert " ".join(reply.screen.texts).split() == [word.strip() for word in words]
    assert len(reply.screen.texts) == 5
    assert len({call.key for call in reply.made("send")}) == len(reply.made("send")) == 5


async def test_earlier_messages_are_left_alone_once_they_are_full(clock: ManualClock, play: Play, speak: Speak) -> None:
    reply = MemoryReply(clock, limits(size=2000))
    await play(speak(reply, WORDS, rate=40.0))
    first_of_second = next(seen.at for seen in reply.screen.history if seen.part == 1)
    assert [seen for seen in reply.screen.history if seen.part == 0 and seen.at > first_of_second] == []


async def test_only_the_last_message_carries_the_controls(clock: ManualClock, play: Play, speak: Speak) -> None:
    reply = MemoryReply(clock, limits(size=500))
    await play(speak(reply, WORDS[:200]))
    assert [frame.last for frame in reply.screen.frames] == [False] * (len(reply.screen.frames) - 1) + [True]


async def test_two_replies_share_a_bucket(clock: ManualClock, play: Play, speak: Speak) -> None:
    """Two answers in one Discord channel: together they keep its limit, and neither starves the other."""
    shared = limits(size=10_000, place=FIVE_IN_FIVE, pace=QUICK_START)
    one, other = MemoryReply(clock, shared), MemoryReply(clock, shared)
    start = clock.now()
    await play(speak(one, WORDS, key="a"), speak(other, WORDS, key="b"))
    edits = sorted(call.at for call in one.made("edit") + other.made("edit"))
    assert all(later - earlier >= 5.0 for earlier, later in zip(edits, edits[5:], strict=False))
    for reply in (one, other):
        assert max(later - earlier for earlier, later in pairwise(times(reply, start))) <= 3.8


async def test_finished_text_finds_a_place_in_a_busy_bucket(clock: ManualClock, play: Play, speak: Speak) -> None:
    """Growing frames of another answer leave a place of the bucket's window for it."""
    shared = limits(size=10_000, place=FIVE_IN_FIVE, pace=QUICK_START)
    one, other = MemoryReply(clock, shared), MemoryReply(clock, shared)
    start = clock.now()
    await play(speak(one, WORDS, key="a"), speak(other, WORDS[:120], key="b"))
    assert other.screen.history[-1].at - start == pytest.approx(3.0)
    assert other.screen.states == [State.FINAL]


async def test_other_chats_go_on_while_one_is_limited(clock: ManualClock, play: Play, speak: Speak) -> None:
    limited = MemoryReply(clock, limits(size=10_000, name="a"))
    limited.inject("edit", Mishap(Limited(280.0)))
    free = MemoryReply(clock, limits(size=10_000, name="b"))
    start = clock.now()
    await play(speak(limited, WORDS, key="a"), speak(free, WORDS, key="b"))
    assert free.screen.history[-1].at - start == pytest.approx(10.0)
    assert limited.screen.history[-1].at - start == pytest.approx(280.4)


async def test_refusal_of_the_whole_bot_holds_for_every_chat(clock: ManualClock, play: Play, speak: Speak) -> None:
    refused = MemoryReply(clock, limits(size=10_000, name="a"))
    refused.inject("edit", Mishap(Limited(20.0, everywhere=True)))
    other = MemoryReply(clock, limits(size=10_000, name="b"))
    start = clock.now()
    await play(speak(refused, WORDS, key="a"), speak(other, WORDS, key="b"))
    assert [call for call in refused.calls + other.calls if 0.41 < call.at - start < 20.39] == []


async def test_slow_edit_does_not_make_the_next_one_follow_at_once(clock: ManualClock, live: Live) -> None:
    """A library that sleeps inside a call is talking for the platform: the pace counts from the end of such a call."""
    reply = MemoryReply(clock)
    reply.inject("edit", Mishap(hold=4.0), NO_MISHAP)
    start = clock.now()
    async with live(reply) as answer:
        for count in range(1, 120):
            answer.show("".join(WORDS[:count]))
            await clock.advance(0.05)
    assert [round(call.at - start, 3) for call in reply.made("edit")][:2] == [0.4, 5.0]


async def test_cancelled_owner_never_cancels_a_call(clock: ManualClock, live: Live) -> None:
    """The call that is under way ends in its own time, and the block is left when it has."""
    reply = MemoryReply(clock)
    reply.inject("send", Mishap(delay=3.0))
    entered = asyncio.Event()

    async def own() -> None:
        async with live(reply) as answer:
            answer.show("Hello")
            entered.set()
            await clock.sleep(3600)

    owner = asyncio.create_task(own())
    await entered.wait()
    await clock.settle()
    owner.cancel()
    await clock.advance(2.9)
    waiting = not owner.done()
    await clock.advance(0.2)
    assert waiting
    assert owner.cancelled()
    assert reply.screen.texts == ["Hello"]


async def test_another_text_waits_for_a_call_that_hangs(clock: ManualClock, live: Live, play: Play) -> None:
    """An upload may take a minute: were the next text shown before it is over, the older one would land on top."""
    reply = MemoryReply(clock)
    reply.inject("edit", Mishap(delay=60.0))

    async def own() -> None:
        async with live(reply) as before:
            before.show("Hello")
            await clock.sleep(0.1)
            before.show("Hello there")
            await clock.sleep(1.0)
        async with live(reply, posts=["0"]) as answer:
            await answer.finish("Good morning", State.FINAL)

    await play(own())
    assert reply.screen.seen() == ["Hello", "Hello there", "Good morning"]


async def test_the_end_of_the_bot_waits_for_a_call_whose_answer_is_over(clock: ManualClock, live: Live) -> None:
    """It came while the call was waited for: what becomes of that is noted all the same, for the next start."""
    reply = MemoryReply(clock)
    reply.inject("send", Mishap(delay=9.0))

    async def own() -> None:
        async with live(reply) as answer:
            answer.show("Hello")
            await clock.sleep(1.0)

    owner = asyncio.create_task(own())
    await clock.advance(2.0)
    owner.cancel()
    await clock.advance(6.0)
    waiting = not owner.done()
    await clock.advance(2.0)
    assert waiting
    assert owner.cancelled()
    assert reply.screen.texts == ["Hello"]


async def test_call_that_never_returns_is_left_behind(
    clock: ManualClock, live: Live, caplog: pytest.LogCaptureFixture
) -> None:
    """At the end of the bot patience with it is limited; it is reported, still not cancelled."""
    reply = MemoryReply(clock)
    reply.inject("send", Mishap(delay=1000.0))
    entered = asyncio.Event()

    async def own() -> None:
        async with live(reply) as answer:
            answer.show("Hello")
            await clock.settle()
            entered.set()
            await clock.sleep(3600)

    owner = asyncio.create_task(own())
    await entered.wait()
    owner.cancel()
    await clock.advance(16.0)
    assert owner.done()
    assert "still under way" in caplog.text
    assert reply.in_flight == 1
    await clock.advance(1000.0)
    assert reply.screen.texts == ["Hello"]
