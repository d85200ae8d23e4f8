"""Makes docs/pictures/page.png, the bot's page, from a real run: ``python tools/page_picture.py``.

The real vLLM with the demo model answers on the page and, through the real adapters, on the simulated platforms. A run
takes about three minutes and all cores; it needs the test tools of this project and a ``chromium``.
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import typer
import uvloop
from pictures import FOLDER, FURTHER, PAUSE, RTT, adapters_on, ask_discord, ask_telegram, settings_on

from clawdbot.app import open_app, serve
from clawdbot.clock import SystemClock
from clawdbot.engine import models
from clawdbot.engine.host import OpenEngine
from clawdbot.engine.vllm import open_vllm
from clawdbot.ops.watch import Watch
from clawdbot.settings.config import OpsSettings
from clawdbot.testing.browser import Tab, browsing
from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.telegram import SimTelegram
from clawdbot_web import WebAdapter, WebSettings

WIDTH, HEIGHT = 1280, 940
ASKED = "What is the capital of France?"
GROWING = "Tell me a short story about a lighthouse."
QUESTIONS = 4
"""Asked on both platforms beforehand."""
WORDS = 12
"""So many words of the second answer are there when the picture is taken, or all of it if it has fewer."""


def main() -> None:
    """Make the picture."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(take(lambda: open_vllm(models.resolve("demo"), "auto", {})))


async def take(open_engine: OpenEngine) -> None:
    """Let the bot answer on all platforms and take the picture while it answers on the page."""
    clock, stop = SystemClock(), asyncio.Event()
    watch = Watch(OpsSettings(port=0), clock)
    with TemporaryDirectory(prefix="clawdbot-pictures-") as folder:
        async with SimDiscord(rtt=RTT) as discord, SimTelegram(rtt=RTT) as bot_api:
            adapters = {**adapters_on(discord, bot_api), "web": WebAdapter(WebSettings())}
            settings = settings_on(discord, Path(folder))
            async with (
                open_app(settings, open_engine, clock, watch.observe) as app,
                watch.open(app, adapters) as address,
                browsing(Path(folder)) as tab,
            ):
                served = asyncio.create_task(serve(app, adapters, clock, stop, settings.sessions.drain))
                try:
                    await app.host.engine()
                    await talk(discord, bot_api)
                    (FOLDER / "page.png").write_bytes(await picture(tab, f"{address}/"))
                finally:
                    stop.set()
                    await served


async def talk(discord: SimDiscord, bot_api: SimTelegram) -> None:
    """Ask the same on both platforms."""
    await discord.online()
    await bot_api.online()
    for question in FURTHER[:QUESTIONS]:
        await ask_discord(discord, question)
        await ask_telegram(bot_api, question)
        await asyncio.sleep(PAUSE)


async def picture(tab: Tab, url: str) -> bytes:
    """Open the page, ask two questions, and look at it while the second one is answered."""
    await tab.screen(WIDTH, HEIGHT)
    await tab.open(url)
    await ask(tab, ASKED)
    await tab.until("/web/.test(document.querySelector('#chain li')?.innerText)")
    await ask(tab, GROWING)
    await tab.until("document.querySelectorAll('.theirs').length > 1")
    second = "document.querySelectorAll('.theirs')[1].innerText"
    await tab.until(f"{second}.split(' ').length > {WORDS} || {second}.endsWith('Regenerate')")
    await tab.evaluate("document.activeElement.blur()")
    return await tab.picture()


async def ask(tab: Tab, text: str) -> None:
    """Type a question into the page and send it."""
    await tab.until("document.querySelector('#say') !== null")
    await tab.type("#say", text)
    await tab.enter()


if __name__ == "__main__":
    typer.run(main)
