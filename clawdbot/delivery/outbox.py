"""What is remembered of an answer on its way, so that the next start can finish it after a crash."""

from typing import Protocol


class Journal(Protocol):
    """Where one live reply notes what a later process has to know."""

    async def posted(self, part: int, post: str) -> None:
        """Part number ``part`` (from 0) of the answer is on the platform as `Post.ref` ``post``; the latest counts.

        Raises `StoreError`; the answer goes on without.
        """
        ...


class NoJournal:
    """A journal for callers that keep nothing, such as answers to commands."""

    async def posted(self, part: int, post: str) -> None:
        """Forget it."""
