"""One question through the engine and the console, timed: what nobody else has to wait for."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from clawdbot.app import open_app, serve
from clawdbot.chat import Adapter
from clawdbot.clock import Clock
from clawdbot.engine.host import OpenEngine
from clawdbot.errors import EngineUnavailable
from clawdbot.latency.observed import answers
from clawdbot.latency.timing import Timing, closing_line, stages
from clawdbot.ops.doctor.finding import Finding, fail, ok
from clawdbot.settings.config import AdapterTable, Settings, StoreSettings

ABOUT = "latency"
QUESTION = "Say hello in one short sentence."


async def probe(
    settings: Settings, open_engine: OpenEngine, build: Callable[[AdapterTable], Adapter], clock: Clock
) -> tuple[Finding, Timing | None]:
    """Start an engine, ask it one thing at the console that ``build`` makes, and tell where the time went.

    Its conversation is kept in a folder of its own, which is removed.
    """
    timings: list[Timing] = []
    with TemporaryDirectory(prefix="clawdbot-") as folder:
        store = StoreSettings(path=Path(folder, "probe.sqlite3"))
        unfooted = settings.answers.model_copy(update={"footer": False})
        alone = settings.model_copy(update={"store": store, "adapters": {}, "models": {}, "answers": unfooted})
        console = build(AdapterTable("doctor", {"once": QUESTION}, None))
        failed: list[EngineUnavailable] = []
        try:
            async with open_app(alone, open_engine, clock, answers(timings.append)) as app:
                await app.host.engine()  # or the question would measure the loading
                await serve(app, {"console": console}, clock, asyncio.Event(), 0.0)
        except* EngineUnavailable as group:
            failed = [error for error in group.exceptions if isinstance(error, EngineUnavailable)]
    if failed:
        return fail(ABOUT, failed[0].reason, failed[0].remedy), None
    if not timings:
        return fail(ABOUT, "The question was not answered.", "The log above says why."), None
    return _told(timings[-1]), timings[-1]


def _told(timing: Timing) -> Finding:
    chain = " · ".join(f"{name} {seconds * 1000:.1f}" for name, seconds in stages(timing))
    told = f"{closing_line(timing)}. In milliseconds: {chain}."
    if timing.state != "final":
        return fail(ABOUT, f"The answer ended as {timing.state}. {told}", "The log above says why.")
    return ok(ABOUT, told)
