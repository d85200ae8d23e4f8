"""When a growing answer wants its next frame, decided from times that are passed in."""

from collections.abc import Callable
from math import inf

from clawdbot.chat import Pace, State
from clawdbot.delivery.markdown import showable, visible
from clawdbot.delivery.pace import Urgency, next_frame_at

# Seconds that a first text of a single character, a poor push message, waits for a second one.
SECOND_CHARACTER = 0.12
# Characters in which the first visible ones are looked for, token by token: new ones stand at the end.
LOOKED_AT = 500
# Seconds without text before a notice is worth a message, and between changes of it.
NOTICE_AFTER = 1.0
NOTICE_EVERY = 3.0
# A call that took longer was held back by the platform's library: the next frame then counts from its end.
SLOW = 1.0
# A frame that is late by less was on time: the next one does not count from its delay, or those of a busy machine would
# add up to a slower pace.
ON_TIME = 0.2


class Growth:
    """The text so far, or the notice until there is one, and the times that decide about the next frame."""

    def __init__(self, pace: Pace, began: float) -> None:
        self.text = ""
        self.notice = ""
        self.first_showable: float | None = None
        """When the text first had two visible characters, or was shown with one."""
        self.pace = pace
        """It may be another one from now on."""
        self.unseen_since: float | None = None
        """When the oldest text came that was in no frame yet."""
        self._began = began
        self._single_at: float | None = None
        """When the text first had one visible character."""
        self.frames = 0
        """How many frames with text were tried."""
        self._first_at = -inf
        self._last_at = -inf
        self._noticed_at = -inf

    @property
    def readable(self) -> bool:
        """Whether the text has anything to show."""
        return self.first_showable is not None or self._single_at is not None

    def show(self, text: str, now: float) -> None:
        """Take the whole text so far."""
        if self.unseen_since is None and text != self.text:
            self.unseen_since = now
        self.text = text
        if self.first_showable is None:
            count = showable(visible(text, growing=True)[-LOOKED_AT:])
            if count >= 2:
                self.first_showable = now
            elif count and self._single_at is None:
                self._single_at = now

    def finish(self, text: str, now: float) -> None:
        """Take the finished text."""
        self.show(text, now)
        if self.first_showable is None and self._single_at is not None:
            self.first_showable = now

    def due(self, fair_at: Callable[[float], float]) -> float:
        """When the next frame is wanted; infinite while there is nothing to show.

        ``fair_at`` takes the time of the last frame and says when the next is due for the sake of other replies; the
        second frame, which follows on a cut word, does not wait for it.
        """
        if self.frames:
            wanted = next_frame_at(self.pace, self.frames, self._first_at, self._last_at)
            return max(wanted, fair_at(self._last_at)) if self.frames > 1 else wanted
        if self.first_showable is not None:
            return -inf
        if self._single_at is not None:
            return self._single_at + SECOND_CHARACTER
        if self.notice:
            return max(self._began + NOTICE_AFTER, self._noticed_at + NOTICE_EVERY)
        return inf

    def urgency(self, *, visible_yet: bool) -> Urgency:
        """How urgent the next frame is."""
        if not self.readable:
            return Urgency.SPARE
        return Urgency.GROWING if visible_yet else Urgency.FIRST

    def tried(self, state: State, started: float, ended: float) -> None:
        """Note that a frame in ``state`` was sent, with whatever success."""
        wanted = next_frame_at(self.pace, self.frames, self._first_at, self._last_at)
        at = ended if ended - started > SLOW else started
        if state is State.WAITING:
            self._noticed_at = at
            return
        if at - wanted < ON_TIME:
            at = wanted
        if self.first_showable is None:
            self.first_showable = started
        if not self.frames:
            self._first_at = at
        self.frames += 1
        self._last_at = at
