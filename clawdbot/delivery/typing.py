"""The "typing" sign while there is nothing to read yet."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from clawdbot.chat import Reply
from clawdbot.clock import Clock, until
from clawdbot.delivery.calls import told
from clawdbot.delivery.pace import Budgets, Urgency
from clawdbot.errors import DeliveryError, Limited

log = logging.getLogger(__name__)

# Seconds without text before the sign is worth a call; longer where it spends what the first text needs.
AFTER = 0.5
AFTER_SHARED = 1.0
# Telegram takes the sign away after 5 s.
EVERY = 4.0


async def show_typing(
    reply: Reply, over: asyncio.Event, budgets: Budgets, clock: Clock, hold: Callable[[float], Awaitable[None]]
) -> None:
    """Keep the sign up until ``over``. Returns early where the platform has none; drops every `DeliveryError`.

    ``hold`` is told the seconds for which the platform wants no calls.
    """
    limits = reply.limits
    if limits.typing is None:
        return
    buckets = (limits.typing, limits.bot)
    wait = AFTER_SHARED if limits.typing.key == limits.sends.key else AFTER
    while not await until(over, wait, clock):
        now = clock.now()
        wait = budgets.ready_at(buckets, Urgency.SPARE, now, reply.ref) - now
        if wait > 0:
            continue
        budgets.spend(buckets, now)
        wait = EVERY
        try:
            with told(budgets.observe, limits.platform, "typing", clock):
                await reply.typing()
        except Limited as refusal:
            budgets.refuse(*buckets, refusal, clock.now())
            await hold(refusal.retry_after)
        except DeliveryError as error:
            log.debug("Typing in %s was not shown: %s", reply.ref, error)
        finally:
            budgets.returned(buckets, clock.now())
