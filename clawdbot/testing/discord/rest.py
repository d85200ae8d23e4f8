"""The REST side: routes, limits, faults, the time that a call travels."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from clawdbot.clock import Clock
from clawdbot.testing.discord import payloads
from clawdbot.testing.discord.interactions import Interactions
from clawdbot.testing.discord.payloads import Json
from clawdbot.testing.discord.records import Call
from clawdbot.testing.discord.windows import Verdict, Window, Windows
from clawdbot.testing.discord.world import Refusal, World
from clawdbot.testing.faults import Fault, Faults, Trouble

PREFIX = "/api/v10"
CROWDED, OLD_MESSAGE = 20028, 30046
CONTENT_LIMITED = 1 << 19
"""The flag of an application in few servers whose bot may read messages."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call carries."""

    at: dict[str, int | str]
    """The parts of its path: numbers as int."""
    query: dict[str, str]
    body: Any
    files: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call that was taken gets back."""

    body: Any = None
    status: int = 200
    repeated: bool = False


Do = Callable[[Asked], Answer]


@dataclass(frozen=True, slots=True)
class Route:
    """One endpoint. ``kind`` names its window in `Windows`; ``free`` calls do not count for the whole bot."""

    method: str
    path: str
    name: str
    do: Do
    kind: str = ""
    free: bool = False


class Rest:
    """Answers discord.py's calls as Discord does."""

    def __init__(
        self,
        world: World,
        interactions: Interactions,
        windows: Windows,
        faults: Faults,
        *,
        token: str,
        rtt: float,
        message_content: bool,
        public: bool,
    ) -> None:
        self.world = world
        self.interactions = interactions
        self.windows = windows
        self.faults = faults
        self.token = token
        self.rtt = rtt
        self.message_content = message_content
        self.public = public
        self.calls: list[Call] = []
        self.changed: Callable[[], None] = lambda: None
        """Called after every call."""

    def install(self, app: web.Application) -> None:
        """Add every endpoint to ``app``."""
        for route in self._routes():
            app.router.add_route(route.method, PREFIX + route.path, self._handler(route))

    def _routes(self) -> list[Route]:
        scopes = ("/applications/{app:\\d+}/commands", "/applications/{app:\\d+}/guilds/{guild:\\d+}/commands")
        channel, hook = "/channels/{channel:\\d+}", "/webhooks/{app:\\d+}/{token}"
        callback = "/interactions/{interaction:\\d+}/{token}/callback"
        return [
            Route("GET", "/gateway", "GET gateway", self._gateway, free=True),
            Route("GET", "/users/@me", "GET me", lambda asked: Answer(payloads.of_user(self.world.bot))),
            Route("GET", "/oauth2/applications/@me", "GET application", lambda asked: Answer(self._application())),
            Route("POST", "/users/@me/channels", "POST private", self._open_private),
            *(Route("GET", scope, "GET commands", self._commands) for scope in scopes),
            *(Route("PUT", scope, "PUT commands", self._register) for scope in scopes),
            Route("GET", channel, "GET channel", self._channel),
            Route("GET", channel + "/messages", "GET messages", self._history),
            Route("GET", channel + "/messages/{message:\\d+}", "GET message", self._message),
            Route("POST", channel + "/messages", "POST message", self._send, "sends"),
            Route("PATCH", channel + "/messages/{message:\\d+}", "PATCH message", self._edit, "edits"),
            Route("POST", channel + "/typing", "POST typing", self._typing, "typing"),
            Route("POST", callback, "POST callback", self._acknowledge, free=True),
            Route("POST", hook, "POST answer", self._follow, "webhook", free=True),
            Route("PATCH", hook + "/messages/{which}", "PATCH answer", self._change, "webhook", free=True),
            Route("GET", hook + "/messages/{which}", "GET answer", self._read, free=True),
        ]

    def _handler(self, route: Route) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.Response:
            asked = await _read(request)
            await self.world.clock.sleep(self.rtt / 2)
            place = str(asked.at.get("channel") or asked.at.get("token") or "")
            fault = self.faults.take(route.name)
            window = self.windows.of(route.kind, place)
            answer = self._answer(route, request, asked, fault, window)
            status = 0 if _breaks(fault) else answer.status
            code = answer.body.get("code", 0) if isinstance(answer.body, dict) and answer.status >= 400 else 0
            self.calls.append(Call(self.world.clock.now(), route.name, place, status, code, answer.repeated))
            self.changed()
            if fault and _breaks(fault):
                return await _break(request, fault, self.world.clock)
            await self.world.clock.sleep(self.rtt / 2)
            return _response(answer, route, window, self.world.clock)

        return handle

    def _answer(
        self, route: Route, request: web.Request, asked: Asked, fault: Fault | None, window: Window | None
    ) -> Answer:
        if request.headers.get("Authorization") != f"Bot {self.token}" and not route.free:
            return Answer({"message": "401: Unauthorized", "code": 0}, 401)
        if fault is not None and not fault.trouble.acted:
            return self._refused_on_purpose(fault, window)
        now = self.world.clock.now()
        if not route.free and not (verdict := self.windows.whole_bot.take(now)).granted:
            return _limited(verdict.reset_after, everywhere=True)
        if window is not None and not (verdict := window.take(now)).granted:
            return _limited(verdict.reset_after)
        if refused := self._refused_in_channel(route, asked):
            return refused
        try:
            return route.do(asked)
        except Refusal as refusal:
            return Answer({"message": refusal.text, "code": refusal.code}, refusal.status)

    def _refused_in_channel(self, route: Route, asked: Asked) -> Answer | None:
        """The limits that no header tells of: of all who write in a channel, and of edits of old messages."""
        channel = self.world.channels.get(int(asked.at.get("channel", 0)))
        if channel is None or route.kind not in ("sends", "edits"):
            return None
        now = self.world.clock.now()
        if channel.crowded_until > now:
            text = "The write action you are performing on the channel has hit the write rate limit."
            return _limited(channel.crowded_until - now, code=CROWDED, text=text)
        post = channel.posts.get(int(asked.at.get("message", 0)))
        window = self.windows.of("old edits", str(channel.id))
        if post is None or window is None or not self.world.is_old(post) or (verdict := window.take(now)).granted:
            return None
        text = "Maximum number of edits to messages older than 1 hour reached. Try again later."
        return _limited(verdict.reset_after, code=OLD_MESSAGE, text=text)

    def _refused_on_purpose(self, fault: Fault, window: Window | None) -> Answer:
        if fault.trouble is Trouble.LIMITED:
            if window is not None:
                window.close(self.world.clock.now(), fault.seconds)
            return _limited(fault.seconds)
        if fault.trouble is Trouble.BAD_GATEWAY:
            return Answer("<html><head><title>502 Bad Gateway</title></head></html>", 502)
        return Answer({"message": "500: Internal Server Error", "code": 0}, 500)

    def _gateway(self, asked: Asked) -> Answer:
        return Answer({"url": "wss://gateway.discord.gg"})

    def _application(self) -> Json:
        bot = self.world.bot
        return {
            "id": str(bot.id),
            "name": bot.name,
            "icon": None,
            "description": "",
            "bot_public": self.public,
            "bot_require_code_grant": False,
            "verify_key": "",
            "flags": CONTENT_LIMITED if self.message_content else 0,
            "owner": payloads.of_user(bot),
            "team": None,
            "rpc_origins": [],
            "interactions_endpoint_url": None,
        }

    def _open_private(self, asked: Asked) -> Answer:
        user = self.world.users[int(asked.body["recipient_id"])]
        return Answer(payloads.of_channel(self.world.private(user), (user,)))

    def _commands(self, asked: Asked) -> Answer:
        return Answer(self.interactions.commands.get(int(asked.at.get("guild", 0)), []))

    def _register(self, asked: Asked) -> Answer:
        return Answer(self.interactions.register(int(asked.at.get("guild", 0)), asked.body))

    def _channel(self, asked: Asked) -> Answer:
        channel = self.world.channel(int(asked.at["channel"]), reading=True)
        people = (self.world.users[channel.member],) if channel.member else ()
        return Answer(payloads.of_channel(channel, people))

    def _history(self, asked: Asked) -> Answer:
        channel = self.world.channel(int(asked.at["channel"]), reading=True)
        after, count = int(asked.query.get("after", 0)), int(asked.query.get("limit", 50))
        before = int(asked.query.get("before", 1 << 63))
        posts = [post for post in channel.screen if after < post.id < before and not channel.history_hidden]
        posts = posts[:count] if after else posts[-count:]
        return Answer([self.world.message_json(channel, post) for post in reversed(posts)])

    def _message(self, asked: Asked) -> Answer:
        channel = self.world.channel(int(asked.at["channel"]), reading=True)
        if channel.history_hidden:
            raise Refusal(403, 50013, "Missing Permissions")
        return Answer(self.world.message_json(channel, self.world.post(channel, int(asked.at["message"]))))

    def _send(self, asked: Asked) -> Answer:
        channel = self.world.channel(int(asked.at["channel"]))
        post, repeated = self.world.create(channel, asked.body, asked.files)
        return Answer(self.world.new_message_json(channel, post), repeated=repeated)

    def _edit(self, asked: Asked) -> Answer:
        channel = self.world.channel(int(asked.at["channel"]))
        post = self.world.post(channel, int(asked.at["message"]))
        self.world.change(channel, post, asked.body, asked.files)
        return Answer(self.world.message_json(channel, post))

    def _typing(self, asked: Asked) -> Answer:
        self.world.channel(int(asked.at["channel"]))
        return Answer(status=204)

    def _acknowledge(self, asked: Asked) -> Answer:
        number, token = int(asked.at["interaction"]), str(asked.at["token"])
        found, message = self.interactions.acknowledge(number, token, asked.body, asked.files)
        if asked.query.get("with_response") in ("1", "true"):
            return Answer(payloads.of_callback(found, asked.body["type"], message))
        return Answer(status=204)

    def _follow(self, asked: Asked) -> Answer:
        return Answer(self.interactions.follow(str(asked.at["token"]), asked.body, asked.files))

    def _change(self, asked: Asked) -> Answer:
        token, which = str(asked.at["token"]), str(asked.at["which"])
        return Answer(self.interactions.edit(token, which, asked.body, asked.files))

    def _read(self, asked: Asked) -> Answer:
        return Answer(self.interactions.read(str(asked.at["token"]), str(asked.at["which"])))


