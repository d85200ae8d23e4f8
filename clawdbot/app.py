"""Opens everything in order on one exit stack, serves until told to stop, closes in the reverse order."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from clawdbot.abilities import ShowsLoad
from clawdbot.access import Access
from clawdbot.addresses import Addresses
from clawdbot.albums import Albums
from clawdbot.answering import Answering
from clawdbot.bot import Bot
from clawdbot.cancelling import told_to_end
from clawdbot.chat import Adapter, Receive
from clawdbot.choices import Choice
from clawdbot.clock import Clock
from clawdbot.commands import Commands
from clawdbot.config import DEFAULT_PERSONA, Persona, Settings
from clawdbot.delivery.pace import Budgets
from clawdbot.engine.admission import Admission, Policy
from clawdbot.engine.host import EngineHost, OpenEngine
from clawdbot.engine.protocol import Sampling
from clawdbot.engine.reuse import Reuse
from clawdbot.engine.sleeping import sleeping
from clawdbot.errors import AdapterError, Unauthorized
from clawdbot.gate import Gate
from clawdbot.intake import Intake
from clawdbot.load import LoadTeller
from clawdbot.notices import Notices
from clawdbot.observed import Observe
from clawdbot.ops.meter import Meter
from clawdbot.reading import Bounds, Reading
from clawdbot.revising import Revising
from clawdbot.sessions import Capacity, Sessions
from clawdbot.store import ChoiceBook, Store, open_store
from clawdbot.style import Style, Styles
from clawdbot.warming import Warming

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
    host: EngineHost
    admission: Admission
    budgets: Budgets
    meter: Meter
    load: LoadTeller
    gate: Gate
    styles: Styles
    serving: set[str] = field(default_factory=set)
    """The names of the adapters that run; one that failed and waits to be started again does not."""


@asynccontextmanager
async def open_app(settings: Settings, open_engine: OpenEngine, clock: Clock, observe: Observe) -> AsyncIterator[App]:
    """Everything but adapters, with the engine being started in the background.

    ``observe`` is told what happens. Raises `StoreError`; what the engine's first start raises comes out
    of the block as an exception group.
    """
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(_store(settings, clock))
        gate = Gate(Access(settings.access), settings.quota, store.access, clock)
        await gate.open()
        sessions = Sessions(_capacity(settings), clock)
        admission, reuse = Admission(_policy(settings), clock), Reuse()
        styles, models = await _choices(settings, store.choices)
        warming = Warming(store=store, sessions=sessions, admission=admission, reuse=reuse, clock=clock, styles=styles)
        sleep_after = 60 * settings.engine.sleep_after or None
        if sleep_after is not None:
            open_engine = await stack.enter_async_context(sleeping(open_engine))
        host = EngineHost(warming.around(open_engine), clock, sleep_after=sleep_after)
        reading = Reading(_bounds(settings), lambda: host.info, clock)
        albums = Albums(store, clock)
        budgets, meter = Budgets(observe), Meter(os.getpid(), clock)
        answering = Answering(
            store=store,
            host=host,
            sessions=sessions,
            admission=admission,
            reuse=reuse,
            budgets=budgets,
            clock=clock,
            styles=styles,
            reading=reading,
            albums=albums,
            observe=observe,
        )
        bot = _bot(
            settings,
            observe,
            styles,
            models,
            store=store,
            sessions=sessions,
            gate=gate,
            host=host,
            answering=answering,
            reading=reading,
            albums=albums,
            warming=warming,
            budgets=budgets,
            meter=meter,
            clock=clock,
        )
        load = LoadTeller(sessions, admission, host, clock)
        app = App(bot, store, sessions, host, admission, budgets, meter, load, gate, styles)
        async with asyncio.TaskGroup() as group:
            engine = group.create_task(host.run(), name="engine")
            try:
                yield app
            finally:
                await sessions.close()  # nothing may reach for the engine or the store when they are closed
                engine.cancel()


def adopt(app: App, settings: Settings) -> None:
    """Let the running ``app`` go on by ``settings``, as far as `clawdbot.reload.adoptable` lets them differ."""
    app.gate.adopt(Access(settings.access), settings.quota)
    app.styles.adopt(_personas(settings), _styles(settings))
    app.sessions.adopt(_capacity(settings))


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


def _bot(
    settings: Settings,
    observe: Observe,
    styles: Styles,
    models: Choice,
    *,
    store: Store,
    sessions: Sessions,
    gate: Gate,
    host: EngineHost,
    answering: Answering,
    reading: Reading,
    albums: Albums,
    warming: Warming,
    budgets: Budgets,
    meter: Meter,
    clock: Clock,
) -> Bot:
    """The bot, with what deals with people's wishes."""
    notices, addresses = Notices(budgets, clock), Addresses()
    intake = Intake(
        store=store,
        sessions=sessions,
        gate=gate,
        reading=reading,
        notices=notices,
        clock=clock,
        observe=observe,
        longest_question=settings.sessions.max_question_chars,
    )
    revising = Revising(
        store=store, sessions=sessions, answering=answering, intake=intake, notices=notices, addresses=addresses
    )
    commands = Commands(
        store=store,
        gate=gate,
        host=host,
        sessions=sessions,
        revising=revising,
        clock=clock,
        meter=meter,
        styles=styles,
        models=models,
    )
    return Bot(
        store=store,
        sessions=sessions,
        gate=gate,
        intake=intake,
        commands=commands,
        answering=answering,
        revising=revising,
        albums=albums,
        notices=notices,
        addresses=addresses,
        warming=warming,
        budgets=budgets,
        clock=clock,
        groups=settings.sessions.groups,
        oldest_question=settings.sessions.max_age,
    )


