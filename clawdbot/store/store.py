"""The store: a typed door to the database, one method for each thing that the core wants kept or brought back."""

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial
from math import inf

from clawdbot.attached import Attachment
from clawdbot.chat import Conversation, State
from clawdbot.clock import Clock
from clawdbot.latency.timing import Timing
from clawdbot.store.access import AccessBook
from clawdbot.store.choices import ChoiceBook
from clawdbot.store.database import Database
from clawdbot.store.moving import move
from clawdbot.store.pieces import OF, Pieces
from clawdbot.store.records import (
    ASKED,
    Answer,
    Kept,
    Piece,
    Question,
    Revision,
    Turn,
    Unfinished,
    answer_row,
    pack_files,
    question_row,
    read_answer,
    read_aside,
    read_conversation,
    read_history,
    read_posts,
    read_question,
)
from clawdbot.store.revisions import Revisions, bring_back, complete
from clawdbot.store.spans import BEGINNING, IS_IDLE, IS_NAMED, RESET, Trimming, ends_with, reset_if_idle, trim
from clawdbot.store.spending import ask, spend

_LAST = 2**63 - 1

_TIMING = tuple(field.name for field in fields(Timing))

_REMEMBER = "INSERT INTO event (platform, id, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_REFUSE = "INSERT INTO refusal (platform, person) VALUES (?, ?) ON CONFLICT DO NOTHING"
_ASK = f"INSERT INTO reply ({ASKED}) VALUES (?{', ?' * ASKED.count(',')})"
_ATTACH = "UPDATE reply SET attached = ? WHERE id = ?"
_POST = (
    "INSERT INTO post (reply, part, ref) VALUES (?, ?, ?) ON CONFLICT (reply, part) DO UPDATE SET ref = excluded.ref"
)
_ANSWER = """
UPDATE reply SET state = ?, answer = ?, tokenizer = ?, question_tokens = ?, answer_tokens = ?, finished_at = ?
WHERE id = ? AND finished_at IS NULL
"""
_DRAFT = """
UPDATE reply SET state = ?, answer = ?, tokenizer = ?, question_tokens = ?, answer_tokens = ?, begun = max(begun, ?),
                 spent = ?
WHERE id = ? AND finished_at IS NULL AND state IN ('asked', 'streaming')
"""
_BEGIN = "UPDATE reply SET begun = max(begun, ?) WHERE id = ?"
_REFUSED = "UPDATE reply SET begun = ?1, held_until = nullif(max(coalesce(held_until, 0), ?2), 0) WHERE id = ?3"
_REOPEN = """
UPDATE reply SET state = 'streaming', finished_at = NULL, forgotten_at = NULL
WHERE id = ? AND state = 'interrupted' AND finished_at IS NOT NULL
"""
_TIME = f"INSERT INTO timing (reply, {', '.join(_TIMING)}) VALUES (?{', ?' * len(_TIMING)}) ON CONFLICT DO NOTHING"
_FAIL = """
UPDATE reply SET state = ?, answer = NULL, question_tokens = NULL, answer_tokens = NULL, finished_at = ?
WHERE id = ? AND finished_at IS NULL
"""
# The conversation may have moved since the question was asked. An exchange whose answer is being written anew is there
# as it was. Of two columns of one name the first one counts.
_HISTORY = f"""
WITH here AS (SELECT coalesce((SELECT conversation FROM reply WHERE id = ?2), ?1) AS place),
     start AS (SELECT place, {BEGINNING.format("place", "?3")} AS first_turn FROM here)
SELECT question, answer, tokenizer, question_tokens, answer_tokens, reply.*, first_turn FROM start
JOIN reply ON conversation = place AND id >= first_turn / 2 AND id < ?2
WHERE finished_at IS NOT NULL AND answer <> '' AND forgotten_at IS NULL
UNION ALL
SELECT former.question, former.answer, former.tokenizer, former.question_tokens, former.answer_tokens, reply.*,
       first_turn
FROM start CROSS JOIN former CROSS JOIN reply ON reply.id = former.reply
WHERE conversation = place AND id >= first_turn / 2 AND id < ?2 AND finished_at IS NULL AND former.forgotten_at IS NULL
ORDER BY id
"""
_PENDING = "SELECT * FROM reply WHERE finished_at IS NULL ORDER BY id"
_HELD = "SELECT platform, reply_ref, held_until FROM reply WHERE held_until > ? ORDER BY id"
_ASKED = """
SELECT * FROM reply WHERE id = (SELECT max(id) FROM (
    SELECT max(id) AS id FROM reply WHERE platform = ?1 AND message_id = ?2
    UNION ALL
    SELECT max(reply) FROM piece WHERE platform = ?1 AND message_id = ?2))
"""
# Two searches, since each kind of reply has an index of its own.
_LATEST = """
WITH start AS (SELECT coalesce((SELECT first_turn FROM conversation WHERE key = ?1), 0) AS first_turn)
SELECT * FROM reply WHERE id = (SELECT max(id) FROM (
    SELECT max(id) AS id FROM reply, start WHERE conversation = ?1 AND id >= first_turn / 2 AND finished_at IS NOT NULL
        AND forgotten_at IS NULL AND (answer <> '' OR NOT ?2)
    UNION ALL
    SELECT max(id) FROM reply, start WHERE conversation = ?1 AND id >= first_turn / 2 AND finished_at IS NULL
        AND forgotten_at IS NULL))
"""
_OF_POST = f"""
SELECT reply.* FROM post CROSS JOIN reply ON post.reply = reply.id
WHERE {IS_NAMED.format("?1")} AND platform = ?2 AND chat = ?3 AND topic = ?4
"""
_POSTS = "SELECT part, ref FROM post WHERE reply = ?"
_PRIVATE = """
SELECT platform, chat, topic, private, guild, person FROM reply WHERE platform = ? AND private
GROUP BY conversation ORDER BY max(id) DESC LIMIT ?
"""
_TIMINGS = f"SELECT {', '.join(_TIMING)} FROM timing WHERE at >= ? ORDER BY at DESC, reply DESC LIMIT ?"
_TIMINGS_OF = f"""
SELECT {", ".join(f"timing.{name}" for name in _TIMING)} FROM reply JOIN timing ON timing.reply = reply.id
WHERE reply.platform = ? AND author = ? ORDER BY received_at DESC, reply.id DESC LIMIT ?
"""


