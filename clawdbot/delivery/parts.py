"""The messages of one answer: what each shows, and the single calls that change it."""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from itertools import chain
from math import inf, isinf
from typing import Literal

from clawdbot.chat import Bucket, Frame, Pace, Reply, State
from clawdbot.clock import Clock, within
from clawdbot.delivery.calls import told
from clawdbot.delivery.outbox import Journal
from clawdbot.delivery.pace import Budgets, Urgency
from clawdbot.delivery.part import LEFT_OVER, Part
from clawdbot.delivery.preview import Preview
from clawdbot.errors import DeliveryError, Gone, Limited, Moved, StoreError, Unreachable, Unsure

log = logging.getLogger(__name__)

# Seconds of a growing text that a crash may cost: so often the text on the screen is noted.
NOTE_EVERY = 3.0
# Seconds that a growing text waits for being noted before it is posted; it takes less than a millisecond.
NOTE_PATIENCE = 0.02
# Seconds; a wait that the platform asks for is over by the next start if it is shorter.
LONG_WAIT = 5.0


class Parts:
    """An answer as a row of messages; one call at a time changes one of them.

    ``posts`` are the messages that a former process noted, each None when it may have been sent or not; it is None
    itself when there was no such process. A call that was begun is never cancelled, whoever waits for it: its outcome
    is always taken down.
    """

    def __init__(
        self,
        reply: Reply,
        *,
        key: str,
        budgets: Budgets,
        clock: Clock,
        journal: Journal,
        posts: Sequence[str | None] | None,
        anew: bool = False,
    ) -> None:
        """``anew``: another answer takes the place of one whose messages are ``posts``; they may have been removed."""
        self.call: asyncio.Task[None] | None = None
        """The latest call, under way or done."""
        self.note: asyncio.Task[None] | None = None
        """The latest note of a growing text, under way or done."""
        self.ambiguous_sends = sum(ref is None for ref in posts or ())
        """Sends of which nobody knows whether they posted a message; each was or will be sent again."""
        self.acknowledged_at: float | None = None
        """When the platform acknowledged a call last."""
        self._reply = reply
        self._limits = reply.limits
        self._key = key
        self._budgets = budgets
        self._clock = clock
        self._journal = journal
        self._preview = Preview(reply, budgets, clock)
        self._text_noted_at = -inf
        """When the journal was told of the growing text last."""
        self._taken_up = posts is not None
        self._replaceable = anew
        """Whether messages that turn out to be removed are posted again."""
        self._parts = [Part.taken_up(reply, ref) for ref in posts or ()]

    @property
    def all_gone(self) -> bool:
        """Whether nothing is left of the answer on the screen, because somebody has removed it."""
        return all(part.gone for part in self._parts)

    def differing(self, frames: Sequence[Frame]) -> int | None:
        """The first of ``frames`` that the screen does not show yet; None when it shows them all.

        A message that somebody has removed is not missing, nor one that would only say that it is not needed. One that
        shows its last frame has to show it again where an earlier edit without an answer may have landed behind it.
        """
        missing = (number for number, frame in enumerate(frames) if not self._shows(number, frame))
        in_doubt = (number for number, frame in enumerate(frames) if self._may_be_overwritten(number, frame))
        return next(chain(missing, in_doubt), None)

    def _shows(self, number: int, frame: Frame) -> bool:
        if number >= len(self._parts):
            return self._preview.shows(number, frame)
        return self._parts[number].shows(frame)

    def _may_be_overwritten(self, number: int, frame: Frame) -> bool:
        return number < len(self._parts) and self._parts[number].may_be_overwritten(frame)

    def shown(self, number: int) -> Frame | None:
        """What the platform acknowledged last for message ``number``; None while nobody knows what is there."""
        return self._parts[number].shown if number < len(self._parts) else None

    def covered(self, frames: Sequence[Frame]) -> list[Frame]:
        """``frames`` for every message there is: one more than the answer needs, which cannot be deleted, says so."""
        return [*frames, *[LEFT_OVER] * (len(self._parts) - len(frames))]

    @property
    def pace(self) -> Pace:
        """How fast the answer should grow."""
        grows_there = not self._parts or self._preview.stale_at < inf
        return (self._preview.pace if grows_there else None) or self._limits.pace

    @property
    def stale_at(self) -> float:
        """When something on the screen has to be shown again or it disappears; infinite when nothing has to."""
        return self._preview.stale_at

    def ready_at(self, number: int, frame: Frame, urgency: Urgency) -> float:
        """When message ``number`` may be posted or changed to show ``frame``."""
        if self._is_draft(number, frame):
            return self._preview.ready_at(urgency)
        ready = self._room_at((self._bucket(number), self._limits.bot), urgency)
        again = self.shown(number) == frame
        return max(ready, self._parts[number].settles_at) if again else ready

    def bot_ready_at(self, urgency: Urgency) -> float:
        """When the bot may make any call at all."""
        return self._room_at((self._limits.bot,), urgency)

    def _room_at(self, buckets: Sequence[Bucket], urgency: Urgency) -> float:
        return self._budgets.ready_at(buckets, urgency, self._clock.now(), self._reply.ref)

    async def put(self, number: int, frame: Frame) -> None:
        """Post or change message ``number`` with one call, or its draft. Raises `DeliveryError`.

        A refusal closes the bucket. Cancelling the wait for it does not cancel the call.
        """
        assert self.call is None or self.call.done(), "one call at a time"
        draft = self._is_draft(number, frame)
        buckets = self._preview.buckets if draft else (self._bucket(number), self._limits.bot)
        # At once, and not when the task begins: of all who found this place free only one may take it.
        self._budgets.spend(buckets, self._clock.now())
        make = self._show_draft if draft else self._make_call
        self.call = asyncio.create_task(make(number, frame, buckets))
        self.call.add_done_callback(_retrieve)
        await asyncio.shield(self.call)

    async def hold(self, seconds: float) -> None:
        """Note that the platform wants no calls for so long, if the next process can still be in it."""
        if seconds >= LONG_WAIT:
            await self._note_refusal(seconds)

    def _is_draft(self, number: int, frame: Frame) -> bool:
        """Whether ``frame`` is shown without a message: there is none yet, and there may be drafts instead."""
        return number >= len(self._parts) and self._preview.takes(frame)

    async def _show_draft(self, number: int, frame: Frame, buckets: tuple[Bucket, Bucket]) -> None:
        await self._preview.show(number, frame, buckets)
        self.acknowledged_at = self._clock.now()

    def _bucket(self, number: int) -> Bucket:
        sends = number >= len(self._parts) or self._parts[number].unfinished
        return self._limits.sends if sends else self._limits.edits

    async def _make_call(self, number: int, frame: Frame, buckets: tuple[Bucket, Bucket]) -> None:
        if number == len(self._parts):
            self._parts.append(Part())
        part = self._parts[number]
        post, posts, again = part.post, part.unfinished, part.shown == frame
        began = self._clock.now()
        try:
            await self._announce(number, part, frame)
            kind: Literal["send", "edit"] = "send" if posts else "edit"
            with told(self._budgets.observe, self._limits.platform, kind, self._clock):
                if post is None:
                    part.post = await self._reply.send(frame, f"{self._key}-{number}")
                else:
                    await post.edit(frame)
        except DeliveryError as error:
            if isinstance(error, Limited):
                self._budgets.refuse(*buckets, error, self._clock.now())
            if isinstance(error, Gone) and self._post_again():
                raise Unreachable("The former answer was removed; this one is posted anew.") from error
            self.ambiguous_sends += posts and isinstance(error, Unsure)
            await self._take_down(error, part, frame)
            raise
        finally:
            self._budgets.returned(buckets, self._clock.now())
        another = post is None and (self._taken_up or part.may_turn_out_as_another(frame))
        part.acknowledge(None if another else frame, began)
        if not again:
            self.acknowledged_at = self._clock.now()
        await self._note(number, part)

    def _post_again(self) -> bool:
        """Forget messages that somebody has removed before they showed anything of this answer; whether that is so.

        All of them, or their texts would come in another order; and by another key, which stands for no removed one.
        """
        again = self._replaceable and self.acknowledged_at is None
        self._replaceable = False
        if again:
            self._parts = [Part(begun=True) for _ in self._parts]
            self._key, self._taken_up = f"{self._key}+", False
        return again

    async def _announce(self, number: int, part: Part, frame: Frame) -> None:
        """Note what the coming call may show, where a later process would have to know it.

        What lasts waits for its note. Anything else does so for the moment that it usually takes, where there is more
        than a few seconds' text to lose: each try to post may leave a copy behind, which must not show what is unknown.
        """
        begins, part.begun = not part.begun, True
        if frame.state.lasting:
            if begins:
                await self._tell(self._journal.begin(number + 1))
            return
        now, grows = self._clock.now(), frame.state is State.STREAMING
        news = begins or (grows and (part.post is None or isinf(self._text_noted_at)))
        pending = self.note is not None and not self.note.done()
        if news or (grows and not pending and now - self._text_noted_at >= NOTE_EVERY):
            if grows:
                self._text_noted_at = now
            self.note = asyncio.create_task(self._tell(self._journal.begin(number + 1)))
            if news:
                await within(NOTE_PATIENCE, asyncio.shield(self.note), self._clock)

    async def _take_down(self, error: DeliveryError, part: Part, frame: Frame) -> None:
        """Note what a failed call has left on the screen."""
        if isinstance(error, Unsure):
            part.doubt(frame, self._clock.now())
            return
        if isinstance(error, Moved):
            # What was shown is looked at again from the first message on, so that they come in order.
            for each in self._parts:
                each.forget_shown()
            if part.post is not None:
                part.post = None
                return
        part.gone = isinstance(error, Gone)
        wait = error.retry_after if isinstance(error, Limited) else 0.0
        if part.may_exist:
            await self.hold(wait)
        else:
            part.begun = False
            await self._note_refusal(wait)

    async def _note_refusal(self, wait: float) -> None:
        if self.note is not None:
            await self.note  # or it would come late and say that there may be a message
        await self._tell(self._journal.refused(sum(part.begun for part in self._parts), wait))

    async def _note(self, number: int, part: Part) -> None:
        if part.post is None or part.post.ref == part.noted:
            return
        part.noted = part.post.ref
        await self._tell(self._journal.posted(number, part.noted))

    async def _tell(self, note: Awaitable[None]) -> None:
        try:
            await note
        except StoreError:
            log.exception("What the screen shows of answer %s could not be noted", self._key)


def _retrieve(call: asyncio.Task[None]) -> None:
    """Whoever waited for the call may be gone; its error was taken down all the same."""
    if not call.cancelled():
        call.exception()
