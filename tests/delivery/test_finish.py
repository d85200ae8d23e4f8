"""The finished text reaches the screen: nothing lost, nothing twice, whatever the platform does."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from clawdbot.chat import File, Frame, Rate, State
from clawdbot.delivery.live import LiveReply
from clawdbot.errors import DeliveryError, Forbidden, Gone, Limited, Unreachable, Unsure
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.memory import NO_MISHAP, Call, MemoryReply, Mishap, limits
from clawdbot.words import ATTACHED, EMPTY, FAILED, INTERRUPTED_MARK, STOPPED_MARK

Live = Callable[..., LiveReply]
Play = Callable[..., Awaitable[None]]
Speak = Callable[..., Coroutine[Any, Any, None]]

WORDS = [f"word{number} " for number in range(400)]


@pytest.mark.parametrize("wait", [3.0, 30.0, 280.0, 14_000.0])
async def test_refused_final_arrives_once_when_the_wait_is_over(
    clock: ManualClock, live: Live, play: Play, wait: float
) -> None:
    """The wait is taken as given: not capped, not halved, not doubled. No second copy, no call in between."""
    reply = MemoryReply(clock)
    reply.inject("edit", Mishap(Limited(wait)))
    start = clock.now()

    async def own() -> None:
        async with live(reply) as answer:
            answer.show("Hello")
            await clock.sleep(0.1)
            await answer.finish("Hello there", State.FINAL)
            assert answer.complete == clock.now()

    await play(own())
    assert [call.at - start for call in reply.made("edit")] == pytest.approx([0.1, 0.1 + wait])
    assert reply.screen.texts == ["Hello there"]
    assert reply.screen.states == [State.FINAL]
    assert reply.early == []


async def test_short_waits_are_not_drawn_out(clock: ManualClock, live: Live, play: Play) -> None:
    """However often the platform asks for a moment, it is given that moment and no more."""
    reply = MemoryReply(clock)
    reply.inject("send", *[Mishap(Limited(0.3))] * 8)
    start = clock.now()

    async def own() -> None:
        async with live(reply) as answer:
            await answer.finish("Hello", State.FINAL)

    await play(own())
    assert reply.screen.history[0].at - start == pytest.approx(2.4)


async def test_final_is_repeated_until_it_is_acknowledged(clock: ManualClock, live: Live, play: Play) -> None:
    """Faults of the network are tried again, at growing distances."""
    reply = MemoryReply(clock)
    faults: list[DeliveryError] = [Unreachable("502"), Unsure("time-out"), Unreachable("refused"), Limited(7.0)]
    reply.inject("edit", *map(Mishap, faults))

    async def own() -> None:
        async with live(reply) as answer:
            answer.show("Hello")
            await clock.sleep(0.1)
            await answer.finish("Hello there", State.FINAL)

    await play(own())
    assert len(reply.made("edit")) == 5
    assert reply.screen.texts == ["Hello there"]


async def test_unsure_edit_is_settled_by_the_same_edit(clock: ManualClock, live: Live, play: Play) -> None:
    """It may have landed, so only an acknowledgement of exactly this text ends the tries."""
    reply = MemoryReply(clock)
    reply.inject("edit", Mishap(Unsure("time-out"), landed=True))

    async def own() -> None:
        async with live(reply) as answer:
            answer.show("Hello")
            await clock.sleep(0.1)
            await answer.finish("Hello there", State.FINAL)

    await play(own())
    assert [call.frame for call in reply.made("edit")] == [Frame("Hello there", State.FINAL)] * 2


async def test_an_edit_that_lands_after_it_was_given_up_does_not_stay(
    clock: ManualClock, live: Live, play: Play
) -> None:
    """The platform was slow, the call was over for the bot, the finished text was there: then the older text came."""
    reply = MemoryReply(clock)
    reply.inject("edit", Mishap(Unsure("time-out"), delay=20.0, late=3.0))
    start = clock.now()

    async def own() -> None:
        async with live(reply) as answer:
            answer.show("Hello")
            await clock.sleep(0.1)
            answer.show("Hello there")
            await clock.sleep(20.5)
            await answer.finish("Hello there, Ada", State.FINAL)
            assert answer.complete is not None
            assert answer.complete - start == pytest.approx(20.6)

    await play(own())
    assert reply.screen.seen() == ["Hello", "Hello there, Ada", "Hello there", "Hello there, Ada"]


@pytest.mark.parametrize(("remembers", "messages"), [(True, 1), (False, 2)])
async def test_unsure_send_is_repeated_counted_and_told(
    clock: ManualClock, live: Live, play: Play, caplog: pytest.LogCaptureFixture, remembers: bool, messages: int
) -> None:
    """Where the platform knows the key nothing is doubled; elsewhere a part seen twice beats one never seen."""
    reply = MemoryReply(clock, remembers=remembers)
    reply.inject("send", Mishap(Unsure("time-out"), landed=True))

    async def own() -> None:
        async with live(reply) as answer:
            await answer.finish("Hello", State.FINAL)
            assert answer.ambiguous_sends == 1

    await play(own())
    assert reply.screen.texts == ["Hello"] * messages
    assert caplog.messages == ["memory: 1 send got no answer and was sent again"]


async def test_only_the_missing_part_is_sent_later(clock: ManualClock, live: Live, play: Play) -> None:
    """First part edited, second part's send refused: the answer is not complete until that part is there."""
    reply = MemoryReply(clock, limits(size=200))
    text = "".join(WORDS[:40])
    reply.inject("send", NO_MISHAP, Mishap(Limited(60.0)))
    start = clock.now()

    async def own() -> None:
        async with live(reply) as answer:
            answer.show("word0 wo")
            await clock.sleep(0.1)
            await answer.finish(text, State.FINAL)
            assert answer.complete is not None
            assert answer.complete - start == pytest.approx(60.1)

    await play(own())
    assert len(reply.made("edit")) == 1
    assert " ".join(reply.screen.texts).split() == text.split()


