"""What is remembered of an answer on its way, so that the next start can finish it after a crash."""

from typing import Protocol


class Journal(Protocol):
    """Where one live reply notes what a later process has to know: before a call and after it.

    Every method may raise `StoreError`; the answer goes on without that note.
    """

    async def begin(self, parts: int) -> None:
        """A call is about to be made: the text so far may be seen from now on, in so many messages."""
        ...

    async def posted(self, part: int, post: str) -> None:
        """Part number ``part`` (from 0) of the answer is on the platform as `Post.ref` ``post``; the latest counts."""
        ...

    async def refused(self, parts: int, seconds: float) -> None:
        """The call had no effect for certain: there are ``parts`` messages at most, and no calls for ``seconds``."""
        ...


class NoJournal:
    """A journal for callers that keep nothing, such as answers to commands."""

    async def begin(self, parts: int) -> None:
        """Forget it."""

    async def posted(self, part: int, post: str) -> None:
        """Forget it."""

    async def refused(self, parts: int, seconds: float) -> None:
        """Forget it."""
