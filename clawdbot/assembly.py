"""From settings to the parts of a bot: what each of them is told, and in which order they are made."""

import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from typing import TypeVar

from clawdbot.answers.addresses import Addresses
from clawdbot.answers.answering import Answering
from clawdbot.answers.notices import Notices
from clawdbot.answers.resuming import Resuming
from clawdbot.answers.revising import Revising
from clawdbot.bot import Bot
from clawdbot.clock import Clock
from clawdbot.commands.choices import Choice
from clawdbot.commands.commands import Commands
from clawdbot.delivery.pace import Budgets
from clawdbot.engine.admission import Admission, Policy
from clawdbot.engine.host import EngineHost, OpenEngine
from clawdbot.engine.protocol import Sampling
from clawdbot.engine.reuse import Reuse
from clawdbot.engine.settings import EngineSettings
from clawdbot.engine.sleeping import sleeping
from clawdbot.latency.observed import Observe
from clawdbot.models import Model, Models
from clawdbot.ops.meter import Meter
from clawdbot.people.access import Access
from clawdbot.people.gate import Gate
from clawdbot.prompts.style import ByPersona, Style, Styles
from clawdbot.prompts.warming import Warming
from clawdbot.questions.albums import Albums
from clawdbot.questions.intake import Intake
from clawdbot.questions.reading import Bounds, Reading
from clawdbot.sessions.sessions import Capacity, Sessions
from clawdbot.settings.config import DEFAULT_PERSONA, AnswerSettings, Persona, Settings
from clawdbot.shared import Shared
from clawdbot.store import Keeping, Store, open_store

T = TypeVar("T")


async def share(
    settings: Settings, openers: Mapping[str, OpenEngine], clock: Clock, observe: Observe, stack: AsyncExitStack
) -> Shared:
    """What all others share; ``stack`` closes it. ``openers``: by the names of `Settings.offered`.

    Raises `StoreError`.
    """
    store = await stack.enter_async_context(_store(settings, clock))
    gate = Gate(Access(settings.access), settings.quota, store.access, clock)
    personas = Choice("persona", personas_of(settings), store.choices)
    choice = Choice("model", models_of(settings), store.choices)
    await gate.open()
    await personas.open()
    await choice.open()
    ways = {name: Admission(_policy(settings, engine), clock) for name, engine in settings.offered.items()}
    styles = Styles(personas, styles_of(settings))
    sessions = Sessions(capacity_of(settings), clock, lambda conversation: ways[choice.of(conversation)])
    build = partial(_model, settings, store=store, sessions=sessions, styles=styles, clock=clock, stack=stack)
    models = Models(choice, [await build(name, openers[name], ways[name]) for name in settings.offered], clock)
    budgets = Budgets(observe)
    return Shared(
        store=store,
        gate=gate,
        sessions=sessions,
        models=models,
        styles=styles,
        reading=Reading(_bounds(settings), lambda conversation: models.of(conversation).host.info, clock),
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
    return Capacity(chosen.waiting, chosen.queue, chosen.share, chosen.busy)


def models_of(settings: Settings) -> dict[str, str]:
    """What is said about each model, the default first."""
    return {name: engine.about for name, engine in settings.offered.items()}


def personas_of(settings: Settings) -> dict[str, str]:
    """What is said about each persona, the default first."""
    return {DEFAULT_PERSONA: "", **{name: persona.about for name, persona in settings.personas.items()}}


def styles_of(settings: Settings) -> dict[str, ByPersona]:
    """How answers are made by each model and each persona, the defaults first."""
    personas: dict[str, Persona | None] = {DEFAULT_PERSONA: None, **settings.personas}
    return {
        model: {name: _style(settings.answers, engine, persona) for name, persona in personas.items()}
        for model, engine in settings.offered.items()
    }


def _style(answers: AnswerSettings, engine: EngineSettings, persona: Persona | None) -> Style:
    """What a persona says comes first, then what the model's table says, then what holds for all answers."""
    own = persona or Persona(system_prompt=_first(engine.system_prompt, answers.system_prompt))
    return Style(
        system_prompt=own.system_prompt,
        sampling=Sampling(
            _first(own.max_tokens, engine.max_tokens, answers.max_tokens),
            _first(own.temperature, engine.temperature, answers.temperature),
            _first(own.top_p, engine.top_p, answers.top_p),
        ),
        history_share=answers.history_share,
        most_messages=answers.max_messages,
        footer=answers.footer,
    )


def _first(*chosen: T | None) -> T:
    """The first of ``chosen`` that says anything; one of them does."""
    return next(value for value in chosen if value is not None)


async def _model(
    settings: Settings,
    name: str,
    open_engine: OpenEngine,
    admission: Admission,
    *,
    store: Store,
    sessions: Sessions,
    styles: Styles,
    clock: Clock,
    stack: AsyncExitStack,
) -> Model:
    """One model. With ``sleep_after`` its engine may sleep, and ``stack`` closes it."""
    reuse, alone = Reuse(), len(settings.offered) == 1
    warming = Warming(
        name, store=store, sessions=sessions, admission=admission, reuse=reuse, clock=clock, styles=styles
    )
    chosen = settings.offered[name]
    sleep_after = 60 * chosen.sleep_after or None
    if sleep_after is not None:
        open_engine = await stack.enter_async_context(sleeping(open_engine))
    host = EngineHost(
        warming.around(open_engine),
        clock,
        sleep_after=sleep_after,
        overdue_after=chosen.remote.away_after if chosen.kind == "remote" else None,
        patient=alone,
        name="the engine" if alone else f"the engine of {name}",
    )
    return Model(name, host, admission, reuse, warming)


def _policy(settings: Settings, engine: EngineSettings) -> Policy:
    concurrent = _first(engine.concurrent, settings.sessions.concurrent)
    return Policy(concurrent, engine.max_long_prefills, settings.sessions.patience)


def _store(settings: Settings, clock: Clock) -> AbstractAsyncContextManager[Store]:
    days = settings.store
    keeping = Keeping(days.keep_days or float("inf"), days.keep_text_days or float("inf"))
    idle = settings.sessions.idle_reset * 3600.0 or float("inf")
    return open_store(settings.store.path, clock, keeping=keeping, idle_reset=idle)


def _bounds(settings: Settings) -> Bounds:
    answers = settings.answers
    return Bounds(answers.max_files, answers.max_file_bytes, answers.max_image_bytes)