async def test_many_finished_texts_do_not_rush_into_one_place(clock: ManualClock, play: Play, live: Live) -> None:
    """Thirty answers that end at the same moment in one chat: each call is made when there is room for it, not before.

    Whoever calls all the same is refused thirty times, and Discord shuts out who is refused too often.
    """
    busy = limits(place=(Rate(5, 5.0),), shared=True)
    replies = [MemoryReply(clock, busy) for _ in range(30)]

    async def say(reply: MemoryReply) -> None:
        async with live(reply) as answer:
            await answer.finish("Hello", State.FINAL)

    await play(*map(say, replies))
    made = sorted(call.at for reply in replies for call in reply.calls)
    assert all(later - earlier >= 5.0 for earlier, later in zip(made, made[5:], strict=False))
    assert [reply.screen.texts for reply in replies] == [["Hello"]] * 30


@pytest.mark.parametrize("error", [Gone("deleted"), Forbidden("blocked")])
async def test_permanent_failure_is_raised_and_not_repeated(
    clock: ManualClock, live: Live, error: DeliveryError
) -> None:
    reply = MemoryReply(clock)
    reply.inject("send", Mishap(error))
    async with live(reply) as answer:
        with pytest.raises(type(error)):
            await answer.finish("Hello", State.FINAL)
        assert answer.complete is None
    assert len(reply.calls) == 1


@pytest.mark.parametrize(
    ("text", "state", "shown"),
    [
        ("Hello", State.FINAL, "Hello"),
        ("Hello", State.STOPPED, f"Hello\n\n{STOPPED_MARK}"),
        ("Hello", State.INTERRUPTED, f"Hello\n\n{INTERRUPTED_MARK}"),
        ("", State.STOPPED, STOPPED_MARK),
        ("", State.INTERRUPTED, INTERRUPTED_MARK),
        ("", State.FAILED, FAILED),
        ("The question is too long.", State.FAILED, "The question is too long."),
        ("", State.FINAL, EMPTY),
        ("```", State.FINAL, EMPTY),
        ("<think>Hm", State.FINAL, EMPTY),
        ("<think>Hm</think>\n\nHello", State.FINAL, "Hello"),
        ("```py\nx = 1", State.STOPPED, f"```py\nx = 1\n```\n\n{STOPPED_MARK}"),
    ],
)
async def test_state_is_told_by_the_text(clock: ManualClock, live: Live, text: str, state: State, shown: str) -> None:
    """A cut answer keeps what is shown and says that it was cut; an empty one is a sentence, never an empty message."""
    reply = MemoryReply(clock)
    async with live(reply) as answer:
        await answer.finish(text, state)
        assert reply.screen.frames == [Frame(shown, state)]
        assert answer.complete == clock.now()


async def test_mark_counts_in_the_length(clock: ManualClock, live: Live) -> None:
    """A text that just fits is split for its mark instead of being refused."""
    reply = MemoryReply(clock, limits(size=200))
    text = "".join(WORDS)[:199]
    async with live(reply) as answer:
        answer.show(text)
        await clock.settle()
        await answer.finish(text, State.STOPPED)
        assert "".join(reply.screen.texts).endswith(STOPPED_MARK)
        assert len(reply.screen.texts) == 2


