"""Everything that watches a running bot, put together: made before the bot, opened beside it."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial

from clawdbot.app import App
from clawdbot.chat import Adapter
from clawdbot.clock import Clock
from clawdbot.config import OpsSettings
from clawdbot.observed import Fact
from clawdbot.ops.guard import Guard
from clawdbot.ops.health import PATHS, Health
from clawdbot.ops.metrics import Metrics
from clawdbot.ops.readings import read
from clawdbot.ops.server import OPEN, guarded, serving
from clawdbot.ops.watching import ErrorTally, watch_loop

log = logging.getLogger(__name__)


class Watch:
    """Takes what the core tells and serves it; `observe` is a `clawdbot.observed.Observe`."""

    def __init__(self, settings: OpsSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._metrics = Metrics()

    def observe(self, fact: Fact) -> None:
        """Take a fact of the core."""
        self._metrics.observe(fact)

    @asynccontextmanager
    async def open(self, app: App, adapters: Mapping[str, Adapter]) -> AsyncIterator[str]:
        """Serve ``app``'s state for the time of the block; the address.

        Raises `ConfigError` when the address cannot be had.
        """
        settings, token = self._settings, self._settings.token
        guard = Guard(token.get_secret_value() if token else None, secrets.token_urlsafe())
        health = Health(self._metrics, app.meter, partial(read, app, adapters))
        web = guarded(guard, OPEN if token else OPEN | PATHS)
        web.add_routes(health.routes())
        with tallied(self._metrics):
            looking = asyncio.create_task(watch_loop(self._clock, self._metrics.lagged))
            try:
                async with serving(web, settings.host, settings.port) as address:
                    log.info("health and metrics at %s", address)
                    yield address
            finally:
                looking.cancel()


@contextmanager
def tallied(metrics: Metrics) -> Iterator[None]:
    """Count the errors that are logged in the block."""
    tally = ErrorTally(metrics.logged)
    logging.getLogger().addHandler(tally)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(tally)
