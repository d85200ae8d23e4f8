"""Whatever is ruled, tried and asked, in whatever order: nobody talks who may not."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawdbot.chat import Conversation, Message, Person, State
from clawdbot.errors import StoreError
from clawdbot.latency.timing import Timing
from clawdbot.people.access import Access
from clawdbot.people.gate import Gate
from clawdbot.people.quota import HOUR
from clawdbot.settings.config import Allowed, Quota
from clawdbot.store import Answer, Question, Store, open_store
from clawdbot.testing.clock import ManualClock

ADMIN, USER, GUEST, BEARER = (
    Person(9, "Root"),
    Person(1, "Ada"),
    Person(2, "Bob"),
    Person(3, "Eve", roles=frozenset({50})),
)
PEOPLE = (ADMIN, USER, GUEST, BEARER)
PRIVATE = Conversation("discord", 10, private=True)
GROUP, OPEN = Conversation("discord", 20, guild=40), Conversation("discord", 30, guild=40)
PLACES = (PRIVATE, GROUP, OPEN)
SETTINGS = Allowed(users=frozenset({1}), admins=frozenset({9}), chats=frozenset({30}), roles=frozenset({50}))
QUOTA = Quota(messages_per_hour=3, tokens_per_hour=100)


@dataclass(frozen=True)
class Step:
    """Something that happens."""

    what: str
    person: Person
    where: Conversation
    size: int
    """Which of the codes is tried, from the last one back; or how long an answer is."""


def steps(
    what: list[str], people: tuple[Person, ...], places: tuple[Conversation, ...]
) -> st.SearchStrategy[list[Step]]:
    one = st.builds(Step, st.sampled_from(what), st.sampled_from(people), st.sampled_from(places), st.integers(0, 2))
    return st.lists(one, max_size=30)


RULINGS = steps(["allow", "deny", "make", "redeem", "redeem", "ask", "wait", "restart"], PEOPLE, PLACES)
QUESTIONS = steps(["ask"] * 8 + ["wait", "restart"], (USER, USER, ADMIN), (PRIVATE, GROUP))


@dataclass
class Expected:
    """Who may talk, kept in another way than the bot does: as sets that rulings add to and take from."""

    everywhere: set[int] = field(default_factory=lambda: {1, 9})
    in_private: set[int] = field(default_factory=set)
    nowhere: set[int] = field(default_factory=set)
    codes: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    wrong: Counter[int] = field(default_factory=Counter)
    asked: Counter[int] = field(default_factory=Counter)
    tokens: Counter[int] = field(default_factory=Counter)
    """Both in the hour that runs."""

    def may_talk(self, person: Person, where: Conversation) -> bool:
        if person.id in self.nowhere:
            return False
        private = where.private and person.id in self.in_private
        company = where == OPEN or (not where.private and 50 in person.roles)
        return person.id in self.everywhere or private or company

    def rule(self, person: int, *, out: bool) -> None:
        if person != ADMIN.id:
            (self.nowhere.add if out else self.nowhere.discard)(person)
            (self.everywhere.discard if out and person != USER.id else self.everywhere.add)(person)
            self.in_private.discard(person)

    def redeem(self, person: int, where: Conversation, code: str) -> bool:
        if person in self.nowhere or self.wrong[person] >= 5:
            return False
        if code not in self.codes or code in self.used:
            self.wrong[person] += 1
            return False
        self.used.add(code)
        if where.private:
            self.in_private.add(person)
        return where.private


class Play:
    """A gate on a store of its own, and what is expected of it."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock(epoch=1_800_000_000.0)
        self.expected = Expected()
        self.path = folder / "clawdbot.sqlite3"
        self._count = 0

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[tuple[Gate, Store]]:
        async with open_store(self.path, self.clock) as store:
            gate = Gate(Access({"discord": SETTINGS}), QUOTA, store.access, self.clock)
            await gate.open()
            yield gate, store

    async def run(self, steps: list[Step]) -> None:
        left = list(steps)
        while True:
            async with self.opened() as (gate, store):
                self._compare(gate)
                while left and (step := left.pop(0)).what != "restart":
                    await self._take(step, gate, store)
                    self._compare(gate)
            if not left:
                return

    def _compare(self, gate: Gate) -> None:
        for person in PEOPLE:
            for where in PLACES:
                assert gate.decide(person, where).allowed == self.expected.may_talk(person, where), (person, where)

    async def _take(self, step: Step, gate: Gate, store: Store) -> None:
        expected, person = self.expected, step.person
        order = self.said(ADMIN, PRIVATE)
        if step.what == "allow":
            await gate.allow(person.id, order)
            expected.rule(person.id, out=False)
        elif step.what == "deny":
            await gate.deny(person.id, order)
            expected.rule(person.id, out=True)
        elif step.what == "make":
            expected.codes.append(await gate.make_code(order))
        elif step.what == "wait":
            await self.clock.advance(HOUR)
            expected.wrong.clear()
            expected.asked.clear()
            expected.tokens.clear()
            expected.used |= set(expected.codes)  # their time is over
        elif step.what == "redeem" and not expected.may_talk(person, step.where):
            code = (expected.codes or ["none"])[-1 - step.size if step.size < len(expected.codes) else -1]
            let_in = await gate.redeem(self.said(person, step.where), code)
            assert let_in == expected.redeem(person.id, step.where, code)
        elif step.what == "ask" and expected.may_talk(person, step.where):
            await self._ask(self.said(person, step.where), 20 + 20 * step.size, gate, store)

    async def _ask(self, message: Message, tokens: int, gate: Gate, store: Store) -> None:
        author, expected = message.author, self.expected
        too_much = expected.asked[author.id] >= QUOTA.messages_per_hour or (
            expected.tokens[author.id] >= QUOTA.tokens_per_hour
        )
        async with gate.counting(message) as over:
            assert (over is not None) == (author != ADMIN and too_much)
            kept = None if over else await store.ask(Question(message, "here"))
        if kept is not None:
            await store.finish(kept.reply, Answer("Because.", State.FINAL, "small"), self._timing(message, tokens))
            expected.asked[author.id] += 1
            expected.tokens[author.id] += tokens

    def said(self, by: Person, where: Conversation) -> Message:
        self._count += 1
        return Message(str(self._count), where, by, "Why?", self.clock.now())

    def _timing(self, message: Message, tokens: int) -> Timing:
        marks = (0.1, 0.2, 0.3, 0.4, None, 0.5, 0.6, 0.7)
        return Timing(
            "discord", message.conversation.key, self.clock.wall(), None, *marks, 25, 15, tokens - 10, "final"
        )


