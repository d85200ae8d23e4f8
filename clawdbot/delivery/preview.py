"""The draft in which an answer grows where the platform has drafts: on the screen, but no message yet."""

from math import inf

from clawdbot.chat import Bucket, Drafting, Drafts, Frame, Pace, Reply
from clawdbot.clock import Clock
from clawdbot.delivery.calls import told
from clawdbot.delivery.pace import Budgets, Urgency
from clawdbot.errors import Limited


class Preview:
    """What an answer's reply can show as a draft, and what of it is there now.

    Only the end of an answer that still grows is a draft: what comes before it, and what lasts, are messages.
    """

    def __init__(self, reply: Reply, budgets: Budgets, clock: Clock) -> None:
        self._place = reply.ref
        self._reply = reply if isinstance(reply, Drafting) else None
        self._limits = reply.limits
        self._budgets = budgets
        self._clock = clock
        self._shown: tuple[int, Frame] | None = None
        """The number of the message that it will be, and what it shows."""
        self._shown_at = -inf

    def takes(self, frame: Frame) -> bool:
        """Whether ``frame`` would be shown as a draft."""
        return frame.last and not frame.state.lasting and self._drafts is not None

    def shows(self, number: int, frame: Frame) -> bool:
        """Whether ``frame``, which will be message ``number``, is on the screen."""
        return self._shown == (number, frame) and self._clock.now() < self.stale_at

    @property
    def stale_at(self) -> float:
        """When it has to be shown again; infinite when there is none."""
        drafts = self._drafts
        return inf if drafts is None or self._shown is None else self._shown_at + drafts.renew

    @property
    def pace(self) -> Pace | None:
        """How fast it should grow; None where there are no drafts."""
        return None if self._drafts is None else self._drafts.pace

    @property
    def buckets(self) -> tuple[Bucket, Bucket]:
        """What the next draft spends; only for a frame that it `takes`."""
        assert self._drafts is not None, "there are no drafts"
        return self._drafts.bucket, self._limits.bot

    def ready_at(self, urgency: Urgency) -> float:
        """When the next may be shown: while the platform wants to be left alone there, drafts wait, too."""
        room_at = self._budgets.ready_at(self.buckets, urgency, self._clock.now(), self._place)
        return max(room_at, self._budgets.closed_until(self._limits.sends))

    async def show(self, number: int, frame: Frame, buckets: tuple[Bucket, Bucket]) -> None:
        """Show ``frame``, which will be message ``number``, with one call that has spent from ``buckets``.

        Raises `DeliveryError`. A refusal closes the place for messages, too: it may be meant for all calls.
        """
        assert self._reply is not None, "there are no drafts"
        self._shown = None
        try:
            with told(self._budgets.observe, self._limits.platform, "draft", self._clock):
                await self._reply.draft(frame)
        except Limited as refusal:
            for place in (buckets[0], self._limits.sends):
                self._budgets.refuse(place, buckets[1], refusal, self._clock.now())
            raise
        finally:
            self._budgets.returned(buckets, self._clock.now())
        self._shown, self._shown_at = (number, frame), self._clock.now()

    @property
    def _drafts(self) -> Drafts | None:
        """Asked anew every time: a refusal, to this answer or another, ends them."""
        return None if self._reply is None else self._reply.drafts
