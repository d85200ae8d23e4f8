"""A platform in memory as bots see it: it delivers, drops, refuses, and outlives them."""

import asyncio

import pytest

from clawdbot.bench.chaos.line import Line
from clawdbot.bench.chaos.platform import KINDS, Kind, Platform
from clawdbot.chat import Event, Frame, Message, Reply, State
from clawdbot.errors import AdapterError, Gone, Limited, Unsure
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.faults import Fault, Trouble

_, TELEGRAM = KINDS
FRAME = Frame("Herons", State.FINAL)


class Ears:
    """A `Receive` that takes everything in at once."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def __call__(self, event: Event, reply: Reply) -> asyncio.Future[None]:
        assert isinstance(event, Message)
        self.heard.append(event.id)
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done


def platform(clock: ManualClock, kind: Kind = TELEGRAM, *, rate: float = 0.0) -> Platform:
    return Platform(kind, clock, "1", rate)


async def test_what_was_asked_while_nobody_listened_is_delivered_when_somebody_does(clock: ManualClock) -> None:
    there, ears = platform(clock), Ears()
    there.ask(7, 1, "What is a heron?")

    listening = asyncio.create_task(Line(there).run(ears))
    await clock.settle()

    assert ears.heard == ["7"]
    listening.cancel()


async def test_a_drop_ends_the_connection_with_an_error(clock: ManualClock) -> None:
    there = platform(clock)
    listening = asyncio.create_task(Line(there).run(Ears()))
    await clock.settle()

    there.drop()

    with pytest.raises(AdapterError):
        await listening
    assert there.counted["gateway_drop"] == 1


async def test_a_confirmed_message_is_delivered_once_more_at_times(clock: ManualClock) -> None:
    there, ears = platform(clock, rate=1.0), Ears()
    listening = asyncio.create_task(Line(there).run(ears))
    await clock.settle()

    there.ask(7, 1, "What is a heron?")
    await clock.advance(200)

    assert (ears.heard, there.counted["redelivered"]) == (["7", "7"], 1)
    listening.cancel()


async def test_a_message_that_is_due_again_while_nobody_listens_is_for_the_next_who_does(clock: ManualClock) -> None:
    """A bot has to know what it took in before it was started again."""
    there, dead, alive = platform(clock, rate=1.0), Ears(), Ears()
    line = Line(there)
    listening = asyncio.create_task(line.run(dead))
    await clock.settle()
    there.ask(7, 1, "What is a heron?")
    await clock.settle()
    line.cut()
    listening.cancel()
    await clock.advance(60)

    again = asyncio.create_task(Line(there).run(alive))
    await clock.settle()

    assert (dead.heard, alive.heard) == (["7"], ["7"])
    again.cancel()


async def test_a_send_that_landed_without_an_answer_is_remembered(clock: ManualClock) -> None:
    there = platform(clock)
    there.ask(7, 1, "What is a heron?")
    there.faults["7"].add("send", Fault(Trouble.RESET_AFTER), Fault(Trouble.RESET_BEFORE))
    reply = Line(there).reply("7")

    for _ in range(2):
        sending = asyncio.create_task(reply.send(FRAME, "key"))
        await clock.advance(1)
        with pytest.raises(Unsure):
            await sending

    assert there.unanswered_sends["7"] == 1


@pytest.mark.parametrize(("seconds", "landed"), [(0.0, 0), (0.03, 1)])
async def test_a_kill_cuts_a_call_before_or_after_its_effect(clock: ManualClock, seconds: float, landed: int) -> None:
    """A call takes 50 ms, half of them before it has its effect."""
    there = platform(clock)
    there.ask(7, 1, "What is a heron?")
    line = Line(there)
    sending = asyncio.create_task(line.reply("7").send(FRAME, "key"))
    await clock.advance(seconds)

    line.cut()

    with pytest.raises(Gone):
        await sending
    await clock.advance(1)
    assert (len(there.replies["7"].screen.frames), there.unanswered_sends["7"]) == (landed, landed)


async def test_a_closed_bucket_is_closed_for_every_answer_in_the_chat(clock: ManualClock) -> None:
    there = platform(clock)
    for number in (7, 8):
        there.ask(number, 1, "What is a heron?")
    there.faults["7"].add("send", Fault(Trouble.LIMITED, 30.0))
    line = Line(there)
    with pytest.raises(Limited):
        await line.reply("7").send(FRAME, "key")
    await clock.advance(10)

    with pytest.raises(Limited) as refusal:
        await line.reply("8").send(FRAME, "key")

    assert (refusal.value.retry_after, there.early) == (20.0, 1)
