"""What is kept of answers that are written anew, and of exchanges that are forgotten."""

import sqlite3

from clawdbot.clock import Clock
from clawdbot.store.database import Database
from clawdbot.store.pieces import put, take_out
from clawdbot.store.records import Answer, Revision, read_answer
from clawdbot.store.spending import ask, spend

_KEEP = """
INSERT INTO former (reply, question, state, answer, tokenizer, question_tokens, answer_tokens, forgotten_at)
SELECT id, question, state, answer, tokenizer, question_tokens, answer_tokens, forgotten_at FROM reply
WHERE id = ? AND answer <> '' AND state IN ('final', 'stopped', 'interrupted')
ON CONFLICT DO NOTHING
"""
_BEGIN = """
UPDATE reply SET revised_at = coalesce(?1, revised_at), finished_at = NULL,
                 forgotten_at = iif(?1 IS NULL, forgotten_at, NULL),
                 free = free OR (?1 IS NOT NULL AND state = 'failed'),
                 state = 'asked', answer = NULL, tokenizer = NULL, question_tokens = NULL, answer_tokens = NULL
WHERE id = ?2
"""
_BRING_BACK = """
UPDATE reply SET (question, state, answer, tokenizer, question_tokens, answer_tokens, forgotten_at, finished_at) =
    (SELECT question, state, answer, tokenizer, question_tokens, answer_tokens, forgotten_at, ?
     FROM former WHERE former.reply = reply.id)
WHERE id = ? AND finished_at IS NULL AND EXISTS (SELECT 1 FROM former WHERE former.reply = reply.id)
"""
_PENDING = "SELECT finished_at IS NULL FROM reply WHERE id = ?"
_DROP = "DELETE FROM former WHERE reply = ?"
_REMEMBER = (
    "INSERT INTO event (platform, id, at) SELECT platform, ?, ? FROM reply WHERE id = ? ON CONFLICT (platform, id) "
    "DO NOTHING"
)
_SEEN = "SELECT 1 FROM event WHERE platform = ? AND id = ?"
_FORGET = "UPDATE reply SET forgotten_at = ? WHERE id = ? AND forgotten_at IS NULL"
_FORGET_FORMER = "UPDATE former SET forgotten_at = ? WHERE reply = ?"


class Revisions:
    """How answers begin again and are forgotten. Every method raises `StoreError`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def begin(self, reply: int, revision: Revision, spent: int | None = None) -> bool:
        """Let a reply be pending again, with its question as ``revision`` has it; False when that was done before.

        Its answer, if there is one, is kept until another one is finished. What was forgotten is remembered again:
        whoever wants it anew wants to go on from it. ``spent``: the tokens of the run that this cuts short; None: what
        was noted of one.
        """
        now = self._clock.wall()

        def keep(connection: sqlite3.Connection) -> bool:
            if revision.event and not connection.execute(_REMEMBER, (revision.event, now, reply)).rowcount:
                return False
            ((pending,),) = connection.execute(_PENDING, (reply,))
            connection.execute(_KEEP, (reply,))
            again = None if revision.by is None else now
            connection.execute(_BEGIN, (again, reply))
            if revision.piece is not None:
                put(connection, reply, revision.piece)
            if revision.removed:
                take_out(connection, reply, revision.removed)
            spend(connection, reply, spent if pending else None, now)  # of one that was finished all is counted
            if revision.by is not None:
                ask(connection, reply, revision.by, now, questions=1)
            return True

        return await self._database.transaction(keep)

    async def take_back(self, reply: int) -> Answer | None:
        """Give a pending reply the question and the answer back that it had; the answer, None when it had none.

        It stays pending, since the screen may show something else.
        """

        def restore(connection: sqlite3.Connection) -> Answer | None:
            if not bring_back(connection, reply, None):
                return None
            row = connection.execute("SELECT * FROM reply WHERE id = ?", (reply,)).fetchone()
            return read_answer(row)

        return await self._database.transaction(restore)

    async def seen(self, platform: str, event: str) -> bool:
        """Whether an event (`Message.event`) was taken in before."""
        return bool(await self._database.read(_SEEN, platform, event))

    async def forget(self, reply: int) -> bool:
        """Let an exchange be in the history no more, finished or not; False when it was forgotten before."""
        now = self._clock.wall()

        def forget(connection: sqlite3.Connection) -> bool:
            connection.execute(_FORGET_FORMER, (now, reply))
            return connection.execute(_FORGET, (now, reply)).rowcount == 1

        return await self._database.transaction(forget)


def bring_back(connection: sqlite3.Connection, reply: int, finished_at: float | None) -> bool:
    """Within a transaction: undo the revision of a pending reply; False when it had no answer before."""
    brought = connection.execute(_BRING_BACK, (finished_at, reply)).rowcount == 1
    connection.execute(_DROP, (reply,))
    return brought


def complete(connection: sqlite3.Connection, reply: int) -> None:
    """Within a transaction: what was written anew is there."""
    connection.execute(_DROP, (reply,))
