"""Where a conversation's history begins and ends: statements, each within whoever's transaction."""

import sqlite3
from dataclasses import dataclass

RESET = """
INSERT INTO conversation (key, first_turn) SELECT ?, 2 * (coalesce(max(id), 0) + 1) FROM reply WHERE true
ON CONFLICT (key) DO UPDATE SET first_turn = excluded.first_turn
"""
# Not while something is being answered there, however long that takes.
_IDLE = """
(SELECT finished_at FROM reply WHERE conversation = ?1 AND finished_at IS NOT NULL ORDER BY id DESC LIMIT 1) < ?2
AND NOT EXISTS (SELECT 1 FROM reply WHERE conversation = ?1 AND finished_at IS NULL)
"""
IS_IDLE = f"SELECT 1 WHERE {_IDLE}"
"""A row when the last exchange of a conversation was over before the second parameter, seconds since the epoch."""
_RESET_IDLE = f"""
INSERT INTO conversation (key, first_turn) SELECT ?1, 2 * ((SELECT max(id) FROM reply) + 1) WHERE {_IDLE}
ON CONFLICT (key) DO UPDATE SET first_turn = excluded.first_turn
"""
BEGINNING = """
max(coalesce((SELECT first_turn FROM conversation WHERE key = {0}), 0),
    coalesce((SELECT first_turn FROM trimming WHERE conversation = {0} AND model = {1}), 0))
"""
"""The first turn of a conversation's history for a model: what all have begun with, or what that one had to trim."""
_TRIM = """
INSERT INTO trimming (conversation, model, first_turn) SELECT conversation, ?, ? FROM reply WHERE id = ?
ON CONFLICT (conversation, model) DO UPDATE SET first_turn = max(first_turn, excluded.first_turn)
"""
IS_NAMED = "(post.ref = {0} OR post.ref > {0} || '/' AND post.ref < {0} || '0')"  # "0" comes after "/"
"""That the message of a row of ``post`` is the one that an event names: a range, for which there is an index."""
# What any model has trimmed is not taken for known: nobody can say yet which one will answer.
_ENDS_WITH = f"""
SELECT 1 FROM post CROSS JOIN reply ON post.reply = reply.id
WHERE {IS_NAMED.format("?2")} AND conversation = ?1 AND (finished_at IS NULL OR answer <> '')
      AND id >= coalesce((SELECT first_turn / 2 FROM conversation WHERE key = ?1), 0) AND forgotten_at IS NULL
      AND id >= coalesce((SELECT max(first_turn) / 2 FROM trimming WHERE conversation = ?1), 0)
      AND NOT EXISTS (SELECT 1 FROM reply AS later WHERE later.conversation = ?1 AND later.id > reply.id
                      AND later.finished_at IS NOT NULL AND later.answer <> '' AND later.forgotten_at IS NULL)
"""


@dataclass(frozen=True, slots=True)
class Trimming:
    """What one model had no room for."""

    model: str
    """Its name, as people call it."""
    first_turn: int
    """The `Turn.id` that its history begins with from now on."""


def trim(connection: sqlite3.Connection, reply: int, trimming: Trimming) -> None:
    """Let the history of that reply's conversation begin later for one model; it never moves back."""
    connection.execute(_TRIM, (trimming.model, trimming.first_turn, reply))


def reset_if_idle(connection: sqlite3.Connection, conversation: str, since: float) -> None:
    """Let a conversation begin anew whose last exchange was over before ``since``, seconds since the epoch."""
    connection.execute(_RESET_IDLE, (conversation, since))


def ends_with(connection: sqlite3.Connection, conversation: str, post_ref: str) -> bool:
    """Whether a message is of the last answer that the conversation's history has, or will have."""
    return connection.execute(_ENDS_WITH, (conversation, post_ref)).fetchone() is not None
