"""The page's chat for the contract: a web server with the adapter's routes alone, and a reader who follows its news."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import web

from clawdbot.chat import Adapter
from clawdbot.ops.server import serving
from clawdbot.testing.contract import Ability
from clawdbot.testing.waiting import patience, polled
from clawdbot_web import WebAdapter, WebSettings


class WebHarness:
    """What somebody at the page does and sees."""

    can = frozenset({Ability.CONTROLS, Ability.LIMIT, Ability.RETURN})

    def __init__(self, address: str, http: aiohttp.ClientSession, web_adapter: WebAdapter) -> None:
        self.adapter: Adapter = web_adapter
        self.notes: dict[str, dict[str, Any]] = {}
        """What is on the page, by ref."""
        self.address = address
        self.http = http
        self.web = web_adapter
        self._numbers = itertools.count(1)
        self._under_way: set[asyncio.Task[int]] = set()
        self._news = asyncio.Event()

    async def online(self) -> None:
        await polled(lambda: self.web.connected)

    def say(self, text: str, place: int = 0) -> None:
        self._later(self.post("/web/say", ref=f"question-{next(self._numbers)}", text=text))

    def screen(self, place: int = 0) -> list[str]:
        return [note["text"] for note in self._answers]

    def controls(self, place: int = 0) -> list[str]:
        return [note["control"] for note in self._answers[-1:] if note["control"]]

    def press(self, control: str, place: int = 0) -> None:
        self._later(self.post("/web/press", ref=self._answers[-1]["ref"], control=control))

    def refuse(self, seconds: float) -> None:
        raise NotImplementedError("The page refuses nothing.")

    def delete(self, place: int = 0) -> None:
        raise NotImplementedError("Nothing can be removed from the page.")

    async def until(self, condition: Callable[[], bool]) -> None:
        async with patience(10, lambda: self.notes):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def post(self, path: str, **told: Any) -> int:
        """Ask something of the server; the status of its answer."""
        async with self.http.post(self.address + path, json=told) as answer:
            return answer.status

    async def follow(self) -> None:
        """Take the page's news as they come."""
        async with self.http.get(f"{self.address}/web/events") as answer:
            async for line in answer.content:
                if line.startswith(b"data: "):
                    self.notes |= {note["ref"]: note for note in json.loads(line[6:])}
                    self._news.set()

    @property
    def _answers(self) -> list[dict[str, Any]]:
        return [note for note in self.notes.values() if note["state"] != "asked"]

    def _later(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)


@asynccontextmanager
async def on_a_page() -> AsyncIterator[WebHarness]:
    """A page with a reader."""
    adapter, app = WebAdapter(WebSettings()), web.Application()
    app.add_routes(adapter.routes())
    async with serving(app, "127.0.0.1", 0) as address, aiohttp.ClientSession() as http:
        harness = WebHarness(address, http, adapter)
        following = asyncio.create_task(harness.follow())
        try:
            yield harness
        finally:
            following.cancel()
            await asyncio.wait((following,))
