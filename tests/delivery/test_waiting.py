"""What is shown while there is no text: nothing, then "typing", then a notice that tells the truth."""

import asyncio
from collections.abc import Callable

import pytest

from clawdbot.chat import Rate, State
from clawdbot.delivery.live import LiveReply
from clawdbot.errors import Limited, Unreachable
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.memory import MemoryReply, Mishap, limits

Live = Callable[..., LiveReply]


async def test_quick_answer_has_neither_typing_nor_notice(clock: ManualClock, live: Live) -> None:
    reply = MemoryReply(clock)
    async with live(reply) as answer:
        answer.wait("2 before you")
        await clock.advance(0.45)
        answer.show("Hello")
        await clock.advance(20.0)
    assert [call.method for call in reply.calls] == ["send"]


async def test_notice_comes_after_a_second_and_its_message_becomes_the_answer(clock: ManualClock, live: Live) -> None:
    reply = MemoryReply(clock)
    start = clock.now()
    async with live(reply) as answer:
        answer.wait("2 before you")
        await clock.advance(1.5)
        answer.show("Hello")
        await clock.settle()
    history = [(state.at - start, state.part, state.text, state.state) for state in reply.screen.history]
    assert history == [(1.0, 0, "2 before you", State.WAITING), (1.5, 0, "Hello", State.STREAMING)]
    assert answer.first_visible == start + 1.5


async def test_wait_that_is_over_needs_no_notice(clock: ManualClock, live: Live) -> None:
    """The question was admitted after half a second; the model only has not spoken yet."""
    reply = MemoryReply(clock, limits(shared=True, place=(Rate(1, 1.0),)))
    async with live(reply) as answer:
        answer.wait("2 before you")
        await clock.advance(0.5)
        answer.wait("")
        await clock.advance(5.0)
    assert reply.calls == []


async def test_changed_notice_is_shown_slowly(clock: ManualClock, live: Live) -> None:
    """A position in a queue that changes every 0.1 s is no reason for ten edits a second."""
    reply = MemoryReply(clock)
    async with live(reply) as answer:
        for before in range(100, 0, -1):
            answer.wait(f"{before} before you")
            await clock.advance(0.1)
    assert len(reply.made("send")) == 1
    assert len(reply.made("edit")) == 3


async def test_notice_and_typing_leave_a_place_for_the_first_text(clock: ManualClock, live: Live) -> None:
    """In a chat that allows two calls in 10 s the first text finds the second place."""
    reply = MemoryReply(clock, limits(shared=True, place=(Rate(2, 10.0),)))
    async with live(reply) as answer:
        answer.wait("2 before you")
        await clock.advance(3.0)
        answer.show("Hello")
        await clock.settle()
        assert reply.screen.texts == ["Hello"]
    assert len(reply.calls) == 2


async def test_only_place_of_a_bucket_is_the_first_texts(clock: ManualClock, live: Live) -> None:
    """Where there is room for one call there is none for a notice, however long the wait."""
    reply = MemoryReply(clock, limits(shared=True, place=(Rate(1, 10.0),)))
    async with live(reply) as answer:
        answer.wait("2 before you")
        await clock.advance(30.0)
        answer.show("Hello")
        await clock.settle()
        assert [call.method for call in reply.calls] == ["send"]


async def test_failure_takes_the_place_of_the_notice(clock: ManualClock, live: Live) -> None:
    reply = MemoryReply(clock)
    async with live(reply) as answer:
        answer.wait("The model is being loaded")
        await clock.advance(2.0)
        await answer.finish("The model could not be loaded.", State.FAILED)
    assert reply.screen.texts == ["The model could not be loaded."]
    assert (answer.first_showable, answer.first_visible) == (None, None)


async def test_text_during_the_notices_call_counts_as_first_text(clock: ManualClock, live: Live) -> None:
    """The notice is not taken for the first visible text."""
    reply = MemoryReply(clock)
    reply.inject("send", Mishap(delay=1.0))
    start = clock.now()
    async with live(reply) as answer:
        answer.wait("2 before you")
        await clock.advance(1.5)
        answer.show("Hello")
        await clock.advance(1.0)
        assert answer.first_visible == start + 2.0
        assert reply.screen.seen() == ["2 before you", "Hello"]


async def test_typing_is_shown_and_renewed_until_text_comes(clock: ManualClock, live: Live) -> None:
    reply = MemoryReply(clock)
    start = clock.now()
    async with live(reply) as answer:
        await clock.advance(9.0)
        answer.show("Hello")
        await clock.advance(20.0)
        await answer.finish("Hello", State.FINAL)
    await clock.advance(20.0)
    assert [call.at - start for call in reply.made("typing")] == [0.5, 4.5, 8.5]


async def test_typing_waits_longer_where_it_spends_the_first_texts_budget(clock: ManualClock, live: Live) -> None:
    reply = MemoryReply(clock, limits(shared=True))
    start = clock.now()
    async with live(reply):
        await clock.advance(2.0)
    assert [call.at - start for call in reply.made("typing")] == [1.0]


async def test_refused_typing_is_left_alone_for_as_long_as_the_platform_says(clock: ManualClock, live: Live) -> None:
    reply = MemoryReply(clock)
    reply.inject("typing", Mishap(Limited(60.0)))
    start = clock.now()
    async with live(reply):
        await clock.advance(70.0)
    assert [call.at - start for call in reply.made("typing")][:2] == [0.5, 60.5]
    assert reply.early == []


@pytest.mark.parametrize("state", [State.FINAL, State.STOPPED, State.FAILED])
async def test_typing_never_outlives_the_answer(clock: ManualClock, live: Live, state: State) -> None:
    """Not after errors, stops and empty answers either."""
    reply = MemoryReply(clock)
    async with live(reply) as answer:
        await clock.advance(5.0)
        await answer.finish("", state)
        typed = len(reply.made("typing"))
    await clock.advance(30.0)
    assert len(reply.made("typing")) == typed == 2


async def test_typing_is_over_while_the_last_word_waits(clock: ManualClock, live: Live) -> None:
    """Nothing more is being written when the sentence that says so is refused for a while."""
    reply = MemoryReply(clock)
    reply.inject("send", Mishap(Limited(30.0)))
    async with live(reply) as answer:
        finishing = asyncio.create_task(answer.finish("The model could not be loaded.", State.FAILED))
        await clock.advance(31.0)
        assert finishing.done()
    assert reply.made("typing") == []


async def test_typing_ends_with_a_cancelled_owner(clock: ManualClock, live: Live) -> None:
    reply = MemoryReply(clock)

    async def own() -> None:
        async with live(reply):
            await clock.sleep(3600)

    owner = asyncio.create_task(own())
    await clock.advance(5.0)
    owner.cancel()
    await clock.advance(30.0)
    assert owner.cancelled()
    assert len(reply.made("typing")) == 2


async def test_hanging_typing_does_not_delay_the_first_text(clock: ManualClock, live: Live) -> None:
    reply = MemoryReply(clock)
    reply.inject("typing", Mishap(Unreachable("502"), delay=8.0))
    async with live(reply) as answer:
        await clock.advance(1.0)
        answer.show("Hello")
        await clock.settle()
        assert reply.screen.texts == ["Hello"]
        await clock.advance(8.0)
