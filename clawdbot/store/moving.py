"""A conversation gets another place: statements, each within whoever's transaction."""

import sqlite3

from clawdbot.chat import Conversation

_REPLIES = """
UPDATE reply SET chat = ?5, topic = ?6, conversation = ?2 || substr(conversation, length(?1) + 1)
WHERE platform = ?3 AND chat = ?4 AND topic = ?7
"""
# Where something has begun at the new place already, that counts.
_BEGINNINGS = """
UPDATE OR IGNORE conversation SET key = ?2 || substr(key, length(?1) + 1) WHERE key = ?1 OR key GLOB ?1 || ':*'
"""
_TRIMMINGS = """
UPDATE OR IGNORE trimming SET conversation = ?2 || substr(conversation, length(?1) + 1)
WHERE conversation = ?1 OR conversation GLOB ?1 || ':*'
"""


def move(connection: sqlite3.Connection, old: Conversation, new: Conversation) -> None:
    """Let all that was said at the place of ``old`` have been said at that of ``new``; again changes nothing."""
    places = (old.place, new.place)
    connection.execute(_REPLIES, (*places, old.platform, old.chat, new.chat, new.topic, old.topic))
    connection.execute(_BEGINNINGS, places)
    connection.execute(_TRIMMINGS, places)
