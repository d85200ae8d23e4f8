"""Everything that watches a running bot, put together: made before the bot, opened beside it."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

from clawdbot.app import App
from clawdbot.chat import Adapter
from clawdbot.clock import Clock
from clawdbot.hosted import Hosted
from clawdbot.latency.observed import Fact
from clawdbot.ops.door import OPEN, Door
from clawdbot.ops.guard import Guard
from clawdbot.ops.health import PATHS, Health
from clawdbot.ops.look import KEPT, Look
from clawdbot.ops.metrics import Metrics
from clawdbot.ops.readings import read
from clawdbot.ops.server import guarded, serving
from clawdbot.ops.site import OPEN_PATHS, Site
from clawdbot.ops.watching import ErrorTally, watch_loop
from clawdbot.people.quota import DAY
from clawdbot.settings.config import OpsSettings

log = logging.getLogger(__name__)

BACK = DAY
"""Seconds: so far back the page knows answers of former runs."""


class Watch:
    """Takes what the core tells and serves it; `observe` is a `clawdbot.latency.observed.Observe`."""

    def __init__(self, settings: OpsSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._metrics = Metrics()
        self._look = Look()

    def observe(self, fact: Fact) -> None:
        """Take a fact of the core."""
        self._metrics.observe(fact)
        self._look.observe(fact)

    @asynccontextmanager
    async def open(self, app: App, adapters: Mapping[str, Adapter]) -> AsyncIterator[str]:
        """Serve ``app``'s state for the time of the block; the address.

        Raises `ConfigError` when the address cannot be had.
        """
        settings, token = self._settings, self._settings.token
        guard = Guard(token.get_secret_value() if token else None, secrets.token_urlsafe())
        door = Door(guard, settings.proxies, self._clock)
        health = Health(self._metrics, app.meter, partial(read, app, adapters))
        hosted = [adapter for adapter in adapters.values() if isinstance(adapter, Hosted)]
        site = Site(door, self._look, partial(self._now, app, adapters), self._clock, hosted)
        web = guarded(door, OPEN_PATHS | OPEN | (frozenset() if token else PATHS))
        web.add_routes([*health.routes(), *site.routes()])
        self._look.recall(await app.store.timings(self._clock.wall() - BACK, KEPT))
        with tallied(self._metrics):
            looking = asyncio.create_task(watch_loop(self._clock, self._metrics.lagged))
            try:
                async with serving(web, settings.host, settings.port) as address:
                    log.info("the bot's page: %s/", address)
                    yield address
            finally:
                looking.cancel()

    async def _now(self, app: App, adapters: Mapping[str, Adapter]) -> dict[str, Any]:
        rooms = app.budgets.rooms(self._clock.now())
        return self._look.now(read(app, adapters), await asyncio.to_thread(app.meter.read), rooms)


def wanted(settings: OpsSettings, adapters: Mapping[str, Adapter]) -> bool:
    """Whether there has to be a server: because the settings say so, or for people who come by its page."""
    return settings.enabled or any(isinstance(adapter, Hosted) for adapter in adapters.values())


@contextmanager
def tallied(metrics: Metrics) -> Iterator[None]:
    """Count the errors that are logged in the block."""
    tally = ErrorTally(metrics.logged)
    logging.getLogger().addHandler(tally)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(tally)
