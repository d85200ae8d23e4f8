"""The finished text of an answer reaches the screen, however often that has to be tried."""

from collections.abc import Awaitable, Callable

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_exponential, wait_random

from clawdbot.chat import Frame
from clawdbot.clock import Clock
from clawdbot.delivery.final import Final
from clawdbot.delivery.pace import Urgency
from clawdbot.delivery.parts import Parts
from clawdbot.errors import DeliveryError, Forbidden, Gone, Limited, Moved, Rejected, Unreachable, Unsure

# Failures of a call that is worth repeating.
PASSING = (Limited, Unreachable, Unsure, Moved)

Put = Callable[[int, Frame], Awaitable[None]]
"""Lets the message with that number show a frame, with one call. Raises `DeliveryError`."""

_backoff = wait_exponential(multiplier=0.5, max=30.0) + wait_random(0.0, 0.5)


class Finishing:
    """Shows the finished text, or what comes nearest to it of all that the platform takes."""

    def __init__(self, final: Final, parts: Parts, clock: Clock) -> None:
        self.final = final
        """What the screen has to end with. It may be another one at any time: a later word."""
        self.lost: DeliveryError | None = None
        """Why nothing can be shown any more, or one of the messages no more: `Gone` or `Forbidden`."""
        self._parts = parts
        self._clock = clock

    async def run(self, put: Put) -> None:
        """Return when the platform has acknowledged the finished text in all its parts.

        Raises `Gone`, `Forbidden` or `Rejected` when it will never be shown; then all is there that can be.
        """
        while not self._hopeless and self._missing() is not None:
            try:
                await AsyncRetrying(
                    sleep=self._clock.sleep, wait=_pause, retry=retry_if_exception_type(PASSING), reraise=True
                )(self._put_next, put)
            except Gone as error:
                self.lost = error
        if failure := self.lost or self.final.failure:
            raise failure

    @property
    def _hopeless(self) -> bool:
        """Whether the screen can be changed no more. Where one of several messages is gone, the others can."""
        return self.lost is not None and (isinstance(self.lost, Forbidden) or self._parts.all_gone)

    def _missing(self) -> tuple[int, Frame] | None:
        """The first message that does not show the finished text, and what it should show."""
        frames = self._parts.covered(self.final.frames)
        number = self._parts.differing(frames)
        return None if number is None else (number, frames[number])

    async def _put_next(self, put: Put) -> None:
        """Make the next call that the finished text needs; which one is decided when there is room for it."""
        while (missing := self._missing()) is not None:
            number, frame = missing
            early = self._parts.ready_at(number, frame, Urgency.FINAL) - self._clock.now()
            if early <= 0:
                await self._put_or_fall_back(put, number, frame)
                return
            await self._clock.sleep(early)

    async def _put_or_fall_back(self, put: Put, number: int, frame: Frame) -> None:
        """Make one call; where it is refused for good, go on with what comes nearest to the finished text."""
        final = self.final
        try:
            await put(number, frame)
        except (Rejected, Forbidden) as error:
            # Unless a later word has come: then nothing is said about that one.
            if self.final is final and not final.fall_back(number, self._parts.shown(number), error):
                raise


def _pause(attempt: RetryCallState) -> float:
    """Seconds before the finished text is tried again: what the platform asks for, else longer every time."""
    assert attempt.outcome is not None
    error = attempt.outcome.exception()
    return error.retry_after if isinstance(error, Limited) else _backoff(attempt)
