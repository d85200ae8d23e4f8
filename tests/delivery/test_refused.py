"""A finished text that the platform does not take, and messages that somebody removes."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from clawdbot.chat import File, Frame, State
from clawdbot.delivery.live import LiveReply
from clawdbot.errors import DeliveryError, Forbidden, Gone, Moved, Rejected
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.memory import NO_MISHAP, Call, MemoryReply, Mishap, limits
from clawdbot.words import CUT_OFF, FAILED, INTERRUPTED_MARK, NOT_TAKEN

Live = Callable[..., LiveReply]
Play = Callable[..., Awaitable[None]]

NEVER = Mishap(Rejected("never"))
TEXT = "Hello there, this is all of it."


async def test_a_text_that_is_refused_comes_as_a_file(clock: ManualClock, live: Live) -> None:
    """In the message that was begun: the last growing frame must not stay as if it were the answer."""
    reply = MemoryReply(clock)
    reply.inject("edit", NEVER)
    async with live(reply) as answer:
        answer.show("Hello")
        await clock.settle()
        await answer.finish(f"<think>Hm</think>{TEXT}", State.FINAL)
        assert answer.complete is not None
    assert reply.screen.frames == [Frame(NOT_TAKEN, State.FINAL, (File("answer.md", TEXT.encode()),))]


async def test_a_later_part_that_is_refused_leaves_the_earlier_ones(clock: ManualClock, live: Live) -> None:
    """They are shown already; the file has all of it."""
    reply = MemoryReply(clock, limits(size=400))
    text = " ".join(f"{number:04d}" for number in range(120))
    reply.inject("send", NO_MISHAP, NEVER)
    async with live(reply) as answer:
        await answer.finish(text, State.STOPPED)
    first, note = reply.screen.frames
    assert text.startswith(first.text)
    assert note == Frame(NOT_TAKEN, State.STOPPED, (File("answer.md", text.encode()),))


@pytest.mark.parametrize("error", [Rejected("never"), Forbidden("no files here")])
async def test_where_no_file_is_taken_what_is_shown_is_said_to_be_cut_off(
    clock: ManualClock, live: Live, error: DeliveryError
) -> None:
    """Without a control, for going on would end there again; and whoever waits for the answer is told."""
    reply = MemoryReply(clock)
    reply.inject("edit", NEVER, Mishap(error))
    async with live(reply) as answer:
        answer.show("Hello")
        await clock.settle()
        with pytest.raises(type(error)):
            await answer.finish(TEXT, State.FINAL)
        assert answer.complete is None
    assert reply.screen.frames == [Frame(f"Hello\n\n{CUT_OFF}", State.FAILED)]


async def test_where_nothing_else_is_taken_a_fixed_sentence_is(clock: ManualClock, live: Live) -> None:
    """Nothing of the text is shown, so nothing can look finished."""
    reply = MemoryReply(clock)
    reply.inject("edit", *[NEVER] * 3)
    async with live(reply) as answer:
        answer.show("Hello")
        await clock.settle()
        with pytest.raises(Rejected):
            await answer.finish(TEXT, State.FINAL)
    assert reply.screen.frames == [Frame(CUT_OFF, State.FAILED)]


async def test_nothing_is_tried_for_ever(clock: ManualClock, live: Live) -> None:
    """Then the platform has had its last word."""
    reply = MemoryReply(clock, faults=lambda call: NEVER)
    async with live(reply) as answer:
        with pytest.raises(Rejected):
            await answer.finish(TEXT, State.FINAL)
    assert len(reply.calls) == 3
    assert reply.screen.texts == []


async def test_a_chart_that_is_refused_is_no_reason_to_say_nothing(clock: ManualClock, live: Live) -> None:
    """The bot may write there, only files are forbidden."""
    reply = MemoryReply(clock)
    reply.inject("send", Mishap(Forbidden("no files here")))
    async with live(reply) as answer:
        with pytest.raises(Forbidden):
            await answer.finish("Latency", State.FINAL, (File("latency.png", b"png"),), private=True)
    assert reply.screen.frames == [Frame(CUT_OFF, State.FAILED, private=True)]


async def test_a_later_word_is_not_refused_for_an_earlier_one(clock: ManualClock, live: Live, play: Play) -> None:
    """While the platform thinks about the finished text, another one takes its place."""
    reply = MemoryReply(clock)
    reply.inject("edit", Mishap(Rejected("never"), delay=2.0))

    async def own() -> None:
        async with live(reply) as answer:
            answer.show("Hello")
            await clock.sleep(0.1)
            async with asyncio.TaskGroup() as group:
                group.create_task(answer.finish(TEXT, State.FINAL))
                await clock.sleep(1.0)
                group.create_task(answer.finish("", State.FAILED))

    await play(own())
    assert reply.screen.frames == [Frame(FAILED, State.FAILED)]


async def test_a_removed_message_does_not_hold_up_the_finished_text(clock: ManualClock, live: Live) -> None:
    """What of it was there is gone by somebody's will; the rest is brought to its end."""
    reply = MemoryReply(clock, limits(size=400))
    text = " ".join(f"{number:04d}" for number in range(120))
    async with live(reply) as answer:
        answer.show(text)
        await clock.advance(2.0)
        reply.delete(0)
        with pytest.raises(Gone):
            await answer.finish("1 " + text, State.INTERRUPTED)
    assert reply.screen.states[-1] is State.INTERRUPTED
    assert reply.screen.texts[-1].endswith(INTERRUPTED_MARK)


async def test_what_is_refused_behind_a_move_is_the_message_that_was_sent_there(
    clock: ManualClock, live: Live, play: Play
) -> None:
    """The last message was to be changed, the group has moved, and there the first one is sent: it is refused."""
    text = " ".join(f"{number:04d}" for number in range(120))

    def faults(call: Call) -> Mishap:
        if call.method == "edit" and call.part < 2:
            return Mishap(Moved(-1001))
        moved = len(reply.screen.frames) >= 2
        return NEVER if moved and call.frame is not None and call.frame.text.startswith("0000") else NO_MISHAP

    reply = MemoryReply(clock, limits(size=400), remembers=False, faults=faults)

    async def own() -> None:
        async with live(reply) as answer:
            answer.show(text)
            await clock.sleep(0.1)
            await answer.finish(text, State.FINAL)

    await play(own())
    assert reply.screen.frames[2:] == [Frame(NOT_TAKEN, State.FINAL, (File("answer.md", text.encode()),))]
