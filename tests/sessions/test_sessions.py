"""Order and limits of answers, and the ways to end them: a stop, a cancellation, both at once, a shutdown."""

import asyncio
import gc
from collections.abc import Callable
from functools import partial
from typing import Literal

import pytest

from clawdbot.chat import State
from clawdbot.engine.admission import Admission, Policy
from clawdbot.sessions.sessions import LAST_WORDS, Capacity, Refusal, Sessions, survived
from clawdbot.sessions.ticket import Ticket
from clawdbot.store import Revision
from clawdbot.testing.clock import ManualClock

MakeSessions = Callable[..., Sessions]


@pytest.fixture
def sessions(clock: ManualClock) -> MakeSessions:
    """Makes sessions with generous limits, or with those that are given."""

    def sessions(
        concurrent: int = 8,
        waiting: int = 8,
        queue: int = 8,
        share: int = 8,
        busy: Literal["queue", "refuse"] = "queue",
    ) -> Sessions:
        admission = Admission(Policy(concurrent, 1, 30.0), clock)
        return Sessions(Capacity(waiting, queue, share, busy), clock, lambda conversation: admission)

    return sessions


def ticket(conversation: str = "c", message_id: str = "m", asker: int = 1) -> Ticket:
    return Ticket(conversation, message_id, asker)


async def forever() -> None:
    """Work that does not end by itself."""
    await asyncio.Event().wait()


async def nothing() -> None:
    """Work that is done at once."""


# A ticket


async def test_stop_ends_the_block_and_what_follows_goes_on() -> None:
    own = ticket()
    told: list[str] = []

    async def work() -> None:
        async with own:
            told.append("begun")
            await forever()
            told.append("never")
        await asyncio.sleep(0)
        told.append("concluded")

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    own.stop()
    await task

    assert told == ["begun", "concluded"]
    assert own.cut is State.STOPPED
    assert own.written


@pytest.mark.parametrize("waits", [0, 1, 2])
async def test_stop_before_the_block_lets_nothing_of_it_pass(waits: int) -> None:
    """Also when the block would have ended without a single wait: the cancellation does not leak out of it."""
    own = ticket()
    own.stop(State.INTERRUPTED)

    async def work() -> int:
        done = 0
        async with own:
            for _ in range(waits):
                await asyncio.sleep(0)
                done += 1
        await asyncio.sleep(0)
        return done

    assert await asyncio.create_task(work()) == 0
    assert own.cut is State.INTERRUPTED


async def test_the_first_reason_counts() -> None:
    own = ticket()
    own.stop(State.STOPPED)
    own.stop(State.INTERRUPTED)

    assert own.cut is State.STOPPED


async def test_stop_after_the_block_comes_too_late() -> None:
    """The text is complete: it is not marked, and its delivery is not cancelled."""
    own = ticket()
    delivered = asyncio.Event()

    async def work() -> None:
        async with own:
            await asyncio.sleep(0)
        await delivered.wait()

    task = asyncio.create_task(work())
    for _ in range(3):
        await asyncio.sleep(0)
    own.stop()
    delivered.set()
    await task

    assert own.cut is None


async def test_stop_in_the_moment_in_which_the_wait_is_over() -> None:
    """Between two tokens: the next one is there already, but it is not taken any more."""
    own, token = ticket(), asyncio.Event()
    taken: list[str] = []

    async def work() -> bool:
        async with own:
            await token.wait()
            taken.append("token")
        task = asyncio.current_task()
        return task is not None and task.cancelling() == 0

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    token.set()
    own.stop()

    assert await task
    assert taken == []


@pytest.mark.parametrize("order", ["stop first", "cancellation first"])
async def test_a_cancellation_from_elsewhere_goes_on(order: str) -> None:
    """A stop takes back its own cancellation only, whichever of two comes first."""
    own = ticket()
    concluded: list[str] = []

    async def work() -> None:
        async with own:
            await forever()
        concluded.append("never")

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    for end in (own.stop, task.cancel) if order == "stop first" else (task.cancel, own.stop):
        end()
    await asyncio.wait({task})

    assert task.cancelled()
    assert concluded == []


async def test_a_cancellation_without_a_stop_goes_on() -> None:
    own = ticket()

    async def work() -> None:
        async with own:
            await forever()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})

    assert task.cancelled()
    assert own.cut is None


async def test_a_cancellation_beside_a_stop_is_not_lost_where_there_is_no_wait() -> None:
    own = ticket()
    own.stop()

    async def work() -> None:
        task = asyncio.current_task()
        assert task is not None
        async with own:
            task.cancel()

    task = asyncio.create_task(work())
    await asyncio.wait({task})

    assert task.cancelled()


async def test_an_error_leaves_the_block() -> None:
    own = ticket()

    with pytest.raises(ZeroDivisionError):
        async with own:
            raise ZeroDivisionError
    assert own.written


# Limits


