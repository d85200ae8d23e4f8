"""Where requests come in: who asks, which tokens are looked at and how often, and the cookie of whoever is let in."""

import logging
from collections.abc import Collection
from math import ceil

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from clawdbot.clock import Clock
from clawdbot.ops.attempts import Attempts
from clawdbot.ops.forwarded import Network, is_secure, peer_of
from clawdbot.ops.guard import COOKIE, Asking, Guard

log = logging.getLogger(__name__)

OPEN = frozenset({"/healthz"})
"""What anybody may ask; nothing but "alive" is told there."""
SAFE = frozenset({"GET", "HEAD"})
"""Methods that change nothing."""


class Door:
    """Opens for whom ``guard`` lets in."""

    def __init__(self, guard: Guard, proxies: Collection[Network], clock: Clock) -> None:
        """``proxies`` are believed about who asks them."""
        self.guard = guard
        self._proxies = proxies
        self._clock = clock
        self._attempts = Attempts()

    def asking(self, request: web.Request) -> Asking:
        """What counts of ``request``."""
        headers, remote = request.headers, request.remote or ""
        secure = is_secure(remote, headers.getall("X-Forwarded-Proto", []), self._proxies)
        return Asking(
            headers.get("Host", ""),
            headers.get("Origin", ""),
            headers.get("Authorization", ""),
            request.cookies.get(_cookie(request, secure=secure), ""),
            headers.get("Sec-Fetch-Site", ""),
            peer_of(remote, headers.getall("X-Forwarded-For", []), self._proxies),
            secure,
        )

    def accepts(self, token: str, peer: str) -> bool:
        """Whether that is the token. Raises `HTTPTooManyRequests` while none of ``peer`` is looked at."""
        if self.guard.token is None:
            return False
        now = self._clock.now()
        if wait := ceil(self._attempts.wait(peer, now)):
            raise web.HTTPTooManyRequests(
                text=f"There were too many wrong tokens. The next one is looked at in {wait} s.",
                headers={"Retry-After": str(wait)},
            )
        if self.guard.is_token(token):
            self._attempts.right(peer)
            return True
        if said := self._attempts.wrong(peer, now):
            log.warning(said)
        return False

    def let_in(self, request: web.Request, response: web.StreamResponse) -> None:
        """Give whoever gets ``response`` the cookie: no script reads it, and no other page's request has it."""
        secure = self.asking(request).secure
        response.set_cookie(
            _cookie(request, secure=secure),
            self.guard.session,
            httponly=True,
            samesite="Strict",
            path="/",
            secure=secure,
        )

    def checks(self, open_paths: Collection[str]) -> Middleware:
        """The middleware that lets requests through; ``open_paths`` ask for no cookie or token."""

        @web.middleware
        async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
            came = self.asking(request)
            if request.path not in OPEN:
                self._look_at(came)
            if request.method not in SAFE and not self.guard.from_own_page(came):
                raise web.HTTPForbidden(text="Only the bot's own page may ask that.")
            if request.path not in open_paths:
                self._ask_for_more(came)
            return await handler(request)

        return check

    def _look_at(self, came: Asking) -> None:
        if not self.guard.names_this_server(came):
            raise web.HTTPForbidden(text="This server is not known under that name.")
        if came.token and self.guard.token is not None and not self.accepts(came.token, came.peer):
            raise _unauthorized()

    def _ask_for_more(self, came: Asking) -> None:
        if self.guard.from_another_page(came):
            raise web.HTTPForbidden(text="Only the bot's own page may ask that.")
        if not self.guard.knows(came):
            raise _unauthorized()


def _unauthorized() -> web.HTTPUnauthorized:
    return web.HTTPUnauthorized(text="The token is missing or wrong.", headers={"WWW-Authenticate": "Bearer"})


def _cookie(request: web.Request, *, secure: bool) -> str:
    """The cookie's name: a browser sends those of all ports of a host, and two bots may have one each.

    What begins with "__Host-" browsers take by TLS alone, and from no other host of the same domain.
    """
    try:
        port = request.url.port
    except ValueError:  # what came as Host names no place: whoever sent it has no cookie of ours
        port = None
    return f"__Host-{COOKIE}-{port}" if secure else f"{COOKIE}-{port}"
