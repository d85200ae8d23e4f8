"""The HTTP side of the simulator: tokens, limits, faults and the round trip around the Bot API's methods."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from aiohttp import web

from clawdbot.chat import File
from clawdbot.clock import Clock, until
from clawdbot.testing.faults import Fault, Faults, Trouble
from clawdbot.testing.telegram.files import Files
from clawdbot.testing.telegram.methods import SPENDING, Methods
from clawdbot.testing.telegram.rules import Allowance, Budget
from clawdbot.testing.telegram.wire import Fields, Json, Refusal, too_many


class Verdict(StrEnum):
    """How a call went."""

    OK = "ok"
    LIMITED = "limited"
    """Refused with 429."""
    REFUSED = "refused"
    """Refused with another 4xx."""
    FAULT = "fault"
    """Went wrong on purpose, with or without effect."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call that reached the server."""

    at: float
    """When it took effect or was refused, by the simulator's clock."""
    method: str
    chat: int
    """0 where the call names none."""
    verdict: Verdict
    code: int
    """The HTTP status, 0 where none was sent."""
    description: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    """What was sent, as on the wire."""


class Broken(Exception):
    """The connection has to be cut instead of an answer."""


class Server:
    """Serves ``/bot<token>/<method>``, and ``/file/bot<token>/<path>`` from ``files``."""

    def __init__(
        self,
        token: str,
        methods: Methods,
        files: Files,
        clock: Clock,
        allowance: Allowance,
        rtt: float,
        faults: Faults,
        changed: Callable[[], None],
    ) -> None:
        self.token = token
        """The one that is accepted."""
        self._methods = methods
        self._files = files
        self._clock = clock
        self._allowance = allowance
        self._changed = changed
        self._bot = Budget(allowance.bot, allowance.penalty)
        self._chats: dict[tuple[int, bool], Budget] = {}
        self._closing = asyncio.Event()
        self.rtt = rtt
        self.faults = faults
        self.calls: list[Call] = []
        """All calls so far except empty polls."""

    def application(self) -> web.Application:
        """The routes, to be served by aiohttp."""
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_route("*", "/bot{token}/{method}", self._handle)
        app.router.add_get("/file/bot{token}/{path:.+}", self._load)
        return app

    def close(self) -> None:
        """Let whoever waits go."""
        self._closing.set()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        values, uploads = await _read(request)
        method = request.match_info["method"]
        poll = method.lower() == "getupdates"
        if not poll:
            await self._clock.sleep(self.rtt / 2)
        try:
            answer = await self._answer(request.match_info["token"], method, values, uploads)
        except Broken:
            if request.transport:
                request.transport.abort()
            return web.Response(status=503)
        await self._clock.sleep(self.rtt / 2)
        return answer

    async def _load(self, request: web.Request) -> web.StreamResponse:
        """The content of a file; the log and the faults know it as the method "download"."""
        await self._clock.sleep(self.rtt / 2)
        # Without the token there is nothing to be found.
        path = request.match_info["path"] if request.match_info["token"] == self.token else ""
        try:
            if fault := self.faults.take("download"):
                return await self._fail(fault, "download", {"path": path})
            data = self._files.read(path)
        except Broken:
            if request.transport:
                request.transport.abort()
            return web.Response(status=503)
        except Refusal as refusal:
            self._log("download", {"path": path}, Verdict.REFUSED, refusal.code, refusal.description)
            return web.json_response(refusal.json(), status=refusal.code)
        self._log("download", {"path": path}, Verdict.OK, 200)
        await self._clock.sleep(self.rtt / 2)
        return web.Response(body=data, content_type="application/octet-stream")

    async def _answer(
        self, token: str, method: str, values: Mapping[str, str], uploads: Mapping[str, File]
    ) -> web.Response:
        fault = self.faults.take(method)
        if fault and not fault.trouble.acted:
            return await self._fail(fault, method, values)
        try:
            result = await self._act(token, method, Fields(values, uploads))
        except Refusal as refusal:
            verdict = Verdict.LIMITED if refusal.code == 429 else Verdict.REFUSED
            self._log(method, values, verdict, refusal.code, refusal.description)
            return web.json_response(refusal.json(), status=refusal.code)
        if fault:
            return await self._fail(fault, method, values)
        if method.lower() != "getupdates" or result:
            self._log(method, values, Verdict.OK, 200)
        return web.json_response({"ok": True, "result": result})

    async def _act(self, token: str, method: str, fields: Fields) -> object:
        if token != self.token:
            raise Refusal(401, "Unauthorized") if ":" in token else Refusal(404, "Not Found")
        known = self._methods.find(method)
        if known is None:
            raise Refusal(404, "Not Found")
        if method in SPENDING or method == "sendMessageDraft":
            self._charge(fields.number("chat_id"), draft=method == "sendMessageDraft")
        return await known(fields)

    def _charge(self, chat: int, draft: bool) -> None:
        rates = self._allowance.private if chat > 0 else self._allowance.group
        fresh = Budget(self._allowance.drafts if draft else rates, self._allowance.penalty)
        place = self._chats.setdefault((chat, draft), fresh)
        now = self._clock.now()
        wait = max(place.wait(now), self._bot.wait(now))
        if wait > 0:
            raise too_many(wait)
        place.spend(now)
        self._bot.spend(now)

    async def _fail(self, fault: Fault, method: str, values: Mapping[str, str]) -> web.Response:
        match fault.trouble:
            case Trouble.LIMITED:
                refusal = too_many(fault.seconds)
                self._log(method, values, Verdict.LIMITED, 429, refusal.description)
                return web.json_response(refusal.json(), status=429)
            case Trouble.ERROR:
                self._log(method, values, Verdict.FAULT, 500)
                body: Json = {"ok": False, "error_code": 500, "description": "Internal Server Error"}
                return web.json_response(body, status=500)
            case Trouble.BAD_GATEWAY:
                self._log(method, values, Verdict.FAULT, 502)
                return web.Response(status=502, text="<html>Bad Gateway</html>", content_type="text/html")
        self._log(method, values, Verdict.FAULT, 0, fault.trouble.value)
        if fault.trouble in (Trouble.TIMEOUT_AFTER, Trouble.HANG):
            await until(self._closing, fault.seconds, self._clock)
        raise Broken

    def _log(self, method: str, values: Mapping[str, str], verdict: Verdict, code: int, description: str = "") -> None:
        chat = 0
        with contextlib.suppress(ValueError):
            chat = int(values.get("chat_id", "0"))
        self.calls.append(Call(self._clock.now(), method, chat, verdict, code, description, values))
        self._changed()


async def _read(request: web.Request) -> tuple[dict[str, str], dict[str, File]]:
    """The fields of a call and its uploads, from the URL and the body."""
    values: dict[str, str] = dict(request.query)
    uploads: dict[str, File] = {}
    for name, value in (await request.post()).items():
        if isinstance(value, web.FileField):
            uploads[name] = File(value.filename, value.file.read())
        else:
            values[name] = str(value)
    return values, uploads
