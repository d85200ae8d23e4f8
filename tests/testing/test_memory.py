"""The platform in memory behaves like one."""

import asyncio

import pytest

from clawdbot.chat import File, Frame, Rate, State
from clawdbot.errors import Gone, Limited, Rejected, Unreachable, Unsure
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.memory import Call, MemoryReply, Mishap, Seen, limits

HELLO = Frame("Hello", State.STREAMING)
DONE = Frame("Hello there", State.FINAL)


async def test_screen_keeps_every_state_with_its_time(clock: ManualClock) -> None:
    reply = MemoryReply(clock)
    start = clock.now()
    post = await reply.send(HELLO, "k-0")
    await clock.advance(1.5)
    await post.edit(DONE)
    assert reply.screen.history == [
        Seen(start, 0, "Hello", State.STREAMING),
        Seen(start + 1.5, 0, "Hello there", State.FINAL),
    ]
    assert reply.screen.texts == ["Hello there"]
    assert [call.method for call in reply.calls] == ["send", "edit"]


async def test_post_is_brought_back_by_its_ref(clock: ManualClock) -> None:
    reply = MemoryReply(clock)
    await reply.send(HELLO, "k-0")
    second = await reply.send(HELLO, "k-1")
    await reply.post(second.ref).edit(DONE)
    assert reply.screen.texts == ["Hello", "Hello there"]


@pytest.mark.parametrize(("remembers", "texts"), [(True, ["Hello"]), (False, ["Hello", "Hello there"])])
async def test_known_key_posts_no_second_message(clock: ManualClock, remembers: bool, texts: list[str]) -> None:
    """It brings the first one back, as it is, where the platform remembers keys."""
    reply = MemoryReply(clock, remembers=remembers)
    await reply.send(HELLO, "k-0")
    await reply.send(DONE, "k-0")
    assert reply.screen.texts == texts


@pytest.mark.parametrize("frame", [Frame(" \n", State.FINAL), Frame("x" * 11, State.FINAL)])
async def test_text_that_is_empty_or_too_long_is_rejected(clock: ManualClock, frame: Frame) -> None:
    reply = MemoryReply(clock, limits(size=10))
    with pytest.raises(Rejected):
        await reply.send(frame, "k-0")
    assert reply.screen.frames == []


async def test_file_needs_no_text(clock: ManualClock) -> None:
    reply = MemoryReply(clock)
    await reply.send(Frame("", State.FINAL, (File("a.png", b"png"),)), "k-0")
    assert len(reply.screen.frames) == 1


async def test_deleted_message_cannot_be_edited(clock: ManualClock) -> None:
    reply = MemoryReply(clock)
    post = await reply.send(HELLO, "k-0")
    reply.delete(0)
    with pytest.raises(Gone):
        await post.edit(DONE)


async def test_fault_raises_without_effect(clock: ManualClock) -> None:
    reply = MemoryReply(clock)
    reply.inject("send", Mishap(Unreachable("502")))
    with pytest.raises(Unreachable):
        await reply.send(HELLO, "k-0")
    assert reply.screen.frames == []


async def test_landed_fault_has_its_effect_and_raises(clock: ManualClock) -> None:
    reply = MemoryReply(clock)
    reply.inject("send", Mishap(Unsure("time-out"), landed=True))
    with pytest.raises(Unsure):
        await reply.send(HELLO, "k-0")
    assert reply.screen.texts == ["Hello"]


async def test_call_takes_its_time_before_and_after_its_effect(clock: ManualClock) -> None:
    reply = MemoryReply(clock)
    reply.inject("send", Mishap(delay=1.0, hold=2.0))
    start = clock.now()
    sending = asyncio.create_task(reply.send(HELLO, "k-0"))
    await clock.advance(2.0)
    under_way = reply.in_flight
    await clock.advance(1.0)
    assert under_way == 1
    assert sending.done()
    assert reply.screen.history[0].at == start + 1.0


async def test_calls_during_a_wait_are_refused_and_kept(clock: ManualClock) -> None:
    """A refusal holds for its bucket; with `everywhere` for all of them."""
    reply = MemoryReply(clock)
    reply.inject("edit", Mishap(Limited(10.0)))
    post = await reply.send(HELLO, "k-0")
    for _ in range(2):
        with pytest.raises(Limited):
            await post.edit(DONE)
        await clock.advance(4.0)
    await reply.typing()
    assert [call.method for call in reply.early] == ["edit"]


async def test_refusal_everywhere_holds_for_typing_too(clock: ManualClock) -> None:
    reply = MemoryReply(clock)
    reply.inject("send", Mishap(Limited(10.0, everywhere=True)))
    with pytest.raises(Limited):
        await reply.send(HELLO, "k-0")
    with pytest.raises(Limited):
        await reply.typing()


async def test_faults_can_be_decided_call_by_call(clock: ManualClock) -> None:
    def first_only(call: Call) -> Mishap:
        return Mishap(Unreachable("502") if len(reply.calls) == 1 else None)

    reply = MemoryReply(clock, faults=first_only)
    with pytest.raises(Unreachable):
        await reply.send(HELLO, "k-0")
    await reply.send(HELLO, "k-0")
    assert reply.screen.texts == ["Hello"]


def test_limits_are_apart_or_shared() -> None:
    apart, shared = limits(place=(Rate(5, 5.0),)), limits(shared=True)
    assert apart.sends.key != apart.edits.key
    assert shared.sends == shared.edits == shared.typing