class Store:
    """What outlives the process; made by `open_store`.

    Every method does all that it says or nothing, and raises `StoreError` when the database cannot do it.
    """

    def __init__(self, database: Database, clock: Clock, idle_reset: float) -> None:
        self._database = database
        self._clock = clock
        self._idle_reset = idle_reset
        self.access = AccessBook(database, clock)
        """What is kept about who may talk."""
        self.choices = ChoiceBook(database)
        """What conversations have chosen."""
        self.revisions = Revisions(database, clock)
        """How answers begin again and are forgotten."""
        self.pieces = Pieces(database, clock)
        """The messages that questions are made of."""

    async def first_seen(self, platform: str, event_id: str) -> bool:
        """Remember an event that is no question (a command); whether it is the first time that it is delivered."""
        return await self._database.write(_REMEMBER, platform, event_id, self._clock.wall()) == 1

    async def first_refusal(self, platform: str, person: int) -> bool:
        """Remember that a stranger was refused; whether it is the first time, so that they are told only once."""
        return await self._database.write(_REFUSE, platform, person) == 1

    async def ask(self, question: Question) -> Kept | None:
        """Keep a question until it is answered; None when it was delivered before.

        A conversation that was idle for too long begins anew with it. A quotation of the answer with which the history
        ends anyway is left out.
        """
        message, now = question.message, self._clock.wall()
        platform, key, quoted = message.conversation.platform, message.conversation.key, message.quoted
        received_at = message.received_at - self._clock.now() + now

        def keep(connection: sqlite3.Connection) -> Kept | None:
            if connection.execute(_REMEMBER, (platform, message.event, now)).rowcount == 0:
                return None
            # Of a message that was heard as an edit first the text may come later, without a version.
            connection.execute(_REMEMBER, (platform, message.id, now))
            if self._idle_reset < inf:
                reset_if_idle(connection, key, now - self._idle_reset)
            known = quoted and quoted.post and ends_with(connection, key, quoted.post)
            kept = replace(question, message=replace(message, quoted=None)) if known else question
            reply = connection.execute(_ASK, question_row(kept, received_at)).lastrowid
            return None if reply is None else Kept(reply, kept)

        return await self._database.transaction(keep)

    async def attach(self, reply: int, files: Sequence[Attachment]) -> None:
        """Keep what was read of the files that came with a question: nobody has to load them again."""
        # Elsewhere: they can be megabytes.
        await self._database.write(_ATTACH, await asyncio.to_thread(pack_files, files), reply)

    async def draft(self, reply: int, answer: Answer | None, begun: int, spent: int = 0) -> None:
        """Keep what the screen is about to show of an answer, for a start that finds it unfinished.

        ``answer`` is what is written so far, in the state "streaming" (None: nothing yet); ``begun`` counts its
        messages, with one that is about to be posted; ``spent`` are the tokens that the engine needed so far. Never
        takes the place of a text that `answered` has kept.
        """

        def keep(connection: sqlite3.Connection) -> None:
            if answer is None or not connection.execute(_DRAFT, (*answer_row(answer), begun, spent, reply)).rowcount:
                connection.execute(_BEGIN, (begun, reply))

        await self._database.transaction(keep)

    async def refused(self, reply: int, begun: int, seconds: float) -> None:
        """So many messages were ``begun``; the platform takes no call for ``seconds``; the longest wait counts."""
        until = self._clock.wall() + seconds if seconds else 0.0
        await self._database.write(_REFUSED, begun, until, reply)

    async def posted(self, reply: int, part: int, post_ref: str) -> None:
        """Keep the `Post.ref` of a part (0, 1, …) that is on the platform now."""
        await self._database.write(_POST, reply, part, post_ref)

    async def answered(self, reply: int, answer: Answer) -> None:
        """Keep what the engine wrote until the platform has acknowledged it (`finish`)."""
        await self._database.write(_ANSWER, *answer_row(answer), None, reply)

    async def finish(
        self,
        reply: int,
        answer: Answer,
        timing: Timing | None = None,
        trimming: Trimming | None = None,
        *,
        tokens: int | None = None,
    ) -> None:
        """The platform shows the whole answer: both turns enter the history, and the reply is pending no more.

        ``trimming``: when the prompt was trimmed; the model's history begins there from now on (it never moves back).
        To drop all that came before this exchange, name one more than the last turn's id. ``tokens``: what the engine
        needed for it beside what ``timing`` says; None: what was noted of that. Finishing twice changes nothing.
        """
        now = self._clock.wall()

        def keep(connection: sqlite3.Connection) -> None:
            if connection.execute(_ANSWER, (*answer_row(answer), now, reply)).rowcount:
                spend(connection, reply, tokens, now)
            complete(connection, reply)
            if timing is not None:
                connection.execute(_TIME, (reply, *(getattr(timing, name) for name in _TIMING)))
            if trimming is not None:
                trim(connection, reply, trimming)

        await self._database.transaction(keep)

    async def fail(self, reply: int, state: State) -> None:
        """Give up on a reply: it is pending no more and leaves nothing in the history but what was there before."""
        now = self._clock.wall()

        def give_up(connection: sqlite3.Connection) -> None:
            if not bring_back(connection, reply, now):
                connection.execute(_FAIL, (state.value, now, reply))

        await self._database.transaction(give_up)

    async def history(
        self, conversation: str, tokenizer: str, before: int | None = None, *, model: str = ""
    ) -> list[Turn]:
        """The finished turns of a conversation (`Conversation.key`), oldest first, questions and answers in turn.

        From its first turn on, as `reset` has set it, and `finish` for ``model`` ("": for none), to the reply
        ``before`` (None: to the end); without answers of no text and what is forgotten. Tokens are given when
        ``tokenizer`` made them, a `Tokenizer.fingerprint`.
        """
        rows = await self._database.read(_HISTORY, conversation, _LAST if before is None else before, model)
        return await read_aside(rows, partial(read_history, rows, tokenizer))

    async def reset(self, conversation: str) -> None:
        """Let a conversation's history begin anew; an answer under way belongs to the old one. Deletes nothing."""
        await self._database.write(RESET, conversation)

    async def move(self, old: Conversation, new: Conversation) -> None:
        """Let all that was said at the place of ``old`` have been said at that of ``new``, and go on there."""
        await self._database.transaction(lambda connection: move(connection, old, new))

    async def is_idle(self, conversation: str) -> bool:
        """Whether the next question begins a conversation anew by itself."""
        since = self._clock.wall() - self._idle_reset
        return bool(await self._database.read(IS_IDLE, conversation, since))

    async def unfinished(self) -> list[Unfinished]:
        """The pending replies, oldest first: what a start has to take up again."""
        return [await self._read(row) for row in await self._database.read(_PENDING)]

    async def held(self) -> list[tuple[str, str, float]]:
        """Where platforms want no calls yet: platform, `Reply.ref`, until when in seconds of `Clock.now`."""
        epoch = self._clock.wall() - self._clock.now()
        rows = await self._database.read(_HELD, self._clock.wall())
        return [(row["platform"], row["reply_ref"], row["held_until"] - epoch) for row in rows]

    async def of_post(self, where: Conversation, post_ref: str) -> Unfinished | None:
        """The reply that the message ``post_ref`` there belongs to, with its text if it has one; whosever it is.

        None for a message that is not known: it was posted without an answer to that, or is too old.
        """
        rows = await self._database.read(_OF_POST, post_ref, where.platform, where.chat, where.topic)
        return await self._read(rows[0]) if rows else None

    async def asked(self, platform: str, message_id: str) -> Unfinished | None:
        """The reply to a message (`Message.id`) of a platform; None when that is no part of a question taken in."""
        rows = await self._database.read(_ASKED, platform, message_id)
        return await self._read(rows[0]) if rows else None

    async def latest(self, conversation: str, *, remembered: bool = False) -> Unfinished | None:
        """The last reply of a conversation since its beginning that was not forgotten; None when there is none.

        ``remembered``: the last one that is in the history, or will be.
        """
        rows = await self._database.read(_LATEST, conversation, remembered)
        return await self._read(rows[0]) if rows else None

    async def revise(self, reply: int, revision: Revision) -> Unfinished | None:
        """See `Revisions.begin`; what there is of the reply then, None when the revision was applied before."""
        if not await self.revisions.begin(reply, revision):
            return None
        rows = await self._database.read("SELECT * FROM reply WHERE id = ?", reply)
        return await self._read(rows[0])

    async def reopen(self, reply: int, by: int) -> bool:
        """Take an interrupted reply up again, with its text so far as a draft; False when somebody else has.

        What was forgotten is remembered again. What it needs from now on counts for ``by``.
        """
        now = self._clock.wall()

        def reopen(connection: sqlite3.Connection) -> bool:
            if not connection.execute(_REOPEN, (reply,)).rowcount:
                return False
            ask(connection, reply, by, now, questions=0)
            return True

        return await self._database.transaction(reopen)

    async def _read(self, row: sqlite3.Row) -> Unfinished:
        received_at = row["revised_at"] or row["received_at"]
        received_at += self._clock.now() - self._clock.wall()
        question = await read_aside((row,), partial(read_question, row, received_at))
        posts = read_posts(await self._database.read(_POSTS, row["id"]), row["begun"])
        pieces = [Piece(*piece) for piece in await self._database.read(OF, row["id"])]
        return Unfinished(row["id"], question, posts, read_answer(row), row["revised_at"] is not None, pieces)

    async def private_chats(self, platform: str, limit: int = 200) -> list[Conversation]:
        """Where people have asked something in private, the latest first, ``limit`` of them at most."""
        return [read_conversation(row) for row in await self._database.read(_PRIVATE, platform, limit)]

    async def timings(self, since: float, limit: int = 10_000) -> list[Timing]:
        """The timings of questions received at ``since`` (seconds since the epoch) or later, the newest ``limit``.

        Oldest first.
        """
        rows = await self._database.read(_TIMINGS, since, limit)
        return [Timing(*row) for row in reversed(rows)]

    async def timings_of(self, platform: str, person: int, limit: int) -> list[Timing]:
        """The timings of the last ``limit`` answers to questions of one person, the newest first."""
        return [Timing(*row) for row in await self._database.read(_TIMINGS_OF, platform, person, limit)]
