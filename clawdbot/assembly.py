"""From settings to the parts of a bot: what each of them is told, and in which order they are made."""

import os
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from clawdbot.access import Access
from clawdbot.addresses import Addresses
from clawdbot.albums import Albums
from clawdbot.answering import Answering
from clawdbot.bot import Bot
from clawdbot.choices import Choice
from clawdbot.clock import Clock
from clawdbot.commands import Commands
from clawdbot.config import DEFAULT_PERSONA, EngineSettings, Persona, Settings
from clawdbot.delivery.pace import Budgets
from clawdbot.engine.admission import Admission, Policy
from clawdbot.engine.host import EngineHost, OpenEngine
from clawdbot.engine.protocol import Sampling
from clawdbot.engine.reuse import Reuse
from clawdbot.engine.sleeping import sleeping
from clawdbot.gate import Gate
from clawdbot.intake import Intake
from clawdbot.models import Model, Models
from clawdbot.notices import Notices
from clawdbot.observed import Observe
from clawdbot.ops.meter import Meter
from clawdbot.reading import Bounds, Reading
from clawdbot.resuming import Resuming
from clawdbot.revising import Revising
from clawdbot.sessions import Capacity, Sessions
from clawdbot.shared import Shared
from clawdbot.store import Store, open_store
from clawdbot.style import Style, Styles
from clawdbot.warming import Warming


async def share(
    settings: Settings, open_engine: OpenEngine, clock: Clock, observe: Observe, stack: AsyncExitStack
) -> Shared:
    """What all others share; ``stack`` closes it. Raises `StoreError`."""
    store = await stack.enter_async_context(_store(settings, clock))
    gate = Gate(Access(settings.access), settings.quota, store.access, clock)
    personas = Choice("persona", personas_of(settings), store.choices)
    choice = Choice("model", {settings.engine.called: ""}, store.choices)
    await gate.open()
    await personas.open()
    await choice.open()
    styles, sessions = Styles(personas, styles_of(settings)), Sessions(capacity_of(settings), clock)
    admission, reuse = Admission(_policy(settings), clock), Reuse()
    warming = Warming(store=store, sessions=sessions, admission=admission, reuse=reuse, clock=clock, styles=styles)
    host = await _host(settings.engine, open_engine, warming, clock, stack)
    models = Models(choice, [Model(settings.engine.called, host, admission, reuse, warming)])
    budgets = Budgets(observe)
    return Shared(
        store=store,
        gate=gate,
        sessions=sessions,
        models=models,
        styles=styles,
        reading=Reading(_bounds(settings), lambda: models.default.host.info, clock),
        albums=Albums(store, clock),
        addresses=Addresses(),
        budgets=budgets,
        notices=Notices(budgets, clock),
        meter=Meter(os.getpid(), clock),
        clock=clock,
        observe=observe,
    )


def bot_of(settings: Settings, shared: Shared) -> Bot:
    """The bot, with what deals with people's wishes."""
    oldest = settings.sessions.max_age
    answering = Answering(shared)
    intake = Intake(shared, longest_question=settings.sessions.max_question_chars)
    revising = Revising(shared, answering, intake)
    return Bot(
        shared,
        answering=answering,
        intake=intake,
        revising=revising,
        resuming=Resuming(shared, answering, oldest_question=oldest),
        commands=Commands(shared, revising),
        groups=settings.sessions.groups,
        oldest_question=oldest,
    )


def capacity_of(settings: Settings) -> Capacity:
    """How many answers there may be."""
    chosen = settings.sessions
    return Capacity(chosen.concurrent, chosen.waiting, chosen.queue, chosen.share, chosen.busy)


def personas_of(settings: Settings) -> dict[str, str]:
    """What is said about each persona, the default first."""
    return {DEFAULT_PERSONA: "", **{name: persona.about for name, persona in settings.personas.items()}}


def styles_of(settings: Settings) -> dict[str, Style]:
    """How answers are made by each persona, the default first."""
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


async def _host(
    engine: EngineSettings, open_engine: OpenEngine, warming: Warming, clock: Clock, stack: AsyncExitStack
) -> EngineHost:
    """Keeps an engine open; with ``sleep_after`` one that may sleep, which ``stack`` closes."""
    sleep_after = 60 * engine.sleep_after or None
    if sleep_after is not None:
        open_engine = await stack.enter_async_context(sleeping(open_engine))
    return EngineHost(warming.around(open_engine), clock, sleep_after=sleep_after)


def _policy(settings: Settings) -> Policy:
    return Policy(settings.sessions.concurrent, settings.engine.max_long_prefills, settings.sessions.patience)


def _store(settings: Settings, clock: Clock) -> AbstractAsyncContextManager[Store]:
    keep = settings.store.keep_days or float("inf")
    idle = settings.sessions.idle_reset * 3600.0 or float("inf")
    return open_store(settings.store.path, clock, keep_days=keep, idle_reset=idle)


def _bounds(settings: Settings) -> Bounds:
    answers = settings.answers
    return Bounds(answers.max_files, answers.max_file_bytes, answers.max_image_bytes)
