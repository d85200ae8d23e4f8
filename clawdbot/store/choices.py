"""What conversations have chosen."""

from clawdbot.store.database import Database

_CHOOSE = """
INSERT INTO choice (conversation, kind, name) VALUES (?, ?, ?)
ON CONFLICT (conversation, kind) DO UPDATE SET name = excluded.name
"""


class ChoiceBook:
    """A part of the `Store`: its methods do all that they say or nothing, and raise `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_kind(self, kind: str) -> dict[str, str]:
        """The names that were chosen, by `Conversation.key`."""
        rows = await self._database.read("SELECT conversation, name FROM choice WHERE kind = ?", kind)
        return {row["conversation"]: row["name"] for row in rows}

    async def choose(self, conversation: str, kind: str, name: str) -> None:
        """Keep that a conversation has chosen ``name``."""
        await self._database.write(_CHOOSE, conversation, kind, name)

    async def forget(self, conversation: str, kind: str) -> None:
        """Keep that it has the default again."""
        await self._database.write("DELETE FROM choice WHERE conversation = ? AND kind = ?", conversation, kind)
