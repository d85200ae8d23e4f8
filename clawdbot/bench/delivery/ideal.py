"""The least that a bot can do, to hold the real one against: the same SDKs, no store, no queue, no rendering.

It sends at the first text and then edits at a fixed pace that the platform's limits bear.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import aiohttp
import discord
import telegram
from aiohttp.client_reqrep import ClientRequest
from yarl import URL

from clawdbot.bench.scenes import Address, Platform
from clawdbot.clock import SystemClock, until
from clawdbot.delivery.markdown import showable
from clawdbot.engine.protocol import Engine, Request, Sampling

DISCORD_PACE, TELEGRAM_PACE, GROUP_PACE = 1.25, 1.0, 3.5
"""Seconds between two edits."""
DISCORD_SIZE, TELEGRAM_SIZE = 2000, 4096

Edit = Callable[[str], Awaitable[object]]
Send = Callable[[str], Awaitable[Edit]]
"""Posts a text; what it returns changes the text."""


@asynccontextmanager
async def open_ideal(platform: Platform, address: Address, engine: Engine) -> AsyncIterator[None]:
    """Serve the platform with the minimal bot until the end of the block."""
    serving = asyncio.create_task((_discord if platform == "discord" else _telegram)(address, engine))
    try:
        yield
    finally:
        serving.cancel()
        await asyncio.wait({serving})


async def answer(question: str, engine: Engine, send: Send, *, pace: float, size: int) -> None:
    """Let ``engine`` answer; a text that outgrows ``size`` goes on in a further message."""
    clock = SystemClock()
    written = _Written(engine, question)
    reading = asyncio.create_task(written.read())
    edits: list[Edit] = []
    shown: list[str] = []
    await written.readable.wait()
    while True:
        started = clock.now()
        complete = written.ended.is_set()
        parts = [written.text[at : at + size] for at in range(0, len(written.text), size)]
        for number, part in enumerate(parts):
            if number == len(edits):
                edits.append(await send(part))
                shown.append(part)
            elif part != shown[number]:
                await edits[number](part)
                shown[number] = part
        if complete:
            break
        await until(written.ended, started + pace - clock.now(), clock)
    await reading


class _Written:
    """The text that the engine has written so far."""

    def __init__(self, engine: Engine, question: str) -> None:
        self.text = ""
        self.readable = asyncio.Event()
        self.ended = asyncio.Event()
        self._engine = engine
        self._question = question

    async def read(self) -> None:
        tokens = await self._engine.tokenizer.encode(self._question)
        request = Request(self._question, tokens, Sampling(max_tokens=1_000_000))
        async with aclosing(self._engine.generate(request)) as chunks:
            async for chunk in chunks:
                self.text += chunk.text
                if not self.readable.is_set() and showable(self.text) >= 2:
                    self.readable.set()
        self.readable.set()
        self.ended.set()


async def _discord(address: Address, engine: Engine) -> None:
    client = _Client(address, engine)
    async with client:
        await client.start(address.token)


class _Client(discord.Client):
    def __init__(self, address: Address, engine: Engine) -> None:
        intents = discord.Intents(guilds=True, messages=True, message_content=True)
        connector = _Rerouted(URL(address.options["api_url"]), URL(address.options["gateway_url"]))
        super().__init__(intents=intents, connector=connector, allowed_mentions=discord.AllowedMentions.none())
        self._engine = engine

    async def on_message(self, message: discord.Message) -> None:
        if message.author.bot:
            return

        async def send(text: str) -> Edit:
            sent = await message.reply(text)
            return lambda text: sent.edit(content=text)

        await answer(message.content, self._engine, send, pace=DISCORD_PACE, size=DISCORD_SIZE)


class _Rerouted(aiohttp.TCPConnector):
    """Leads discord.py, whose addresses are fixed, to another server."""

    def __init__(self, api: URL, gateway: URL) -> None:
        super().__init__(limit=0)
        self._api = api
        self._gateway = gateway

    async def connect(self, req: ClientRequest, *args: Any, **options: Any) -> aiohttp.connector.Connection:
        """See `aiohttp.BaseConnector.connect`."""
        there = self._gateway if req.url.path == "/" else self._api
        req.url = req.url.with_scheme(there.scheme).with_host(there.host or "").with_port(there.port)
        if there is self._gateway:
            req.url = req.url.with_path(there.path, keep_query=True)
        return await super().connect(req, *args, **options)


async def _telegram(address: Address, engine: Engine) -> None:
    bot = telegram.Bot(address.token, base_url=f"{address.options['base_url']}/bot")
    async with bot, asyncio.TaskGroup() as group:
        offset = 0
        while True:
            for update in await bot.get_updates(offset, timeout=10):
                offset = update.update_id + 1
                if update.message:
                    group.create_task(_answer_on_telegram(update.message, engine))


async def _answer_on_telegram(message: telegram.Message, engine: Engine) -> None:
    async def send(text: str) -> Edit:
        sent = await message.reply_text(text)
        return sent.edit_text

    pace = TELEGRAM_PACE if message.chat.type == message.chat.PRIVATE else GROUP_PACE
    await answer(message.text or "", engine, send, pace=pace, size=TELEGRAM_SIZE)