async def test_refusals_name_what_is_full_and_how_many_wait(sessions: MakeSessions) -> None:
    small = sessions(concurrent=1, waiting=2, queue=1)
    assert small.refusal("c", 2) is None
    small.start(ticket(), forever, nothing)
    assert small.refusal("c", 2) is None
    small.start(ticket(), forever, nothing)
    assert small.refusal("c", 2) == Refusal("queue", 1)
    small.start(ticket("d"), forever, nothing)

    assert small.refusal("e", 2) == Refusal("full", 2)
    await small.close()


@pytest.mark.parametrize("options", [{"busy": "refuse"}, {"queue": 0}])
async def test_a_conversation_without_a_queue_is_busy(sessions: MakeSessions, options: dict[str, int]) -> None:
    one = sessions(**options)
    one.start(ticket(), forever, nothing)

    assert one.refusal("c", 2) == Refusal("busy", 1)
    assert one.refusal("d", 2) is None
    await one.close()


async def test_what_is_written_takes_no_place(sessions: MakeSessions) -> None:
    small = sessions(concurrent=1, waiting=0)
    written = ticket()
    small.start(written, forever, nothing)
    assert small.refusal("d", 2) == Refusal("full", 0)

    written.written = True

    assert small.refusal("d", 2) is None
    await small.close()


async def test_nobody_asks_more_than_a_share_of_all(sessions: MakeSessions) -> None:
    """However many conversations somebody uses; the same number on another platform is somebody else."""
    some = sessions(share=2)
    for own in (ticket("discord:1:0", asker=1), ticket("discord:2:0", asker=1)):
        some.start(own, forever, nothing)

    assert some.refusal("discord:3:0", 1) == Refusal("share", 2)
    assert some.refusal("discord:3:0", 2) is None
    assert some.refusal("telegram:3:0", 1) is None
    await some.close()


async def test_ahead_counts_the_own_conversation(sessions: MakeSessions) -> None:
    two = sessions(concurrent=2)
    tickets = [ticket(conversation) for conversation in ("a", "a", "b", "c", "a")]
    for each in tickets:
        two.start(each, forever, nothing)

    assert [two.ahead(each) for each in tickets] == [0, 1, 0, 0, 2]
    await two.close()


async def test_turns_are_taken_in_their_order(sessions: MakeSessions) -> None:
    """Each conversation has its own; it is forgotten with the last ticket."""
    some = sessions()
    order: list[str] = []

    async def work(own: Ticket) -> None:
        with some.turn(own) as spot:
            await spot.come()
            order.append(f"{own.message_id} begins")
            await asyncio.sleep(0)
            order.append(f"{own.message_id} ends")

    for own in (ticket("c", "1"), ticket("c", "2"), ticket("c", "3")):
        some.start(own, partial(work, own), nothing)
    await some.idle()

    assert order == [f"{number} {what}" for number in "123" for what in ("begins", "ends")]
    assert some.tickets == []


async def test_a_stop_in_line_lets_the_others_move_up(sessions: MakeSessions) -> None:
    some = sessions(concurrent=1)
    order: list[str] = []
    go_on = asyncio.Event()

    async def work(own: Ticket) -> None:
        with some.turn(own) as spot:
            async with own:
                await spot.come()
                order.append(own.message_id)
                await go_on.wait()

    tickets = [ticket(message_id=number) for number in "123"]
    for own in tickets:
        some.start(own, partial(work, own), nothing)
    await asyncio.sleep(0)
    tickets[1].stop()
    go_on.set()
    await some.idle()

    assert order == ["1", "3"]


async def test_whoever_is_interrupted_in_line_keeps_the_spot(sessions: MakeSessions) -> None:
    """A question that is edited while it waits is not sent to the end."""
    some = sessions()
    order: list[str] = []
    go_on = asyncio.Event()

    async def work(own: Ticket) -> None:
        with some.turn(own) as spot:
            async with own:
                await spot.come()
            with own.taking() as revisions:
                for _, taken in revisions:
                    taken.set_result(True)
            async with own:
                await spot.come()
                order.append(own.message_id)
                await go_on.wait()

    tickets = [ticket(message_id=number) for number in "123"]
    for own in tickets:
        some.start(own, partial(work, own), nothing)
    await asyncio.sleep(0)
    taken = tickets[1].revise(Revision())
    await asyncio.sleep(0)
    go_on.set()
    await some.idle()

    assert order == ["1", "2", "3"]
    assert taken.result()


async def test_whoever_steps_out_of_the_line_is_in_nobodys_way(sessions: MakeSessions) -> None:
    some = sessions()
    own, other = ticket(message_id="1"), ticket(message_id="2")
    first, second, third = some.turn(own), some.turn(own), some.turn(other)
    await first.come()
    waiting = [asyncio.create_task(spot.come()) for spot in (second, third)]
    await asyncio.sleep(0)
    for spot in (first, second):
        spot.step_out()
    still = [task.done() for task in waiting]
    first.leave()
    await waiting[1]

    assert still == [False, False]
    third.leave()
    await asyncio.wait(waiting)
    assert waiting[0].cancelled()