def _limited(
    seconds: float, *, everywhere: bool = False, code: int = 0, text: str = "You are being rate limited."
) -> Answer:
    return Answer({"message": text, "retry_after": round(seconds, 3), "global": everywhere, "code": code}, 429)


def _breaks(fault: Fault | None) -> bool:
    answered = (Trouble.LIMITED, Trouble.ERROR, Trouble.BAD_GATEWAY)
    return fault is not None and fault.trouble not in answered


async def _break(request: web.Request, fault: Fault, clock: Clock) -> web.Response:
    """Let the connection break instead of an answer, for the silent troubles after a while."""
    if fault.trouble in (Trouble.HANG, Trouble.TIMEOUT_AFTER):
        await clock.sleep(fault.seconds)
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def _read(request: web.Request) -> Asked:
    at: dict[str, int | str] = {
        key: int(value) if value.isdigit() and key not in ("token", "which") else value
        for key, value in request.match_info.items()
    }
    query = dict(request.query)
    if not request.can_read_body:
        return Asked(at, query, {}, ())
    if request.content_type != "multipart/form-data":
        return Asked(at, query, await request.json(), ())
    form = await request.post()
    fields = [value for key, value in form.items() if key.startswith("files")]
    files = [(field.filename, field.file.read()) for field in fields if isinstance(field, web.FileField)]
    body = json.loads(str(form["payload_json"]))
    return Asked(at, query, body, tuple(files))


