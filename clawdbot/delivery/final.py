"""The finished text of an answer, and what is shown instead where a platform does not take it."""

from collections.abc import Sequence

from clawdbot.chat import Frame
from clawdbot.delivery.layout import Layout
from clawdbot.errors import DeliveryError, Forbidden, Rejected


class Final:
    """The frames that the screen has to end with; worse ones each time that a platform refuses the last for good."""

    def __init__(self, layout: Layout, frames: Sequence[Frame], text: str) -> None:
        """``frames`` show ``text``, which is without the mark of its state."""
        self.frames = list(frames)
        self.failure: DeliveryError | None = None
        """Why the frames do not hold the whole text; None as long as they do."""
        self._layout = layout
        self._text = text
        self._others: list[list[Frame]] | None = None

    def fall_back(self, number: int, shown: Frame | None, error: Rejected | Forbidden) -> bool:
        """Frame ``number`` was refused, where ``shown`` is on the screen; whether there are other frames to try.

        A platform that does not let the bot write at all takes nothing else either; one may forbid files alone.
        """
        if number >= len(self.frames) or (isinstance(error, Forbidden) and not self.frames[number].files):
            return False
        if self._others is None:
            self._others = self._layout.instead(self.frames, number, self._text, shown)
        if not self._others:
            return False
        self.frames = self._others.pop(0)
        self.failure = None if self.frames[-1].files else error
        return True
