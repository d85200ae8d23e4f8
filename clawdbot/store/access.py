"""What is kept about who may talk: rulings, codes, what people have used, and an audit of every decision."""

import sqlite3
from dataclasses import dataclass
from enum import StrEnum

from clawdbot.clock import Clock
from clawdbot.people.access import Ruling
from clawdbot.people.quota import DAY, HOUR, Used, begin
from clawdbot.store.database import Database

_RULE = """
INSERT INTO ruling (platform, person, ruling) VALUES (?, ?, ?)
ON CONFLICT (platform, person) DO UPDATE SET ruling = excluded.ruling
"""
_MOVE = """
INSERT INTO moved (platform, chat, now) VALUES (?, ?, ?) ON CONFLICT (platform, chat) DO UPDATE SET now = excluded.now
"""
_COLUMNS = "at, platform, person, conversation, decision, reason, maker"
_NOTE = f"INSERT INTO audit ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
_NOTE_ONCE = f"""
INSERT INTO audit ({_COLUMNS}) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
WHERE NOT EXISTS (SELECT 1 FROM audit WHERE platform = ?2 AND person = ?3 AND decision = ?5 AND reason = ?6
                  AND at >= ?8 AND (?9 OR conversation = ?4))
"""
_LAST = f"SELECT {_COLUMNS} FROM audit ORDER BY at DESC, rowid DESC LIMIT ?"
_TRIES = """
SELECT count(*) FILTER (WHERE platform = ? AND person = ?) AS own, count(*) AS everybody FROM audit
WHERE decision = ? AND at > ?
"""
_OPEN = "INSERT INTO pairing (digest, platform, maker, expires) VALUES (?, ?, ?, ?)"
_CLOSE = "DELETE FROM pairing WHERE digest = ? AND expires > ? RETURNING maker"
_USED = """
SELECT coalesce(sum(questions) FILTER (WHERE asked_at >= ?1), 0), coalesce(sum(questions), 0),
       coalesce(sum(tokens) FILTER (WHERE asked_at >= ?1), 0), coalesce(sum(tokens), 0)
FROM (SELECT received_at AS asked_at, NOT free AS questions,
             coalesce(prompt_tokens - cached_tokens + output_tokens, 0) AS tokens
      FROM reply LEFT JOIN timing ON timing.reply = reply.id
      WHERE reply.platform = ?2 AND author = ?3 AND received_at >= ?4 AND reply.state <> 'failed'
      UNION ALL
      SELECT at, questions, tokens FROM revision WHERE platform = ?2 AND person = ?3 AND at >= ?4)
"""


class Decision(StrEnum):
    """What was decided about a person."""

    ALLOWED = "allowed"
    """They talk somewhere for the first time."""
    REFUSED = "refused"
    """They may not talk there, or not use that command."""
    GRANTED = "granted"
    REVOKED = "revoked"
    CODE_MADE = "code made"
    PAIRED = "paired"
    WRONG_CODE = "wrong code"
    QUOTA = "quota reached"


@dataclass(frozen=True, slots=True)
class Entry:
    """One decision, as the audit keeps it: numbers, and not a word of what anybody said."""

    platform: str
    person: int
    """Whom it is about."""
    conversation: str
    """Where, a `Conversation.place`."""
    decision: Decision
    reason: str = ""
    maker: int | None = None
    """The admin who made it; None: the bot, by its settings."""
    at: float = 0.0
    """When, seconds since the epoch; the book sets it."""


