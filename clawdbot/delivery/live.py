"""One answer that grows on the screen by edits of its message."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from math import inf, isinf
from types import TracebackType
from typing import Self

from clawdbot import words
from clawdbot.chat import File, Frame, Reply, State
from clawdbot.clock import Clock, until
from clawdbot.delivery.final import Final
from clawdbot.delivery.finishing import Finishing
from clawdbot.delivery.growth import Growth
from clawdbot.delivery.layout import Layout
from clawdbot.delivery.outbox import Journal, NoJournal
from clawdbot.delivery.pace import Budgets
from clawdbot.delivery.parts import Parts
from clawdbot.delivery.rest import come_to_rest
from clawdbot.delivery.typing import show_typing
from clawdbot.errors import DeliveryError, Forbidden, Gone
from clawdbot.latency.observed import Shown

log = logging.getLogger(__name__)

# Messages of one answer; what does not fit them is attached as a file.
MOST_PARTS = 8


class LiveReply:
    """Brings one answer to its reader: a growing text by frames that may be dropped, then its last form for certain.

    Use it as ``async with LiveReply(...) as live:``, call `show` or `wait` whenever there is news and await `finish`.
    Leaving the block without `finish` leaves the screen as it is. One task writes, with one call under way at most; a
    call is never cancelled, only the wait for it.
    """

    def __init__(
        self,
        reply: Reply,
        *,
        key: str,
        budgets: Budgets,
        clock: Clock,
        journal: Journal | None = None,
        posts: Sequence[str | None] | None = None,
        most_parts: int = MOST_PARTS,
        footnote: str = "",
        anew: bool = False,
    ) -> None:
        """``key`` names the answer in 20 characters at most, ``footnote`` is the longest that it may get.

        An answer that was begun before is taken up again with the same key and with ``posts``, the `Post.ref` of every
        message that its journal knows, perhaps none; None stands for one that may have been sent or not. ``anew``: it
        is another answer in those messages, and is posted again where they were removed. Until its first word comes
        they show the former one, without a way to stop this one; so a notice says after a second what happens.
        """
        self._reply = reply
        self._budgets = budgets
        self._clock = clock
        journal = journal or NoJournal()
        self._parts = Parts(reply, key=key, budgets=budgets, clock=clock, journal=journal, posts=posts, anew=anew)
        self._buckets = (reply.limits.edits, reply.limits.bot)
        allowed = reply.limits.messages
        most = most_parts if allowed is None else min(most_parts, allowed - 1)
        self._layout = Layout(reply.limits, most, footnote)
        self._growth = Growth(reply.limits.pace, clock.now())
        self._growth.notice = self._usual = words.WRITING_ANEW if anew and any(posts or ()) else ""
        self._finishing = Finishing(Final(self._layout, [], ""), self._parts, clock)
        self._first_visible: float | None = None
        self._complete: float | None = None
        self._changed = asyncio.Event()
        """There may be something to write."""
        self._ending = asyncio.Event()
        """No more growing frames."""
        self._readable = asyncio.Event()
        """There is text, or there will never be: no more typing."""
        self._writer: asyncio.Task[None] | None = None
        self._typist: asyncio.Task[None] | None = None

    @property
    def first_showable(self) -> float | None:
        """When the text first had two visible characters, seconds of `Clock.now`."""
        return self._growth.first_showable

    @property
    def first_visible(self) -> float | None:
        """When the platform acknowledged the first frame with text, seconds of `Clock.now`."""
        return self._first_visible

    @property
    def complete(self) -> float | None:
        """When the platform had acknowledged the finished text in all its parts, seconds of `Clock.now`."""
        return self._complete

    @property
    def lost(self) -> DeliveryError | None:
        """Why nothing can be shown any more (`Gone`, `Forbidden`): generating the rest is of no use."""
        return self._finishing.lost

    @property
    def ambiguous_sends(self) -> int:
        """Sends of which nobody knows whether they posted a message."""
        return self._parts.ambiguous_sends

    def show(self, text: str) -> None:
        """Show ``text``, the whole text so far, as soon as the platform takes it; the latest one counts."""
        self._growth.show(text, self._clock.now())
        if self._growth.readable:
            self._readable.set()
        self._changed.set()

    def wait(self, notice: str) -> None:
        """Show ``notice`` if there is still no text after a second; "" when the wait is over."""
        self._growth.notice = notice or self._usual
        self._changed.set()

    async def finish(
        self, text: str, state: State, files: Sequence[File] = (), *, private: bool = False, footnote: str = ""
    ) -> None:
        """Show the finished text for certain; returns when the platform acknowledged it in all its parts.

        ``text`` is without the mark of its ``state``. May be called again, with a later word. Where the platform does
        not take the text it is shown as a file. Raises `Gone`, `Forbidden` or `Rejected` when it will never be shown;
        what is on the screen then says so, as far as that is possible. If the wait is cancelled, delivery goes on until
        the block is left.
        """
        if state is not State.FAILED:
            self._growth.finish(text, self._clock.now())
        frames = self._layout.final(text, state, files, private=private, footnote=footnote)
        self._finishing.final = Final(self._layout, frames, text)
        self._complete = None
        self._ending.set()
        self._changed.set()
        self._readable.set()
        if self._writer is None or self._writer.done():
            self._writer = self._start_writer()
        await asyncio.shield(self._writer)

    def leave_off(self) -> None:
        """Begin no further call; one that is under way goes on."""
        self._readable.set()
        if self._writer is not None:
            # The calls are tasks of their own: this ends nothing but waits.
            self._writer.cancel()

    @property
    def at_rest(self) -> bool:
        """Whether no call is under way, nor a note of one."""
        return not self._under_way

    async def rest(self) -> None:
        """Return when that has ended; cancelling the wait cancels nothing else."""
        if under_way := self._under_way:
            await asyncio.wait(under_way)

    @property
    def _under_way(self) -> list[asyncio.Task[None]]:
        tasks = (self._writer, self._typist, self._parts.call, self._parts.note)
        return [task for task in tasks if task and not task.done()]

    async def __aenter__(self) -> Self:
        self._writer = self._start_writer()
        self._typist = asyncio.create_task(
            show_typing(self._reply, self._readable, self._budgets, self._clock, self._parts.hold)
        )
        self._typist.add_done_callback(_report)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.leave_off()
        if not self.at_rest:
            await come_to_rest(self.rest(), self._reply.ref, self._clock)
        if sends := self.ambiguous_sends:
            what = "send got no answer and was" if sends == 1 else "sends got no answer and were"
            log.warning("%s: %d %s sent again", self._reply.ref, sends, what)

    def _start_writer(self) -> asyncio.Task[None]:
        writer = asyncio.create_task(self._write())
        writer.add_done_callback(_report)
        return writer

    async def _write(self) -> None:
        await self._grow_while(lambda: not self._growth.readable)
        self._budgets.join(self._buckets)
        try:
            await self._grow_while(lambda: True)
        finally:
            self._budgets.leave(self._buckets)
        await self._finishing.run(self._put)
        self._complete = self._parts.acknowledged_at

    async def _grow_while(self, wanted: Callable[[], bool]) -> None:
        """Show frames as long as they are wanted and the finished text is not there."""
        while wanted() and not self._ending.is_set() and self.lost is None:
            self._changed.clear()
            await self._rest(await self._step())
        if self.lost is not None:
            await self._ending.wait()

    async def _step(self) -> float:
        """Make the next call if its time has come; the seconds until there may be something to do again."""
        now = self._clock.now()
        self._growth.pace = self._parts.pace
        due = self._growth.due(lambda last: self._budgets.fair_at(self._buckets, last))
        if due > now:
            return due - now
        urgency = self._growth.urgency(visible_yet=self._first_visible is not None)
        # Whatever will be called: a crowd that waits for the bot's budget must not lay its texts out for nothing.
        if (early := self._parts.bot_ready_at(urgency) - now) > 0:
            return early
        frames = self._wanted()
        number = self._parts.differing(frames)
        if number is None:
            return inf
        if (early := self._parts.ready_at(number, frames[number], urgency) - now) > 0:
            return early
        await self._try(number, frames)
        return 0.0

    def _wanted(self) -> list[Frame]:
        if self._growth.readable:
            return self._layout.growing(self._growth.text)
        return [Frame(self._growth.notice, State.WAITING)]

    async def _try(self, number: int, frames: Sequence[Frame]) -> None:
        """Make one call that may fail; then the next frame tries again."""
        started = self._clock.now()
        done = number == len(frames) - 1
        try:
            await self._put(number, frames[number])
        except (Gone, Forbidden) as error:
            self._finishing.lost = error
        except DeliveryError as error:
            log.debug("A frame for %s was dropped: %s", self._reply.ref, error)
            done = True
        if done:
            self._growth.tried(frames[number].state, started, self._clock.now())

    async def _rest(self, seconds: float) -> None:
        if isinf(seconds):
            # What is stale by now and was not shown again is not wanted any more.
            fresh_for = self._parts.stale_at - self._clock.now()
            if 0.0 < fresh_for < inf:
                await until(self._changed, fresh_for, self._clock)
            else:
                await self._changed.wait()
        else:
            # Once text is there, only its end may cut a wait short: tokens must not wake the writer one by one.
            await until(self._ending if self._growth.frames else self._changed, seconds, self._clock)

    async def _put(self, number: int, frame: Frame) -> None:
        since = self._growth.unseen_since
        if frame.state is not State.WAITING:
            self._growth.unseen_since = None
        try:
            await self._parts.put(number, frame)
        except DeliveryError:
            self._growth.unseen_since = since or self._growth.unseen_since
            raise
        if since is not None and frame.state is not State.WAITING:
            self._budgets.observe(Shown(self._reply.limits.platform, self._clock.now() - since))
        if self._first_visible is None and frame.state not in (State.WAITING, State.FAILED):
            self._first_visible = self._parts.acknowledged_at


def _report(task: asyncio.Task[None]) -> None:
    """A failed delivery is the caller's affair; anything else is a fault of this program and must not pass unseen."""
    if not task.cancelled() and (error := task.exception()) and not isinstance(error, DeliveryError):
        log.error("A task of a live reply failed", exc_info=error)
