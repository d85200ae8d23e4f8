"""One answer under way, and the means to end it or to begin it again, wherever it is."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

from clawdbot.chat import State, place_of
from clawdbot.store import Revision

Pending = tuple[Revision, "asyncio.Future[bool]"]


class Scope:
    """A block that somebody else may end: it is left early then, without an error. Good for one entry."""

    def __init__(self) -> None:
        self._ended = False
        self._task: asyncio.Task[Any] | None = None
        """The task inside the block."""

    def end(self) -> None:
        """End the block, now or as soon as it is entered; after the block that does nothing."""
        if not self._ended:
            self._ended = True
            if self._task is not None:
                self._task.cancel()

    async def __aenter__(self) -> None:
        self._task = asyncio.current_task()
        if self._ended and self._task is not None:
            self._task.cancel()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        task, self._task = self._task, None
        if not self._ended or task is None:
            self._ended = True
            return False
        if kind is None:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)  # the block had no wait left in which the cancellation could arrive
        # `end` cancelled the task once; whatever is left then is a cancellation from elsewhere, which goes on.
        elsewhere = task.uncancel() > 0
        if elsewhere and kind is None:
            raise asyncio.CancelledError
        return not elsewhere and kind is not None and issubclass(kind, asyncio.CancelledError)


class Ticket:
    """One answer under way.

    Used as a block around the writing: ``async with ticket:`` is left early, without an error, when somebody calls
    `stop` or `revise`. It may be entered again after a revision.
    """

    def __init__(self, conversation: str, message_id: str, asker: int) -> None:
        self.conversation = conversation
        self.place = place_of(conversation)
        """Where its messages are; several conversations may be there."""
        self.message_id = message_id
        self.asker = asker
        self.posts: set[str] = set()
        """`Post.ref` of the messages that the answer has on the screen, and `Reply.ref`, which a draft goes by."""
        self.cut: State | None = None
        """Why the answer was cut short; None as long as it was not."""
        self.written = False
        """Whether the text is what it will be and only has to be delivered: nothing is left to stop."""
        self._scope = Scope()
        """The block that the answer's task is in, or was in last."""
        self._revisions: list[Pending] = []
        """Those that came and were not taken yet, oldest first."""
        self._wanted = asyncio.Event()
        """Whether there are any."""

    def is_of(self, conversation: str, asker: int) -> bool:
        """Whether ``asker`` asked for it, somewhere on the platform of ``conversation``; ids are a platform's own."""
        return person_of(self.conversation, self.asker) == person_of(conversation, asker)

    def answers(self, platform: str, message_id: str) -> bool:
        """Whether it answers that message."""
        return self.message_id == message_id and self.conversation.partition(":")[0] == platform

    def shows(self, post: str) -> bool:
        """Whether ``post``, as an event names it (`Pressed.post`), is one of its messages, or its draft."""
        return any(ref == post or ref.startswith(f"{post}/") for ref in self.posts)

    @property
    def revised(self) -> bool:
        """Whether a revision waits to be taken."""
        return bool(self._revisions)

    async def until_revised(self) -> None:
        """Return when a revision waits to be taken."""
        await self._wanted.wait()

    def stop(self, state: State = State.STOPPED) -> None:
        """End the writing, now or as soon as it begins. The first reason counts; after it none does."""
        if self.cut is None and not self.written:
            self.cut = state
            self._scope.end()

    def revise(self, revision: Revision) -> "asyncio.Future[bool]":
        """Let the answer begin again, from wherever it is, even while it is being delivered.

        What is returned is done when the revision is in the store; false when the answer had just ended and took none.
        """
        taken = asyncio.get_running_loop().create_future()
        self._revisions.append((revision, taken))
        self._wanted.set()
        self.cut, self.written = None, False
        self._scope.end()
        return taken

    @contextmanager
    def taking(self) -> Iterator[list[Pending]]:
        """Those that came since the last time, oldest first; whoever takes one says when it is in the store.

        Of whom nothing was said by the end of the block is told that it was not taken.
        """
        revisions, self._revisions = self._revisions, []
        self._wanted.clear()
        try:
            yield revisions
        finally:
            for _, taken in revisions:
                if not taken.done():
                    taken.set_result(False)

    def leave(self) -> None:
        """The answer is over: what came too late is told so."""
        with self.taking():
            pass

    def showing(self) -> Scope:
        """The block around the delivery of what is written: only a revision ends it early."""
        self._scope = Scope()
        if self.revised:
            self._scope.end()
        return self._scope

    async def __aenter__(self) -> None:
        self._scope = Scope()
        self.written = False
        if self.cut is not None or self.revised:
            self._scope.end()
        await self._scope.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self.written = not self.revised
        return await self._scope.__aexit__(kind, error, traceback)


def person_of(conversation: str, asker: int) -> tuple[str, int]:
    """Who asks, by platform: ids are a platform's own."""
    return conversation.partition(":")[0], asker


def may_change(asker: int, person: int, *, admin: bool) -> bool:
    """Whether ``person`` may stop, renew or forget what ``asker`` asked for: they themselves, and admins."""
    return admin or person == asker
