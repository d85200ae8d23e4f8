"""Where the files of messages lie: under addresses that expire."""

from collections.abc import Callable
from hashlib import blake2s

from aiohttp import web

from clawdbot.clock import Clock
from clawdbot.testing.discord.records import Call, Post
from clawdbot.testing.discord.world import World
from clawdbot.testing.faults import Faults, Trouble

LIFE = 86_400.0
"""Seconds for which an address is good."""
NAME = "GET file"
"""What the log and the faults call a download."""


class Cdn:
    """Serves the files of the messages in ``world``; neither a token nor a limit is asked for."""

    def __init__(
        self, world: World, faults: Faults, rtt: float, calls: list[Call], changed: Callable[[], None]
    ) -> None:
        self._world = world
        self._faults = faults
        self._rtt = rtt
        self._calls = calls
        self._changed = changed
        self.base = ""
        self.life = LIFE
        world.address = self.address

    def address(self, post: Post, number: int, name: str) -> str:
        """Where a file of ``post`` can be loaded from now on for a while."""
        ends = int(self._world.clock.wall() + self.life)
        path = f"attachments/{post.channel}/{post.id}-{number}/{name}"
        return f"{self.base}/{path}?ex={ends:x}&hm={_signature(path, ends)}"

    def install(self, app: web.Application) -> None:
        """Serve it."""
        app.router.add_get("/attachments/{channel}/{file}/{name}", self._serve)

    async def _serve(self, request: web.Request) -> web.Response:
        clock: Clock = self._world.clock
        await clock.sleep(self._rtt / 2)
        fault = self._faults.take(NAME)
        data = self._find(request)
        status = 404 if data is None else 200
        if fault is not None:
            status = {Trouble.LIMITED: 429, Trouble.ERROR: 500, Trouble.BAD_GATEWAY: 502}.get(fault.trouble, 0)
        self._calls.append(Call(clock.now(), NAME, request.match_info["channel"], status))
        self._changed()
        if fault is not None and fault.trouble in (Trouble.HANG, Trouble.TIMEOUT_AFTER):
            await clock.sleep(fault.seconds)
        if status == 0 and request.transport is not None:
            request.transport.abort()
        await clock.sleep(self._rtt / 2)
        if status == 200:
            return web.Response(body=data, content_type="application/octet-stream")
        headers = {"Retry-After": f"{fault.seconds:g}"} if fault is not None and status == 429 else {}
        return web.Response(status=status or 503, text="This content is no longer available.", headers=headers)

    def _find(self, request: web.Request) -> bytes | None:
        """The content; None under an address that was never given, or is good no more."""
        names, query = request.match_info, request.query
        path = f"attachments/{names['channel']}/{names['file']}/{names['name']}"
        ends = int(query.get("ex", "0"), 16)
        if query.get("hm") != _signature(path, ends) or self._world.clock.wall() > ends:
            return None
        number, _, place = names["file"].partition("-")
        channel = self._world.channels.get(int(names["channel"]))
        post = channel.posts.get(int(number)) if channel else None
        files = post.now.files if post and not post.deleted else ()
        return files[int(place) - 1][1] if int(place) <= len(files) else None


def _signature(path: str, ends: int) -> str:
    return blake2s(f"{path} {ends}".encode(), digest_size=8).hexdigest()
