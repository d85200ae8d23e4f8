"""One message of an answer: what is on the screen there, and what may be after calls that got no answer (pure)."""

from dataclasses import dataclass
from math import inf
from typing import Self

from clawdbot import words
from clawdbot.abilities import Stepwise
from clawdbot.chat import Frame, Post, Reply, State

# Seconds in which an edit that got no answer may still land: on top of a later one, if that was quicker.
SETTLING = 5.0

LEFT_OVER = Frame(words.WITHDRAWN, State.FINAL, last=False)
"""What a message says that the answer does not need any more and that cannot be deleted."""


@dataclass(slots=True)
class Part:
    """A message that is there, was there, or is to be posted. Times are seconds of `Clock.now`."""

    post: Post | None = None
    noted: str = ""
    """The `Post.ref` that the journal has."""
    shown: Frame | None = None
    """What the platform acknowledged last; None while nobody knows what is there."""
    begun: bool = False
    """Whether the journal knows that there may be such a message."""
    gone: bool = False
    """Whether somebody has removed it, or the place where it should be."""
    settles_at: float = -inf
    """When no edit that got no answer can land any more."""
    _doubtful: tuple[Frame | None, ...] = ()
    """What earlier sends that may have landed were to show (None: not known any more).

    A platform that knows their key shows one of these."""
    _late: tuple[Frame, ...] = ()
    """What edits were to show that got no answer: one may land behind a later edit."""

    @classmethod
    def taken_up(cls, reply: Reply, ref: str | None) -> Self:
        """One that a former process noted; ``ref`` is its `Post.ref`, None when it may have been sent or not."""
        if ref is None:
            return cls(begun=True, _doubtful=(None,))
        return cls(reply.post(ref), ref, begun=True)

    @property
    def unfinished(self) -> bool:
        """Whether the next call posts something: it is not there yet, or not with all that belongs to it."""
        return self.post is None or (isinstance(self.post, Stepwise) and self.post.unfinished)

    @property
    def may_exist(self) -> bool:
        """Whether any call has posted it, or may have."""
        return self.post is not None or bool(self._doubtful)

    def shows(self, frame: Frame) -> bool:
        """Whether nothing has to be done for ``frame``: it is there, or nobody misses it."""
        return self.gone or (self.post is None and frame is LEFT_OVER) or _same(self.shown, frame)

    def may_be_overwritten(self, frame: Frame) -> bool:
        """Whether an earlier edit may land on top of ``frame``, which is to stay."""
        there = self.post is not None and not self.gone
        return there and frame.state.lasting and any(late != frame for late in self._late)

    def may_turn_out_as_another(self, frame: Frame) -> bool:
        """Whether a send of ``frame`` may bring back the message of an earlier one, which shows something else."""
        return any(earlier != frame for earlier in self._doubtful)

    def acknowledge(self, frame: Frame | None, began: float) -> None:
        """Note that the call that ``began`` then has put ``frame`` there; None where it may be another one."""
        self.shown = None if self.unfinished else frame
        if began >= self.settles_at:
            self._late = ()

    def doubt(self, frame: Frame, now: float) -> None:
        """Note that a call for ``frame`` got no answer: it may have landed, and an edit still may."""
        self.shown = None
        if self.post is None:
            self._doubtful = (*self._doubtful, frame)
        else:
            self._late, self.settles_at = (*self._late, frame), now + SETTLING

    def forget_shown(self) -> None:
        """Look at it as one of which nobody knows what is there, nor what is on its way."""
        self.shown, self._late = None, ()


def _same(shown: Frame | None, wanted: Frame) -> bool:
    """Whether a reader sees no difference: the state shows on the last message only."""
    if shown is None or shown.last or wanted.last:
        return shown == wanted
    return shown.text == wanted.text
