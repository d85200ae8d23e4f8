"""Lets people in or not, keeps what was ruled about them, and notes every decision in the audit."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from clawdbot.chat import Conversation, Message, Person
from clawdbot.clock import Clock
from clawdbot.errors import StoreError
from clawdbot.people.access import Access, Reason, Ruling
from clawdbot.people.pairing import LIFE, MOST_TRIES_OF_ALL, MOST_TRIES_OF_ONE, TRIES_WINDOW, digest, find, new_code
from clawdbot.people.quota import DAY, Reached, Used, begin, reached
from clawdbot.settings.config import Quota
from clawdbot.store import AccessBook, Decision, Entry

log = logging.getLogger(__name__)

MOST_NOTED = 10_000
"""Decisions that are remembered as noted; then that begins anew."""


class Gate:
    """Decides by `Access` and by what was ruled while the bot ran."""

    def __init__(self, access: Access, quota: Quota, book: AccessBook, clock: Clock) -> None:
        self._access = access
        self._quota = quota
        self._limited = quota != Quota()
        self._book = book
        self._clock = clock
        self._rulings: dict[tuple[str, int], Ruling] = {}
        """What the book holds; by platform and person."""
        self._former: dict[tuple[str, int], frozenset[int]] = {}
        """By platform and chat, the numbers that it had before."""
        self._noted: set[tuple[Entry, float]] = set()
        """What the audit has of these since when, so that it is not asked about every message."""
        self._counting: WeakValueDictionary[tuple[str, int], asyncio.Lock] = WeakValueDictionary()
        self._ruling = asyncio.Lock()
        """One ruling at a time: many tries of codes at once would count as one, and the last word has to stay."""

    async def open(self) -> None:
        """Take up what was ruled in earlier runs; until then the settings alone count. Raises `StoreError`."""
        self._rulings = await self._book.rulings()
        for platform, chat, now in await self._book.moved():
            self._follow(platform, chat, now)

    def adopt(self, access: Access, quota: Quota) -> None:
        """Decide by other settings from now on; what was ruled while the bot ran holds."""
        self._access = access
        self._quota = quota
        self._limited = quota != Quota()

    def decide(self, person: Person, where: Conversation) -> Reason:
        """Whether ``person`` may talk in ``where``, and why."""
        ruling, former = self._rulings.get((where.platform, person.id)), self._former.get((where.platform, where.chat))
        return self._access.decide(person, where, ruling, former or ())

    async def follow(self, old: Conversation, new: Conversation) -> None:
        """Let what the settings say of the chat ``old`` hold for ``new``, which it has become. Raises `StoreError`."""
        self._follow(old.platform, old.chat, new.chat)
        await self._book.move(old.platform, old.chat, new.chat)

    def is_admin(self, platform: str, person: Person) -> bool:
        """Whether ``person`` may use admin commands there."""
        return self._access.is_admin(platform, person)

    async def note_admitted(self, person: Person, where: Conversation, reason: Reason) -> None:
        """Keep that somebody talks in a conversation, once for each reason why they may."""
        await self._note_once(_about(person.id, where, Decision.ALLOWED, reason), since=0.0)

    async def note_refused(self, person: Person, where: Conversation, why: str) -> None:
        """Keep that somebody was refused, once a day for each conversation and reason."""
        await self._note_once(_about(person.id, where, Decision.REFUSED, why), since=begin(DAY, self._clock.wall()))

    @asynccontextmanager
    async def counting(self, message: Message) -> AsyncIterator[Reached | None]:
        """The limit that the author has reached, if any; until the block ends none of their messages is counted.

        So a burst meets the limits as they are: whoever takes the question in the block must have stored it by its end.
        Raises `StoreError`.
        """
        platform, author = message.conversation.platform, message.author
        if not self._limited or self.is_admin(platform, author):
            yield None
            return
        key = (platform, author.id)
        turn = self._counting.get(key) or self._counting.setdefault(key, asyncio.Lock())
        async with turn:
            yield reached(self._quota, await self._book.used(*key), self._clock.wall())

    async def used(self, message: Message) -> tuple[Used, Quota]:
        """What the author has had in this hour and day, and what they may have. Raises `StoreError`."""
        platform, author = message.conversation.platform, message.author
        quota = Quota() if self.is_admin(platform, author) else self._quota
        return await self._book.used(platform, author.id), quota

    async def first_notice(self, message: Message, over: Reached) -> bool:
        """Keep that the author has reached a limit; whether it is for the first time in its window."""
        entry = _about(message.author.id, message.conversation, Decision.QUOTA, over.limit)
        return await self._book.note_once(entry, since=over.since, anywhere=True)

    async def allow(self, person: int, message: Message) -> None:
        """Let ``person`` talk everywhere; the author of ``message`` wants it."""
        await self._rule(Ruling.ALLOWED, person, message, Decision.GRANTED)

    async def deny(self, person: int, message: Message) -> bool:
        """Keep ``person`` out everywhere; False when that is no admin's to say: the settings make them one."""
        if self._access.lists_admin(message.conversation.platform, person):
            return False
        await self._rule(Ruling.DENIED, person, message, Decision.REVOKED)
        return True

    async def make_code(self, message: Message) -> str:
        """A code with which one person may talk in private, on the platform on which it was made."""
        code, maker = new_code(), message.author.id
        entry = _about(maker, message.conversation, Decision.CODE_MADE, maker=maker)
        await self._book.open_code(digest(code), LIFE, entry)
        return code

    async def redeem(self, message: Message, code: str) -> bool:
        """Let the author talk in private if ``code`` is good. In a group it lets nobody in, and is good no more."""
        person, where = message.author.id, message.conversation
        if not code:
            return False
        async with self._ruling:
            denied = self._rulings.get((where.platform, person)) is Ruling.DENIED
            if denied or not await self._may_try(where.platform, person):
                return False
            found = find(await self._book.codes(where.platform), code)
            if found is None:
                await self._book.note(_about(person, where, Decision.WRONG_CODE))
            elif not where.private:
                await self._book.spoil_code(found)
            elif await self._book.use_code(found, Ruling.PAIRED, _about(person, where, Decision.PAIRED)):
                self._rulings[where.platform, person] = Ruling.PAIRED
                return True
            return False

    async def last(self, limit: int) -> list[Entry]:
        """The last decisions, the latest first."""
        return await self._book.last(limit)

    def _follow(self, platform: str, chat: int, now: int) -> None:
        known, before = (self._former.get((platform, number), frozenset()) for number in (now, chat))
        if chat in known:  # Telegram says it twice
            return
        self._former[platform, now] = known | before | {chat}
        if self._access.lists_chat(platform, chat) and not self._access.lists_chat(platform, now):
            log.warning("the %s chat %d is %d now: write that in [access.%s] chats", platform, chat, now, platform)

    async def _note_once(self, entry: Entry, since: float) -> None:
        if (entry, since) in self._noted:
            return
        try:
            await self._book.note_once(entry, since)
        except StoreError:
            log.exception("a decision could not be noted in the audit")  # it holds all the same
            return
        if len(self._noted) >= MOST_NOTED:
            self._noted.clear()
        self._noted.add((entry, since))

    async def _may_try(self, platform: str, person: int) -> bool:
        own, everybody = await self._book.wrong_codes(platform, person, self._clock.wall() - TRIES_WINDOW)
        return own < MOST_TRIES_OF_ONE and everybody < MOST_TRIES_OF_ALL

    async def _rule(self, ruling: Ruling, person: int, message: Message, decision: Decision) -> None:
        where, maker = message.conversation, message.author.id
        if ruling is Ruling.DENIED:  # at once: a fault of the disk keeps nobody in
            self._rulings[where.platform, person] = ruling
        async with self._ruling:
            await self._book.rule(ruling, _about(person, where, decision, "", maker))
            self._rulings[where.platform, person] = ruling


def _about(person: int, where: Conversation, decision: Decision, reason: str = "", maker: int | None = None) -> Entry:
    return Entry(where.platform, person, where.place, decision, reason, maker)
