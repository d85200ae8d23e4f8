"""What is kept of the messages that a question is made of, where it is not one alone.

The question's own columns have what comes of them together; without rows here its one message is all of it.
"""

import json
import sqlite3
from collections.abc import Sequence

from clawdbot.chat import Message
from clawdbot.clock import Clock
from clawdbot.store.database import Database
from clawdbot.store.records import Piece, joined, pack_files

_REMEMBER = "INSERT INTO event (platform, id, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
OF = "SELECT message_id AS id, text, joint, files FROM piece WHERE reply = ? ORDER BY number"
_BEGIN = """
INSERT INTO piece (reply, number, platform, message_id, joint, text, files)
SELECT id, 0, platform, message_id, '', question, json_array_length(coalesce(attached, '[]')) FROM reply
WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM piece WHERE reply = ?1)
"""
_ADD = """
INSERT INTO piece (reply, number, platform, message_id, joint, text, files)
SELECT id, (SELECT max(number) + 1 FROM piece WHERE reply = ?1), platform, ?2, ?3, ?4, ?5 FROM reply WHERE id = ?1
"""
_CHANGE = "UPDATE piece SET text = ?, files = ? WHERE reply = ? AND message_id = ?"
_ALONE = "UPDATE reply SET question = ? WHERE id = ? AND message_id = ?"
_JOIN = "UPDATE reply SET question = ? WHERE id = ?"
_ATTACHED = "SELECT attached FROM reply WHERE id = ?"
_ATTACH = "UPDATE reply SET attached = ? WHERE id = ?"


class Pieces:
    """Questions that grow and shrink by messages, without being asked anew. Every method raises `StoreError`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add(self, reply: int, message: Message) -> bool:
        """Make a further message with its files a part of a question; False when it was delivered before."""
        event = (message.conversation.platform, message.event, self._clock.wall())

        def keep(connection: sqlite3.Connection) -> bool:
            if not connection.execute(_REMEMBER, event).rowcount:
                return False
            put(connection, reply, Piece.of(message))
            if message.files:
                (attached,) = connection.execute(_ATTACHED, (reply,)).fetchone()
                connection.execute(_ATTACH, (_both(attached, pack_files(message.files)), reply))
            return True

        return await self._database.transaction(keep)

    async def silence(self, reply: int, message_id: str) -> None:
        """Let a message that was removed say nothing when its question changes next; until then that is as it was."""
        await self._database.write("UPDATE piece SET text = '' WHERE reply = ? AND message_id = ?", reply, message_id)


def put(connection: sqlite3.Connection, reply: int, piece: Piece) -> None:
    """Within a transaction: let a message of a question say what ``piece`` says; one that is new is its last one."""
    known = pieces_of(connection, reply)
    former = next((each for each in known if each.id == piece.id), None)
    if former is not None:
        connection.execute(_CHANGE, (piece.text, former.files, reply, piece.id))
    elif not known and connection.execute(_ALONE, (piece.text, reply, piece.id)).rowcount:
        return
    else:
        connection.execute(_BEGIN, (reply,))
        connection.execute(_ADD, (reply, piece.id, piece.joint, piece.text, piece.files))
    connection.execute(_JOIN, (joined(pieces_of(connection, reply)), reply))


def take_out(connection: sqlite3.Connection, reply: int, message_id: str) -> None:
    """Within a transaction: let a message of a question say nothing, with its files; the only one stays."""
    before = 0
    for piece in pieces_of(connection, reply):
        if piece.id == message_id:
            connection.execute(_CHANGE, ("", 0, reply, message_id))
            connection.execute(_JOIN, (joined(pieces_of(connection, reply)), reply))
            if piece.files:
                (attached,) = connection.execute(_ATTACHED, (reply,)).fetchone()
                files = json.loads(attached)
                del files[before : before + piece.files]
                connection.execute(_ATTACH, (json.dumps(files) if files else None, reply))
        before += piece.files


def pieces_of(connection: sqlite3.Connection, reply: int) -> Sequence[Piece]:
    """Within a transaction: the messages of a question, in their order; none where it is one alone."""
    return [Piece(*row) for row in connection.execute(OF, (reply,))]


def _both(files: str | None, further: str | None) -> str | None:
    """Two lists as `pack_files` makes them, one behind the other."""
    return f"{files[:-1]}, {further[1:]}" if files and further else files or further
