"""What is remembered of an answer on its way, so that the next start can finish it after a crash."""

from typing import Protocol


class Journal(Protocol):
    """Where one live reply notes what a later process has to know."""

    async def posted(self, part: int, post: str) -> None:
        """The platform acknowledged a new message: part number ``part`` (from 0) of the answer is `Post.ref` ``post``.

        Raises `StoreError`; the answer goes on without.
        """
        ...


class NoJournal:
    """A journal for callers that keep nothing, such as answers to commands."""

    async def posted(self, part: int, post: str) -> None:
        """Forget it."""
