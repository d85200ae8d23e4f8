"""Who enters the engine, and when: decisions without a clock, then the waiting around them."""

import asyncio
import gc
import weakref
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clawdbot.engine.admission import Admission, Line, Policy, Standing, Wish
from clawdbot.testing.clock import ManualClock

POLICY = Policy(concurrent=4, max_long_prefills=1, patience=10.0)
LONGEST_SHORT = 100
SHORT, LONG = 30, 1500


def wish_of(number: int, user: str, cost: int, at: float) -> Wish:
    return Wish(number, user, cost, cost > LONGEST_SHORT, at)


def line_of(*wishes: Wish, policy: Policy = POLICY) -> Line:
    line = Line(policy)
    for wish in wishes:
        line.arrive(wish)
    return line


def ignore(standing: Standing) -> None:
    """Nobody wants to know."""


class TestLine:
    def test_a_short_prompt_passes_a_long_one_that_waits(self) -> None:
        """The first long one is being read, the second waits, the short one behind it does not."""
        line = line_of(wish_of(1, "a", LONG, 0), wish_of(2, "b", LONG, 0), wish_of(3, "c", SHORT, 0))

        assert line.admit(0) == [3, 1]

    def test_the_next_long_prompt_enters_when_the_last_one_is_read(self) -> None:
        """At the first token, not at the end of the answer."""
        line = line_of(wish_of(1, "a", LONG, 0), wish_of(2, "b", LONG, 0))
        line.admit(0)

        line.started(1)

        assert line.admit(0) == [2]

    def test_of_those_that_wait_the_cheapest_is_next(self) -> None:
        """The least uncached tokens first."""
        line = line_of(wish_of(1, "a", LONG, 0))
        line.admit(0)
        line.arrive(wish_of(2, "b", 2 * LONG, 1))
        line.arrive(wish_of(3, "c", LONG, 1))
        line.started(1)

        assert line.admit(1) == [3]

    def test_whoever_is_out_of_patience_comes_before_all_that_are_newer(self) -> None:
        """Or cheap prompts would starve a dear one."""
        line = line_of(wish_of(1, "a", LONG, 0))
        line.admit(0)
        line.arrive(wish_of(2, "b", 10 * LONG, 0))
        line.arrive(wish_of(3, "c", LONG, 5))
        line.started(1)

        assert line.admit(10) == [2]

    def test_nobody_has_more_than_a_fair_share_while_others_wait(self) -> None:
        """Two users, four places: two each."""
        line = line_of(*(wish_of(number, "greedy", SHORT, 0) for number in range(4)), wish_of(4, "other", 90, 0))

        entered = line.admit(0)

        assert entered[:2] == [0, 1]
        assert 4 in entered[:3]

    def test_somebody_alone_may_have_every_place(self) -> None:
        """A share is fair only among several."""
        line = line_of(*(wish_of(number, "alone", SHORT, 0) for number in range(6)))

        assert line.admit(0) == [0, 1, 2, 3]

    def test_it_knows_who_is_ahead(self) -> None:
        """In the order in which they would enter."""
        line = line_of(wish_of(1, "a", LONG, 0))
        line.admit(0)
        line.arrive(wish_of(2, "b", LONG, 0))
        line.arrive(wish_of(3, "c", 2 * LONG, 0))

        assert [wish.number for wish in line.order(0)] == [2, 3]


