"""The page's chat: what is typed there becomes the core's events, what the core shows goes to every open page."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from aiohttp import web
from pydantic import BaseModel, ConfigDict

from clawdbot.chat import Conversation, Message, Person, Pressed, Receive
from clawdbot.clock import Clock, SystemClock
from clawdbot.hosted import News, stream
from clawdbot_web.board import Board, Note
from clawdbot_web.reply import WebReply

OWNER = Person(1, "you", owner=True)
PLACE = Conversation("web", 1, private=True)

REF = re.compile(r"[\w-]{8,64}", re.ASCII)
"""What the page may call a question, so that one that is sent again is known."""

PAGE = Path(__file__).parent / "page"


class WebSettings(BaseModel):
    """``[adapters.web]``."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class WebAdapter:
    """An `Adapter` that is `Hosted`: the bot's web server lets people in, and all of them are its owner.

    There is one conversation. What is on the page lasts as long as the process.
    """

    script = "/web/chat.js"

    def __init__(self, settings: WebSettings, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._board = Board(self._clock)
        self._receive: Receive | None = None
        """Where events go, while the adapter runs."""

    @property
    def connected(self) -> bool:
        """See `clawdbot.abilities.Connects`."""
        return self._receive is not None

    async def run(self, receive: Receive) -> None:
        """Take what is typed until cancelled."""
        self._receive = receive
        try:
            await asyncio.Event().wait()
        finally:
            self._receive = None

    def reply(self, ref: str) -> WebReply:
        """See `Adapter.reply`."""
        return WebReply(self._board, ref)

    def routes(self) -> Sequence[web.AbstractRouteDef]:
        """See `clawdbot.hosted.Hosted`."""
        return [
            web.get("/web/events", self._events),
            web.post("/web/say", self._say),
            web.post("/web/press", self._press),
            web.get("/web/files/{ref}/{number:[0-9]{1,3}}", self._file),
            *(web.get(f"/web/{path.name}", _asset(path)) for path in sorted(PAGE.iterdir())),
        ]

    async def _events(self, request: web.Request) -> web.StreamResponse:
        return await stream(request, self._news())

    async def _news(self) -> AsyncIterator[News | None]:
        async for notes in self._board.follow():
            yield ("notes", [note.to_map() for note in notes]) if notes else None

    async def _say(self, request: web.Request) -> web.Response:
        """Take a question; answered when it is durable."""
        said = await _read(request)
        ref, text = said.get("ref"), said.get("text")
        if not isinstance(ref, str) or not isinstance(text, str) or not REF.fullmatch(ref) or not text.strip():
            raise web.HTTPBadRequest(text="A question has a ref of 8 to 64 letters and digits, and a text.")
        receive, now = self._listening(), self._clock.now()
        self._board.put(Note(ref, ref, text.strip()))
        message = Message(ref, PLACE, OWNER, text.strip(), now, self._clock.wall())
        await receive(message, WebReply(self._board, ref))
        return web.Response(status=202)

    async def _press(self, request: web.Request) -> web.Response:
        pressed = await _read(request)
        note = self._board.find(str(pressed.get("ref")))
        if note is None or not note.control or note.control != pressed.get("control"):
            raise web.HTTPConflict(text="There is no such control any more.")
        pressed_at = WebReply(self._board, note.question)
        await self._listening()(Pressed(PLACE, OWNER, note.control, note.ref), pressed_at)
        return web.Response(status=202)

    def _listening(self) -> Receive:
        if self._receive is None:
            raise web.HTTPServiceUnavailable(text="The bot takes no questions at present.")
        return self._receive

    async def _file(self, request: web.Request) -> web.Response:
        note = self._board.find(request.match_info["ref"])
        files = note.frame.files if note and note.frame else ()
        number = int(request.match_info["number"])
        if number >= len(files):
            raise web.HTTPNotFound
        if files[number].name.endswith(".png"):
            return web.Response(body=files[number].data, content_type="image/png")
        # Anything else is never shown in place: it may be a page with scripts.
        return web.Response(body=files[number].data, headers={"Content-Disposition": "attachment"})


async def _read(request: web.Request) -> Mapping[str, Any]:
    """The object that a request brings."""
    try:
        read = json.loads(await request.text())
    except (LookupError, RecursionError, ValueError) as error:  # no such encoding, too deep; all else is a ValueError
        raise web.HTTPBadRequest(text="That is no JSON.") from error
    if not isinstance(read, dict):
        raise web.HTTPBadRequest(text="That is no JSON object.")
    return read


def _asset(path: Path) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def serve(request: web.Request) -> web.StreamResponse:
        return web.FileResponse(path)

    return serve