# A revision


async def test_a_revision_ends_the_block_from_which_it_can_begin_again() -> None:
    """Also when it was stopped just before: the later wish counts."""
    own = ticket()
    tries: list[bool] = []

    async def work() -> None:
        for _ in range(2):
            async with own:
                tries.append(own.revised)
                await forever()
            with own.taking() as revisions:
                for _, taken in revisions:
                    taken.set_result(True)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    own.stop()
    taken = own.revise(Revision())
    await taken
    await asyncio.sleep(0)
    written = own.written
    own.stop()
    await task

    assert tries == [False, False]
    assert not written
    assert own.cut is State.STOPPED


async def test_a_revision_ends_a_delivery_which_no_stop_does() -> None:
    own = ticket()
    ended: list[str] = []

    async def work() -> None:
        async with own:
            ended.append("written")
        async with own.showing():
            await forever()
        ended.append("shown")

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    own.stop()
    await asyncio.sleep(0)
    stopped = list(ended)
    own.revise(Revision())
    await task

    assert stopped == ["written"]
    assert ended == ["written", "shown"]
    assert own.revised


async def test_a_revision_that_comes_too_late_is_told_so(sessions: MakeSessions) -> None:
    some, own = sessions(), ticket()
    task = some.start(own, nothing, nothing)
    taken = own.revise(Revision())
    await task

    assert await taken is False


# Faults


async def test_survived_says_whether_it_went_well(caplog: pytest.LogCaptureFixture) -> None:
    async def fails() -> None:
        raise ZeroDivisionError

    assert await survived(nothing())
    assert caplog.records == []
    assert not await survived(fails())
    assert [record.exc_info is not None for record in caplog.records] == [True]


async def test_survived_lets_a_cancellation_pass() -> None:
    task = asyncio.create_task(survived(forever()))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})

    assert task.cancelled()


async def test_whoever_fails_apologises_and_the_rest_goes_on(sessions: MakeSessions) -> None:
    """Also when the apology fails."""
    some = sessions()
    sorry: list[str] = []

    async def fails() -> None:
        raise ZeroDivisionError

    async def apologise() -> None:
        sorry.append("sorry")
        raise ZeroDivisionError

    some.start(ticket(), fails, apologise)
    some.spawn(fails, apologise)
    some.spawn(fails)
    await some.idle()

    assert sorry == ["sorry", "sorry"]


async def test_what_ends_before_it_begins_leaves_no_trace(sessions: MakeSessions) -> None:
    """No coroutine that was made and never awaited: Python would warn."""
    some = sessions()
    some.start(ticket(), forever, nothing)
    some.spawn(forever)
    await some.close()
    gc.collect()

    assert some.tickets == []


# The end


async def test_drain_gives_running_answers_their_time(sessions: MakeSessions, clock: ManualClock) -> None:
    some = sessions()
    own = ticket()
    some.start(own, lambda: clock.sleep(9.0), nothing)
    draining = asyncio.create_task(some.drain(10.0))
    await clock.advance(8.9)
    assert not draining.done()
    await clock.advance(0.2)

    assert draining.done()
    assert own.cut is None


async def test_drain_interrupts_what_takes_longer(sessions: MakeSessions, clock: ManualClock) -> None:
    """It is over as soon as the marks are shown."""
    some = sessions()
    own = ticket()
    marked_at: list[float] = []

    async def work() -> None:
        async with own:
            await forever()
        await clock.sleep(1.0)
        marked_at.append(clock.now())

    some.start(own, work, nothing)
    begun = clock.now()
    draining = asyncio.create_task(some.drain(10.0))
    await clock.advance(11.0)

    assert draining.done()
    assert own.cut is State.INTERRUPTED
    assert marked_at == [begun + 11.0]


async def test_drain_does_not_wait_for_a_platform_that_refuses_for_hours(
    sessions: MakeSessions, clock: ManualClock
) -> None:
    """What it does not take is in the store."""
    some = sessions()
    own = ticket()

    async def work() -> None:
        async with own:
            await forever()
        await clock.sleep(14_000.0)

    task = some.start(own, work, nothing)
    draining = asyncio.create_task(some.drain(10.0))
    await clock.advance(10.0 + LAST_WORDS)

    assert draining.done()
    assert task.cancelled()


async def test_drain_ends_also_what_comes_meanwhile(sessions: MakeSessions, clock: ManualClock) -> None:
    """People go on talking while the bot ends."""
    some = sessions()

    async def speak() -> None:
        try:
            await forever()
        finally:
            if some.tickets:
                some.spawn(forever)

    some.start(ticket(), speak, nothing)
    draining = asyncio.create_task(some.drain(0.0))
    await clock.settle()
    assert some.closing
    some.start(ticket(), speak, nothing)
    await clock.advance(LAST_WORDS)

    assert draining.done()
    await some.idle()
    assert some.tickets == []


async def test_drain_of_nothing_takes_no_time(sessions: MakeSessions) -> None:
    await sessions().drain(10.0)