class LineMachine(RuleBasedStateMachine):
    """Any order of arrivals, first tokens, ends and cancellations."""

    def __init__(self) -> None:
        super().__init__()
        self.line = Line(POLICY)
        self.now = 0.0
        self.waiting: dict[int, Wish] = {}
        self.inside: dict[int, Wish] = {}
        self.unread: set[int] = set()
        self.count = 0

    def admit(self) -> None:
        for number in self.line.admit(self.now):
            wish = self.waiting[number]
            is_long = wish.cost > LONGEST_SHORT
            overtaken = [
                other
                for other in self.waiting.values()
                if self.now - other.at >= POLICY.patience
                and other.number < number
                and (other.cost > LONGEST_SHORT) == is_long
                and self.share_of(other.user) > self.held_by(other.user)
            ]
            del self.waiting[number]
            assert not overtaken, "somebody out of patience was overtaken by somebody newer of the same kind"
            self.inside[number] = wish
            if is_long:
                self.unread.add(number)

    def held_by(self, user: str) -> int:
        return Counter(wish.user for wish in self.inside.values())[user]

    def share_of(self, user: str) -> int:
        users = {wish.user for wish in (*self.waiting.values(), *self.inside.values())} | {user}
        return max(1, POLICY.concurrent // len(users))

    @rule(user=st.sampled_from("abc"), cost=st.integers(0, 3000))
    def arrive(self, user: str, cost: int) -> None:
        self.count += 1
        wish = wish_of(self.count, user, cost, self.now)
        self.waiting[self.count] = wish
        self.line.arrive(wish)
        self.admit()

    @precondition(lambda self: self.inside)
    @rule(data=st.data())
    def first_token(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.inside)))
        self.line.started(number)
        self.unread.discard(number)
        self.admit()

    @precondition(lambda self: self.inside or self.waiting)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted([*self.inside, *self.waiting])))
        self.line.leave(number)
        self.inside.pop(number, None)
        self.waiting.pop(number, None)
        self.unread.discard(number)
        self.admit()

    @rule(seconds=st.floats(0, 20))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.admit()

    @invariant()
    def never_more_than_the_limits(self) -> None:
        assert len(self.inside) <= POLICY.concurrent
        assert len(self.unread) <= POLICY.max_long_prefills
        assert {wish.number for wish in self.line.being_read} == self.unread

    @invariant()
    def no_place_leaks(self) -> None:
        assert {wish.number for wish in self.line.inside} == set(self.inside)
        assert len(self.line) == len(self.inside) + len(self.waiting)

    @invariant()
    def nobody_waits_for_nothing(self) -> None:
        if self.inside:
            return
        assert not self.waiting

    def teardown(self) -> None:
        for number in [*self.waiting, *self.inside]:
            self.line.leave(number)
        assert len(self.line) == 0
        assert not self.line.being_read


TestAnyOrder = LineMachine.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


class TestAdmission:
    async def hold(
        self, admission: Admission, cost: int, entered: list[str], name: str, end: asyncio.Event, user: str = "u"
    ) -> None:
        async with admission.place(user, cost, long=cost > LONGEST_SHORT, tell=ignore) as place:
            entered.append(name)
            await end.wait()
            place.started()

    async def test_a_waiting_one_enters_when_a_place_is_given_back(self, clock: ManualClock) -> None:
        """At the end of the block."""
        admission = Admission(Policy(1, 1, 10.0), clock)
        entered: list[str] = []
        first, second = asyncio.Event(), asyncio.Event()
        tasks = [
            asyncio.create_task(self.hold(admission, SHORT, entered, "first", first)),
            asyncio.create_task(self.hold(admission, SHORT, entered, "second", second)),
        ]
        await clock.settle()
        before = list(entered)

        first.set()
        second.set()
        await asyncio.gather(*tasks)

        assert (before, entered) == (["first"], ["first", "second"])

    async def test_whoever_gave_up_waiting_is_forgotten(self, clock: ManualClock) -> None:
        """With all that hangs on it, such as the answer that it was to tell."""
        admission, end = Admission(Policy(1, 1, 10.0), clock), asyncio.Event()

        class Reader:
            def tell(self, standing: Standing) -> None:
                """Look."""

        reader = Reader()
        gone = weakref.ref(reader)

        async def wait(reader: Reader) -> None:
            async with admission.place("u", SHORT, long=False, tell=reader.tell):
                await end.wait()

        blocker = asyncio.create_task(wait(Reader()))
        await clock.settle()
        waiting = asyncio.create_task(wait(reader))
        await clock.settle()
        waiting.cancel()
        await asyncio.wait((waiting,))
        del reader, waiting
        gc.collect()

        assert gone() is None
        end.set()
        await blocker

    @pytest.mark.parametrize("ending", ["cancelled while waiting", "cancelled inside", "failed inside"])
    async def test_a_place_is_given_back_whatever_happens(self, clock: ManualClock, ending: str) -> None:
        """On error and cancellation, waiting or inside: the next one enters."""
        admission = Admission(Policy(1, 1, 10.0), clock)
        entered: list[str] = []
        never, end = asyncio.Event(), asyncio.Event()

        async def fail() -> None:
            async with admission.place("u", SHORT, long=False, tell=ignore):
                await end.wait()
                raise OSError

        blocker = asyncio.create_task(
            fail() if ending == "failed inside" else self.hold(admission, SHORT, entered, "blocker", never)
        )
        await clock.settle()
        waiting = asyncio.create_task(self.hold(admission, SHORT, entered, "waiting", never))
        await clock.settle()
        last = asyncio.create_task(self.hold(admission, SHORT, entered, "last", end))
        await clock.settle()

        waiting.cancel()
        await clock.settle()
        if ending != "cancelled while waiting":
            end.set()
        if ending != "failed inside":
            blocker.cancel()
        end.set()
        await asyncio.gather(blocker, waiting, last, return_exceptions=True)

        assert entered[-1] == "last"

    async def test_a_waiting_one_knows_its_place_and_about_how_long(self, clock: ManualClock) -> None:
        """From the speed at which long prompts were read lately."""
        admission = Admission(POLICY, clock)
        told: dict[int, Standing] = {}
        end = asyncio.Event()

        async def read(number: int) -> None:
            async with admission.place(
                "u", 1000, long=True, tell=lambda standing: told.update({number: standing})
            ) as place:
                await clock.sleep(2.0)
                place.started()
                await end.wait()

        first = asyncio.create_task(read(0))
        await clock.advance(2.0)
        others = [asyncio.create_task(read(number)) for number in (1, 2, 3)]
        await clock.settle()

        assert told == {2: Standing(0, 2.0), 3: Standing(1, 4.0)}

        end.set()
        await clock.advance(10.0)
        await asyncio.gather(first, *others)


