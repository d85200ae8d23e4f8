"""An answer's block is left: its last call comes to rest first."""

import asyncio
import logging
from collections.abc import Coroutine

from clawdbot.clock import Clock, within
from clawdbot.tasks.cancelling import told_to_end

log = logging.getLogger(__name__)

# Seconds that a call under way is given when the whole bot ends.
PATIENCE = 15.0


async def come_to_rest(rest: Coroutine[None, None, None], place: str, clock: Clock) -> None:
    """Wait until ``rest`` is done: the call under way for the `Reply.ref` ``place``, and what is noted of it.

    Without a limit: whoever shows another text in these messages afterwards must find them at rest, or this call
    would land on top of it, and its note would take the place of a newer one. Only at the end of the bot, when
    nobody does, patience has one; that may come in the middle of the wait.
    """
    at_rest = asyncio.create_task(rest)
    try:
        if not told_to_end():
            await asyncio.shield(at_rest)
    finally:
        if told_to_end():
            await within(PATIENCE, asyncio.shield(at_rest), clock)
            if not at_rest.done():
                log.warning("A call for %s is still under way %g s after its answer ended", place, PATIENCE)
