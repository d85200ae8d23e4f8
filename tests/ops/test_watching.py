import asyncio
import logging

from clawdbot.ops.watching import EVERY, ErrorTally, watch_loop
from clawdbot.testing.clock import ManualClock


class Late(ManualClock):
    """A clock of a machine that is busy: whoever sleeps wakes late."""

    late = 0.0

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds + self.late)


async def test_the_loop_is_late_by_what_it_took_longer() -> None:
    clock, lags = Late(), list[float]()
    looking = asyncio.create_task(watch_loop(clock, lags.append))
    await clock.advance(EVERY)
    clock.late = 0.03
    await clock.advance(2 * EVERY + clock.late)
    looking.cancel()

    # The second look had begun before the machine was busy.
    assert [round(lag, 6) for lag in lags] == [0.0, 0.0, 0.03]


def test_errors_are_told_with_their_exception_and_module() -> None:
    told: list[tuple[str, str]] = []
    log = logging.getLogger("clawdbot.tested")
    tally = ErrorTally(lambda kind, module: told.append((kind, module)))
    log.addHandler(tally)
    try:
        log.warning("no error")
        log.error("an error")
        log.error("a bug", exc_info=ZeroDivisionError())
    finally:
        log.removeHandler(tally)

    assert told == [("", "clawdbot.tested"), ("ZeroDivisionError", "clawdbot.tested")]