class TestSpareTime:
    """What nobody asked for goes through the engine when nobody else wants to, and makes way for everybody."""

    async def test_it_is_done_when_nothing_else_is(self, clock: ManualClock) -> None:
        done = []

        async def work() -> None:
            done.append(clock.now())

        assert await Admission(POLICY, clock).in_spare_time(work)
        assert len(done) == 1

    async def test_it_ends_at_once_when_somebody_wants_a_place(self, clock: ManualClock) -> None:
        """Also one who gets it without waiting: the engine's next steps are for them."""
        admission = Admission(POLICY, clock)
        aside = asyncio.create_task(admission.in_spare_time(never))
        await clock.settle()
        before = aside.done()

        async with admission.place("u", SHORT, long=False, tell=ignore):
            await clock.settle()

            assert (before, aside.done()) == (False, True)
            assert not aside.result()

    async def test_however_many_come_it_ends_in_order(self, clock: ManualClock) -> None:
        """How it takes back its request is not cut short by the next one who comes, nor by the end of the bot."""
        admission = Admission(POLICY, clock)
        ending, ended = asyncio.Event(), asyncio.Event()

        async def work() -> None:
            try:
                await never()
            finally:
                await ending.wait()
                ended.set()

        aside = asyncio.create_task(admission.in_spare_time(work))
        await clock.settle()
        for _ in range(2):
            async with admission.place("u", SHORT, long=False, tell=ignore):
                await clock.settle()
        for _ in range(2):
            aside.cancel()
            await clock.settle()
        assert admission.busy_aside
        ending.set()
        await clock.settle()

        assert ended.is_set()
        assert not admission.busy_aside

    @pytest.mark.parametrize("busy", ["a long prompt is read", "all places are taken"])
    async def test_it_is_not_begun_while(self, clock: ManualClock, busy: str) -> None:
        long = busy == "a long prompt is read"
        admission = Admission(POLICY if long else Policy(1, 1, 10.0), clock)

        async with admission.place("u", LONG if long else SHORT, long=long, tell=ignore):
            assert not await admission.in_spare_time(never)

    async def test_there_is_one_at_a_time(self, clock: ManualClock) -> None:
        admission = Admission(POLICY, clock)
        first = asyncio.create_task(admission.in_spare_time(never))
        await clock.settle()

        assert not await admission.in_spare_time(never)
        assert not first.done()
        first.cancel()

    async def test_whoever_is_cancelled_takes_it_along(self, clock: ManualClock) -> None:
        admission = Admission(POLICY, clock)
        ended = asyncio.Event()

        async def work() -> None:
            try:
                await never()
            finally:
                ended.set()

        aside = asyncio.create_task(admission.in_spare_time(work))
        await clock.settle()
        aside.cancel()
        await asyncio.wait((aside,))

        assert ended.is_set()

    async def test_what_it_raises_while_nobody_waits_any_more_is_of_no_interest(
        self, clock: ManualClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Such as that its engine died, which ended the wait, too."""
        admission = Admission(POLICY, clock)

        async def work() -> None:
            try:
                await never()
            finally:
                raise OSError

        aside = asyncio.create_task(admission.in_spare_time(work))
        await clock.settle()
        aside.cancel()
        await asyncio.wait((aside,))
        del aside  # asyncio tells of an exception when the last that holds its task is gone
        gc.collect()

        assert caplog.text == ""

    async def test_what_it_raises_comes_out(self, clock: ManualClock) -> None:
        admission = Admission(POLICY, clock)

        async def fail() -> None:
            raise OSError

        with pytest.raises(OSError):  # noqa: PT011 - it has no text
            await admission.in_spare_time(fail)
        assert not admission.busy_aside


async def never() -> None:
    await asyncio.Event().wait()


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens at the door; ``who`` picks the request, ``cost`` is that of a new one."""

    what: Literal["arrive", "first token", "leave", "aside", "time"]
    who: int
    cost: int


class Door:
    """Requests at one admission, and who has entered when."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.admission = Admission(POLICY, self.clock)
        self.entered: list[tuple[int, int]] = []
        """Number of the step, number of the request."""
        self.passed_over: list[int] = []
        """Requests that waited when something else was begun."""
        self._step = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._read: list[asyncio.Event] = []

    async def play(self, steps: Sequence[Step], *, with_asides: bool) -> None:
        """Let the steps happen one after the other, then end everything."""
        others: list[asyncio.Task[bool]] = []
        for self._step, step in enumerate(steps):
            if step.what == "arrive":
                self._tasks.append(asyncio.create_task(self._ask(len(self._tasks), step)))
                self._read.append(asyncio.Event())
            elif step.what == "time":
                await self.clock.advance(step.cost / 100)
            elif step.what == "aside" and with_asides:
                others.append(asyncio.create_task(self.admission.in_spare_time(self._aside)))
            elif self._tasks and step.what == "first token":
                self._read[step.who % len(self._tasks)].set()
            elif self._tasks and step.what == "leave":
                self._tasks[step.who % len(self._tasks)].cancel()
            await self.clock.settle()
            if step.what == "arrive":
                assert not self.admission.busy_aside, "it goes on beside somebody who has just come"
        for task in (*self._tasks, *others):
            task.cancel()
        await asyncio.gather(*self._tasks, *others, return_exceptions=True)
        assert not self.admission.busy_aside

    async def _ask(self, number: int, step: Step) -> None:
        long = step.cost > LONGEST_SHORT
        async with self.admission.place(f"user {step.who % 3}", step.cost, long=long, tell=ignore) as place:
            self.entered.append((self._step, number))
            await self._read[number].wait()
            place.started()
            await never()

    async def _aside(self) -> None:
        entered = {number for _, number in self.entered}
        self.passed_over += [
            number for number, task in enumerate(self._tasks) if number not in entered and not task.done()
        ]
        await never()


steps = st.builds(
    Step,
    st.sampled_from(["arrive", "arrive", "first token", "leave", "aside", "aside", "time"]),
    st.integers(0, 20),
    st.integers(0, 2000),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(steps, max_size=30))
def test_nobody_enters_later_for_what_is_done_in_spare_time(events: list[Step]) -> None:
    """Whatever happens in whatever order: everybody enters at the same step as if nothing had been done aside."""
    with_it, without = Door(), Door()

    asyncio.run(with_it.play(events, with_asides=True))
    asyncio.run(without.play(events, with_asides=False))

    assert with_it.entered == without.entered
    assert with_it.passed_over == []