async def test_where_a_reply_is_one_message_a_long_text_is_its_file(clock: ManualClock, live: Live) -> None:
    """A further one would be seen twice whenever its receipt got lost."""
    reply = MemoryReply(clock, replace(limits(size=200), messages=1))
    text = "".join(WORDS).strip()
    async with live(reply) as answer:
        await answer.finish(text, State.NOTICE)
    assert reply.screen.frames == [Frame(ATTACHED, State.NOTICE, (File("answer.md", text.encode()),))]


async def test_past_a_number_of_messages_the_rest_is_a_file(clock: ManualClock, live: Live) -> None:
    """60,000 characters do not become 31 messages; every character is there once, in the messages or in the file."""
    reply = MemoryReply(clock, limits(size=2000))
    text = " ".join(f"{number:05d}" for number in range(10_000))
    async with live(reply, most_parts=3) as answer:
        answer.show(text)
        await clock.advance(5.0)
        growing = list(reply.screen.texts)
        await answer.finish(text, State.FINAL)
        shown, note = reply.screen.frames[:-1], reply.screen.frames[-1]
        assert [frame.text for frame in shown] == growing
        assert len(growing) == 3
        assert [file.name for file in note.files] == ["answer.md"]
        words = " ".join(frame.text for frame in shown).split() + note.files[0].data.decode().split()
        assert words == text.split()


async def test_message_that_would_show_nothing_is_left_out(clock: ManualClock, live: Live) -> None:
    """A split can leave a lone mark behind; platforms refuse a message that renders to nothing."""
    reply = MemoryReply(clock, limits(size=20))
    async with live(reply) as answer:
        await answer.finish("seventeen letters\n\n\n\n-", State.FINAL)
    assert reply.screen.frames == [Frame("seventeen letters", State.FINAL)]


async def test_files_and_privacy_go_with_the_last_message(clock: ManualClock, live: Live) -> None:
    reply = MemoryReply(clock)
    chart = File("latency.png", b"png")
    async with live(reply) as answer:
        await answer.finish("Latency", State.FINAL, (chart,), private=True)
        assert reply.screen.frames == [Frame("Latency", State.FINAL, (chart,), private=True)]


async def test_later_word_replaces_an_earlier_one_on_its_way(clock: ManualClock, live: Live, play: Play) -> None:
    """Stop is pressed while the finished text waits for the platform: the stopped one is delivered, once."""
    reply = MemoryReply(clock)
    reply.inject("edit", Mishap(Limited(20.0)))

    async def own() -> None:
        async with live(reply) as answer:
            answer.show("Hello")
            await clock.settle()
            finishing = asyncio.create_task(answer.finish("Hello there", State.FINAL))
            await clock.settle()
            finishing.cancel()
            await answer.finish("Hello", State.STOPPED)

    await play(own())
    assert reply.screen.seen() == ["Hello", f"Hello\n\n{STOPPED_MARK}"]


async def test_leaving_without_finish_leaves_the_screen(clock: ManualClock, live: Live) -> None:
    reply = MemoryReply(clock)
    async with live(reply) as answer:
        answer.show("Hello")
        await clock.settle()
        answer.show("Hello there")
    await clock.advance(60.0)
    assert reply.screen.texts == ["Hello"]


async def test_chaos_loses_nothing_and_doubles_nothing(clock: ManualClock, play: Play, speak: Speak) -> None:
    """Every second call fails in one of four ways: the screen ends with the engine's words, each once."""
    turns = iter(range(10_000))
    kinds = [
        Mishap(Unreachable("502")),
        Mishap(Unsure("time-out"), landed=True),
        Mishap(Limited(3.0)),
        Mishap(Unsure("lost"), delay=2.0),
    ]

    def faults(call: Call) -> Mishap:
        turn = next(turns)
        return kinds[turn // 2 % len(kinds)] if turn % 2 else NO_MISHAP

    replies = [MemoryReply(clock, limits(size=600, name=f"chat{number}"), faults=faults) for number in range(8)]
    await play(*(speak(reply, WORDS, key=str(number)) for number, reply in enumerate(replies)))
    for reply in replies:
        assert " ".join(reply.screen.texts).split() == [word.strip() for word in WORDS]
        assert reply.screen.states[-1] is State.FINAL
        assert reply.early == []
        assert reply.most_in_flight == 1