def _response(answer: Answer, route: Route, window: Window | None, clock: Clock) -> web.Response:
    headers = {"Via": "1.1 simulated"}
    if window is not None:
        left = max(0.0, window.ends - clock.now())
        verdict = Verdict(True, window.rate.calls, window.rate.calls - window.used, left)
        headers |= _headers(verdict, route, clock)
    if answer.status == 429:
        headers["Retry-After"] = str(answer.body["retry_after"])
        scope = "shared" if answer.body["code"] == CROWDED else "user"
        headers["X-RateLimit-Scope"] = "global" if answer.body["global"] else scope
        if answer.body["global"]:
            headers["X-RateLimit-Global"] = "true"
    if answer.body is None:
        return web.Response(status=answer.status, headers=headers)
    if isinstance(answer.body, str):
        return web.Response(status=answer.status, headers=headers, text=answer.body, content_type="text/html")
    # discord.py reads JSON only under exactly this content type: aiohttp's own helper adds a charset to it.
    headers["Content-Type"] = "application/json"
    return web.Response(status=answer.status, headers=headers, body=json.dumps(answer.body).encode())


def _headers(verdict: Verdict, route: Route, clock: Clock) -> dict[str, str]:
    return {
        "X-RateLimit-Limit": str(verdict.limit),
        "X-RateLimit-Remaining": str(verdict.remaining),
        "X-RateLimit-Reset": f"{clock.wall() + verdict.reset_after:.3f}",
        "X-RateLimit-Reset-After": f"{verdict.reset_after:.3f}",
        "X-RateLimit-Bucket": f"{route.kind}-bucket",
    }
