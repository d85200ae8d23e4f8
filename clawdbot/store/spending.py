"""Tokens that answers needed, beside those in the timing of a first one: statements, each within whoever's transaction.

Each counts once, for whoever asked for that run: the first, one that was wanted anew, or one that goes on.
"""

import sqlite3

_ADD = "UPDATE revision SET tokens = tokens + ? WHERE id = (SELECT max(id) FROM revision WHERE reply = ?)"
_BEGIN = """
INSERT INTO revision (reply, platform, person, at, tokens, questions)
SELECT id, platform, coalesce(?, author), ?, ?, ? FROM reply WHERE id = ?
"""
_NOTED = "SELECT spent FROM reply WHERE id = ?"
_SETTLED = "UPDATE reply SET spent = 0 WHERE id = ?"


def ask(connection: sqlite3.Connection, reply: int, person: int, now: float, *, questions: int) -> None:
    """``person`` has another answer written, or one go on: what it needs is theirs, and it is so many ``questions``."""
    connection.execute(_BEGIN, (person, now, 0, questions, reply))


def spend(connection: sqlite3.Connection, reply: int, tokens: int | None, now: float) -> None:
    """The run of the answer that was under way needed ``tokens``; None: what was noted of it, if anything was."""
    if tokens is None:
        ((tokens,),) = connection.execute(_NOTED, (reply,))
    connection.execute(_SETTLED, (reply,))
    if tokens and not connection.execute(_ADD, (tokens, reply)).rowcount:
        connection.execute(_BEGIN, (None, now, tokens, 0, reply))