def _capacity(settings: Settings) -> Capacity:
    chosen = settings.sessions
    return Capacity(chosen.concurrent, chosen.waiting, chosen.queue, chosen.share, chosen.busy)


def _policy(settings: Settings) -> Policy:
    return Policy(settings.sessions.concurrent, settings.engine.max_long_prefills, settings.sessions.patience)


def _store(settings: Settings, clock: Clock) -> AbstractAsyncContextManager[Store]:
    keep = settings.store.keep_days or float("inf")
    idle = settings.sessions.idle_reset * 3600.0 or float("inf")
    return open_store(settings.store.path, clock, keep_days=keep, idle_reset=idle)


def _bounds(settings: Settings) -> Bounds:
    answers = settings.answers
    return Bounds(answers.max_files, answers.max_file_bytes, answers.max_image_bytes)


async def _choices(settings: Settings, book: ChoiceBook) -> tuple[Styles, Choice]:
    """What conversations can choose: personas, and models; there is one model now, called as the settings call it."""
    personas = Choice("persona", _personas(settings), book)
    models = Choice("model", {settings.engine.called: ""}, book)
    await personas.open()
    await models.open()
    return Styles(personas, _styles(settings)), models


def _personas(settings: Settings) -> dict[str, str]:
    """What is said about each, the default first."""
    return {DEFAULT_PERSONA: "", **{name: persona.about for name, persona in settings.personas.items()}}


def _styles(settings: Settings) -> dict[str, Style]:
    """By persona, the default first."""
    answers = settings.answers
    usual = Persona(system_prompt=answers.system_prompt)
    return {name: _style(settings, persona) for name, persona in {DEFAULT_PERSONA: usual, **settings.personas}.items()}


def _style(settings: Settings, persona: Persona) -> Style:
    answers = settings.answers
    return Style(
        system_prompt=persona.system_prompt,
        sampling=Sampling(
            answers.max_tokens if persona.max_tokens is None else persona.max_tokens,
            answers.temperature if persona.temperature is None else persona.temperature,
            answers.top_p if persona.top_p is None else persona.top_p,
        ),
        history_share=answers.history_share,
        most_messages=answers.max_messages,
        footer=answers.footer,
    )