@settings(max_examples=30, deadline=None)
@given(RULINGS)
def test_nobody_talks_who_may_not(steps: list[Step]) -> None:
    """Random rulings, codes, questions and restarts, against a second way to keep the same."""
    with TemporaryDirectory() as folder:
        asyncio.run(Play(Path(folder)).run(steps))


@settings(max_examples=30, deadline=None)
@given(QUESTIONS)
def test_nobody_asks_more_than_the_quota_leaves(steps: list[Step]) -> None:
    """Over restarts and from hour to hour, by messages and by tokens."""
    with TemporaryDirectory() as folder:
        asyncio.run(Play(Path(folder)).run(steps))


async def test_a_ruling_that_cannot_be_kept_lets_nobody_in(tmp_path: Path) -> None:
    """And keeps somebody out all the same, as long as the bot runs."""
    play = Play(tmp_path)
    async with play.opened() as (gate, _):
        with closing(sqlite3.connect(play.path)) as other:
            other.execute("DROP TABLE audit")
        with pytest.raises(StoreError):
            await gate.allow(GUEST.id, play.said(ADMIN, PRIVATE))
        with pytest.raises(StoreError):
            await gate.deny(USER.id, play.said(ADMIN, PRIVATE))

        assert not gate.decide(GUEST, PRIVATE).allowed
        assert not gate.decide(USER, PRIVATE).allowed
