"""How calls travel: to a proxy where one is set, over warm connections, and without discord.py's waits inside a call.

discord.py sleeps where Discord asks it to wait: a call that used up its bucket returns only seconds after it took
effect, and a refused one is repeated in secret. Whoever shows a growing text has to know at once, so here such calls
end with an exception and whoever made them decides.
"""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from math import isfinite
from types import SimpleNamespace, TracebackType

import aiohttp
import discord
from aiohttp.client_reqrep import ClientRequest
from discord.http import HTTPClient, Ratelimit, Route
from yarl import URL

from clawdbot.errors import DeliveryError, Limited, Unreachable, Unsure

KEEP_ALIVE = 300.0
"""Seconds that an idle connection is kept; Discord closes it earlier when it likes."""
UNSAID, UNSAID_BY_FRONT = 1.0, 60.0
"""Seconds to wait after a refusal that does not say how long; the front's refusals last."""
UNSAID_OF_OLD = 20.0
"""The same for edits of messages older than an hour, of which a few in 20 s were seen to be taken."""
OLD_MESSAGE = 30046
_NO_EFFECT, _PERHAPS = (500, 502, 503), (504, 520, 522, 524)


class Crowded(Limited):
    """Everybody together has written too much there: it holds for every kind of call in the place."""


class Connector(aiohttp.TCPConnector):
    """Connections of one client, which go to proxies instead of Discord where such are set.

    discord.py keeps its addresses in class attributes that all clients of a process share; this leaves them alone.
    """

    def __init__(self, api_url: str | None, gateway_url: str | None) -> None:
        super().__init__(limit=0, keepalive_timeout=KEEP_ALIVE)
        self._api_url = api_url
        self._gateway_url = gateway_url

    async def connect(
        self,
        req: ClientRequest,
        traces: list["aiohttp.tracing.Trace"],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp names it so
    ) -> aiohttp.connector.Connection:
        """Give a connection for ``req``, which may be sent elsewhere by it."""
        target = redirected(req.url, self._api_url, self._gateway_url)
        if target != req.url:
            req.url = target
            req.headers["Host"] = target.raw_authority
        return await super().connect(req, traces, timeout)


def redirected(url: URL, api_url: str | None, gateway_url: str | None) -> URL:
    """Where a call to Discord's ``url`` goes when proxies are set."""
    if api_url and str(url).startswith(Route.BASE):
        return URL(api_url.rstrip("/") + str(url)[len(Route.BASE) :], encoded=True)
    if gateway_url and (url.host or "").endswith("discord.gg"):
        return URL(gateway_url).with_query(url.query)
    return url


class Allowance(Ratelimit):
    """One of Discord's buckets, as its headers describe it: refuses a call that has no room, and never sleeps."""

    def __init__(self) -> None:
        super().__init__(None)

    async def acquire(self) -> None:
        """Take a place. Raises `discord.RateLimited` with the seconds until there is one."""
        self._last_request = self._loop.time()
        if self.is_expired():
            self.reset()  # type: ignore[no-untyped-call]
        # Without an answer yet nothing is known about the bucket: no reason to wait for the first one.
        if self.remaining <= 0 and self.expires is not None:
            raise discord.RateLimited(max(0.0, self.expires - self._loop.time()))
        self.remaining -= 1
        self.outgoing += 1

    async def __aexit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.outgoing -= 1


class Http(HTTPClient):
    """discord.py's own HTTP client with buckets that refuse."""

    def get_ratelimit(self, key: str) -> Ratelimit:
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = Allowance()
            self._try_clear_expired_ratelimits()
        return bucket


def http_for(loop: asyncio.AbstractEventLoop, api_url: str | None, gateway_url: str | None) -> Http:
    """An HTTP client for one session; call it while the loop runs."""
    return Http(loop, Connector(api_url, gateway_url), http_trace=_trace())


def _trace() -> aiohttp.TraceConfig:
    """Raise for refusals and faults of the server as soon as they arrive, before discord.py can sleep on them."""
    trace = aiohttp.TraceConfig()
    trace.on_request_end.append(_look)
    return trace


async def _look(_: aiohttp.ClientSession, __: SimpleNamespace, params: aiohttp.TraceRequestEndParams) -> None:
    if params.url.scheme in ("ws", "wss"):
        return
    if params.response.status == 429:
        raise refusal(await params.response.read(), params.response.headers)
    if fault := _fault(params.response.status):
        raise fault


def _fault(status: int) -> DeliveryError | None:
    if status in _NO_EFFECT:
        return Unreachable(f"Discord is out of order ({status}).")
    if status in _PERHAPS:
        return Unsure(f"Discord did not answer its own front ({status}).")
    return None


def refusal(body: bytes, headers: Mapping[str, str]) -> Limited:
    """What a 429 says; without JSON it comes from the front that guards Discord and holds for the whole bot."""
    try:
        said = json.loads(body)
    except ValueError:
        said = None
    header = headers.get("Retry-After")
    if not isinstance(said, dict):
        return Limited(_seconds(header, UNSAID_BY_FRONT), everywhere=True)
    unsaid = UNSAID_OF_OLD if said.get("code") == OLD_MESSAGE else UNSAID
    seconds = _seconds(said.get("retry_after"), header, unsaid)
    if headers.get("X-RateLimit-Scope") == "shared":
        return Crowded(seconds)
    return Limited(seconds, everywhere=bool(said.get("global")))


def _seconds(*said: object) -> float:
    """The first that is a number of seconds: a header may hold a date, a body anything."""
    for value in said:
        with suppress(TypeError, ValueError):
            seconds = float(value)  # type: ignore[arg-type]
            if isfinite(seconds):
                return max(0.0, seconds)
    return UNSAID
