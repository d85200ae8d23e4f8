"""What is watched besides the facts that the core tells: the event loop, and errors in the log."""

import logging
from collections.abc import Callable

from clawdbot.clock import Clock

EVERY = 0.25
"""Seconds between looks at the event loop."""


async def watch_loop(clock: Clock, lagged: Callable[[float], None]) -> None:
    """Tell ``lagged``, for good, how many seconds late the event loop wakes."""
    while True:
        before = clock.now()
        await clock.sleep(EVERY)
        lagged(max(0.0, clock.now() - before - EVERY))


class ErrorTally(logging.Handler):
    """Tells ``logged`` of every error in the log: the exception's name, "" where there is none, and the module."""

    def __init__(self, logged: Callable[[str, str], None]) -> None:
        super().__init__(logging.ERROR)
        self._logged = logged

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0] if record.exc_info else None
        self._logged(kind.__name__ if kind else "", record.name)
