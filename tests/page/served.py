"""A bot whose only platform is its own page."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from clawdbot.app import open_app, serve
from clawdbot.clock import SystemClock
from clawdbot.engine.host import OpenEngine
from clawdbot.ops.watch import Watch
from clawdbot.settings.config import AnswerSettings, OpsSettings, Settings, StoreSettings
from clawdbot.testing.browser import CHROMIUM, Tab
from clawdbot_web import WebAdapter, WebSettings

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason='no Chromium is installed (the Debian package "chromium")')


@asynccontextmanager
async def served(settings: OpsSettings, folder: Path, open_engine: OpenEngine) -> AsyncIterator[str]:
    """It runs for the time of the block; the address of its page."""
    clock, stop = SystemClock(), asyncio.Event()
    adapters, watch = {"web": WebAdapter(WebSettings())}, Watch(settings, clock)
    kept = Settings(
        store=StoreSettings(path=folder / "clawdbot.sqlite3"),
        answers=AnswerSettings(system_prompt="", temperature=0.0),
    )
    async with open_app(kept, open_engine, clock, watch.observe) as app, watch.open(app, adapters) as address:
        serving = asyncio.create_task(serve(app, adapters, clock, stop, 0.0))
        try:
            yield address
        finally:
            stop.set()
            await serving


async def ask(tab: Tab, text: str) -> None:
    """Type a question into the page and send it."""
    await tab.until("document.querySelector('#say') !== null")
    await tab.type("#say", text)
    await tab.enter()
