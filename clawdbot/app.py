"""Opens everything in order on one exit stack, serves until told to stop, closes in the reverse order."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from clawdbot.abilities import ShowsLoad
from clawdbot.assembly import bot_of, capacity_of, models_of, personas_of, share, styles_of
from clawdbot.bot import Bot
from clawdbot.chat import Adapter, Receive
from clawdbot.clock import Clock
from clawdbot.delivery.pace import Budgets
from clawdbot.engine.host import EngineHost, OpenEngine
from clawdbot.errors import AdapterError, Unauthorized
from clawdbot.latency.observed import Observe
from clawdbot.models import Models
from clawdbot.ops.meter import Meter
from clawdbot.people.access import Access
from clawdbot.people.gate import Gate
from clawdbot.prompts.style import Styles
from clawdbot.sessions.load import LoadTeller
from clawdbot.sessions.sessions import Sessions
from clawdbot.settings.config import Settings
from clawdbot.store import Store
from clawdbot.tasks.cancelling import told_to_end

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds before an adapter that failed is run again; doubled each time."""
STEADY = 60.0
"""An adapter that ran so many seconds was healthy: its next pause is the first again."""


@dataclass(frozen=True, slots=True)
class App:
    """The parts of a running bot that others look at."""

    bot: Bot
    store: Store
    sessions: Sessions
    models: Models
    budgets: Budgets
    meter: Meter
    load: LoadTeller
    gate: Gate
    styles: Styles
    serving: set[str] = field(default_factory=set)
    """The names of the adapters that run; one that failed and waits to be started again does not."""

    @property
    def host(self) -> EngineHost:
        """Where the default model's engine comes from."""
        return self.models.default.host


@asynccontextmanager
async def open_app(
    settings: Settings,
    open_engine: OpenEngine,
    clock: Clock,
    observe: Observe,
    others: Mapping[str, OpenEngine] = MappingProxyType({}),
) -> AsyncIterator[App]:
    """Everything but adapters, with the engines being started in the background.

    ``open_engine`` opens that of the default model, ``others`` those of ``settings.models``. ``observe`` is told what
    happens. Raises `StoreError`; when no engine could be started, what the last one raised comes out of the block as an
    exception group.
    """
    async with AsyncExitStack() as stack:
        openers = {settings.engine.called: open_engine, **others}
        shared = await share(settings, openers, clock, observe, stack)
        app = App(
            bot_of(settings, shared),
            shared.store,
            shared.sessions,
            shared.models,
            shared.budgets,
            shared.meter,
            LoadTeller(shared.sessions, shared.models, clock),
            shared.gate,
            shared.styles,
        )
        async with asyncio.TaskGroup() as group:
            engines = [
                group.create_task(app.models.keep(model), name=f"engine of {model.name}") for model in app.models
            ]
            try:
                yield app
            finally:
                await app.sessions.close()  # nothing may reach for the engine or the store when they are closed
                for engine in engines:
                    engine.cancel()


def adopt(app: App, settings: Settings) -> None:
    """Let the running ``app`` go on by ``settings``, which differ as far as `settings.reload.adoptable` says."""
    app.gate.adopt(Access(settings.access), settings.quota)
    app.styles.adopt(personas_of(settings), styles_of(settings))
    app.models.choice.options = models_of(settings)
    app.sessions.adopt(capacity_of(settings))


async def serve(
    app: App,
    adapters: Mapping[str, Adapter],
    clock: Clock,
    stop: asyncio.Event,
    grace: float,
    receive: Receive | None = None,
) -> None:
    """Run the adapters until ``stop`` is set or none is left, then give running answers ``grace`` seconds.

    ``receive`` stands in front of the bot's own. Raises `Unauthorized` when no adapter can be served at all.
    """
    receive = receive or app.bot.receive
    await app.bot.recover(adapters)  # before anybody can ask: what was asked first is answered first
    running = [
        asyncio.create_task(supervise(name, adapter, receive, clock, app.serving), name=name)
        for name, adapter in adapters.items()
    ]
    stopping = asyncio.create_task(stop.wait())
    telling = asyncio.create_task(app.load.run([one for one in adapters.values() if isinstance(one, ShowsLoad)]))
    ends: tuple[asyncio.Future[Any], ...] = (stopping, asyncio.gather(*running, return_exceptions=True))
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        await app.sessions.drain(grace)
    finally:
        for task in (stopping, telling, *running):
            task.cancel()
        outcomes = await asyncio.gather(*running, return_exceptions=True)
    failures = [outcome for outcome in outcomes if isinstance(outcome, Unauthorized)]
    if failures and len(failures) == len(running):
        raise failures[-1]


async def supervise(name: str, adapter: Adapter, receive: Receive, clock: Clock, serving: set[str]) -> None:
    """Keep one adapter running, whatever happens to the others; returns when it ends by itself.

    ``serving`` has its name while it runs. Raises `Unauthorized`, since only the owner can mend that.
    """
    pause = FIRST_PAUSE
    while True:
        started = clock.now()
        serving.add(name)
        try:
            await adapter.run(receive)
        except Unauthorized as error:
            log.error("%s is not served: %s", name, error)  # noqa: TRY400 - the sentence says it all
            raise
        except asyncio.CancelledError:
            if told_to_end():
                raise
            # Something inside of it was cancelled; it was not told to end.
            log.warning("%s was cut off and is started again in %.0f s", name, pause)
        except AdapterError as error:
            log.warning("%s failed and is started again in %.0f s: %s", name, pause, error)
        except Exception:
            log.exception("%s failed in an unforeseen way and is started again in %.0f s", name, pause)
        else:
            return
        finally:
            serving.discard(name)
        if clock.now() - started > STEADY:
            pause = FIRST_PAUSE
        await clock.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
