"""The page for people: its files, its news, and the way in."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from aiohttp import web

from clawdbot.clock import Clock, within
from clawdbot.hosted import Hosted, News, stream
from clawdbot.ops.door import Door
from clawdbot.ops.look import Look

FILES = Path(__file__).parent / "page"
ASSETS = ("page.css", "page.js", "charts.js", "dom.js")
OPEN_PATHS = frozenset({"/", "/login", *(f"/{name}" for name in ASSETS)})
"""What asks for no cookie: the page itself shows nothing, and without one it leads to the way in."""
SCRIPTS = "<!-- scripts -->"

LARGEST_FORM = 4096
"""Bytes; anybody may send one."""
PATIENCE = 10.0
"""Seconds that a form may take to arrive."""
EVERY = 1.0
"""Seconds between two looks at the bot, as long as somebody has the page open."""


class Site:
    """Serves it; ``now`` makes what `Look.now` tells."""

    def __init__(
        self,
        door: Door,
        look: Look,
        now: Callable[[], Awaitable[dict[str, Any]]],
        clock: Clock,
        hosted: Sequence[Hosted],
    ) -> None:
        """``hosted`` are the adapters whose people come by this page."""
        self._door = door
        self._look = look
        self._now = now
        self._clock = clock
        self._hosted = hosted

    def routes(self) -> list[web.AbstractRouteDef]:
        """Where its parts are, those of hosted adapters included."""
        return [
            web.get("/", self._index),
            web.get("/login", self._way_in),
            web.post("/login", self._let_in),
            web.get("/look", self._news),
            *(web.get(f"/{name}", self._asset) for name in ASSETS),
            *(route for adapter in self._hosted for route in adapter.routes()),
        ]

    async def _index(self, request: web.Request) -> web.Response:
        """Whoever sits at the machine is let in by this; others come with a cookie."""
        guard = self._door.guard
        if guard.token is not None and not guard.knows(self._door.asking(request)):
            raise web.HTTPSeeOther("/login")
        scripts = [f'<script type="module" src="{adapter.script}"></script>' for adapter in self._hosted]
        response = await _html("index.html", {SCRIPTS: "\n  ".join(scripts)})
        self._door.let_in(request, response)
        return response

    async def _way_in(self, request: web.Request) -> web.Response:
        return await _html("login.html", {})

    async def _let_in(self, request: web.Request) -> web.Response:
        given = await self._form(request)
        if not self._door.accepts(given.strip(), self._door.asking(request).peer):
            raise web.HTTPForbidden(text="That is not the token. Go back and try again.")
        response = web.HTTPSeeOther("/")
        self._door.let_in(request, response)
        raise response

    async def _form(self, request: web.Request) -> str:
        """The token that somebody typed."""
        if request.content_length is None or request.content_length > LARGEST_FORM:
            raise web.HTTPRequestEntityTooLarge(LARGEST_FORM)
        form = asyncio.ensure_future(request.post())
        try:
            await within(PATIENCE, form, self._clock)
        except (LookupError, ValueError, web.RequestPayloadError) as error:  # no such encoding, or not in it; no form
            raise web.HTTPBadRequest(text="That is no form.") from error
        if form.cancelled():
            raise web.HTTPRequestTimeout
        given = form.result().get("token")
        return given if isinstance(given, str) else ""

    async def _asset(self, request: web.Request) -> web.StreamResponse:
        return web.FileResponse(FILES / request.path[1:])

    async def _news(self, request: web.Request) -> web.StreamResponse:
        return await stream(request, self._follow())

    async def _follow(self) -> AsyncIterator[News | None]:
        told, all_known = self._look.told, self._look.answers(None)
        yield "answers", all_known
        while True:
            yield "now", await self._now()
            await self._clock.sleep(EVERY)
            if self._look.told > told:
                new = self._look.answers(told)
                told = self._look.told
                yield "answers", new


async def _html(name: str, filled: dict[str, str]) -> web.Response:
    text = await asyncio.to_thread((FILES / name).read_text, encoding="utf-8")
    for mark, filling in filled.items():
        text = text.replace(mark, filling)
    return web.Response(text=text, content_type="text/html")