class AccessBook:
    """A part of the `Store`: its methods do all that they say or nothing, and raise `StoreError`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def rulings(self) -> dict[tuple[str, int], Ruling]:
        """Every ruling, by platform and person."""
        rows = await self._database.read("SELECT platform, person, ruling FROM ruling")
        return {(row["platform"], row["person"]): Ruling(row["ruling"]) for row in rows}

    async def rule(self, ruling: Ruling, entry: Entry) -> None:
        """Keep what was ruled about the person of ``entry``, and the entry."""
        await self._database.transaction(lambda connection: self._rule(connection, ruling, entry))

    async def moved(self) -> list[tuple[str, int, int]]:
        """The chats that have another number now: platform, the number before, the one after."""
        rows = await self._database.read("SELECT platform, chat, now FROM moved")
        return [(row["platform"], row["chat"], row["now"]) for row in rows]

    async def move(self, platform: str, chat: int, now: int) -> None:
        """Keep that ``chat`` has the number ``now``; again changes nothing."""
        await self._database.write(_MOVE, platform, chat, now)

    async def open_code(self, digest: bytes, seconds: float, entry: Entry) -> None:
        """Keep that the maker of ``entry`` made a code that is good for ``seconds``; those that were not used go."""
        now = self._clock.wall()

        def keep(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM pairing WHERE expires <= ?", (now,))
            connection.execute(_OPEN, (digest, entry.platform, entry.maker, now + seconds))
            connection.execute(_NOTE, self._row(entry))

        await self._database.transaction(keep)

    async def codes(self, platform: str) -> list[bytes]:
        """The digests of the codes that are good on ``platform`` now."""
        rows = await self._database.read(
            "SELECT digest FROM pairing WHERE platform = ? AND expires > ?", platform, self._clock.wall()
        )
        return [row["digest"] for row in rows]

    async def use_code(self, digest: bytes, ruling: Ruling, entry: Entry) -> bool:
        """Let a code be good no more and keep what it brings to the person of ``entry``; False when it was used."""

        def use(connection: sqlite3.Connection) -> bool:
            makers = connection.execute(_CLOSE, (digest, self._clock.wall())).fetchall()
            for (maker,) in makers:
                self._rule(connection, ruling, entry, maker)
            return bool(makers)

        return await self._database.transaction(use)

    async def spoil_code(self, digest: bytes) -> None:
        """Let a code be good no more, unused."""
        await self._database.write("DELETE FROM pairing WHERE digest = ?", digest)

    async def note(self, entry: Entry) -> None:
        """Keep a decision."""
        await self._database.write(_NOTE, *self._row(entry))

    async def note_once(self, entry: Entry, since: float, *, anywhere: bool = False) -> bool:
        """Keep a decision unless the same was kept at ``since`` or later; whether it was kept.

        The same: about the same person, for the same reason and, unless ``anywhere``, in the same conversation.
        """
        return await self._database.write(_NOTE_ONCE, *self._row(entry), since, anywhere) == 1

    async def last(self, limit: int) -> list[Entry]:
        """The last decisions, the latest first."""
        return [_entry(row) for row in await self._database.read(_LAST, limit)]

    async def wrong_codes(self, platform: str, person: int, since: float) -> tuple[int, int]:
        """How often ``person``, and everybody together, tried a wrong code after ``since``."""
        (row,) = await self._database.read(_TRIES, platform, person, Decision.WRONG_CODE.value, since)
        return row["own"], row["everybody"]

    async def used(self, platform: str, person: int) -> Used:
        """What ``person`` has asked in this hour and day; a question that got no answer does not count."""
        now = self._clock.wall()
        (row,) = await self._database.read(_USED, begin(HOUR, now), platform, person, begin(DAY, now))
        return Used(row[0], row[1], row[2], row[3])

    def _rule(self, connection: sqlite3.Connection, ruling: Ruling, entry: Entry, maker: int | None = None) -> None:
        connection.execute(_RULE, (entry.platform, entry.person, ruling.value))
        connection.execute(_NOTE, self._row(entry, maker))

    def _row(self, entry: Entry, maker: int | None = None) -> tuple[object, ...]:
        what = (entry.conversation, entry.decision.value, entry.reason)
        return (self._clock.wall(), entry.platform, entry.person, *what, entry.maker if maker is None else maker)


def _entry(row: sqlite3.Row) -> Entry:
    where = (row["platform"], row["person"], row["conversation"])
    return Entry(*where, Decision(row["decision"]), row["reason"], row["maker"], row["at"])
