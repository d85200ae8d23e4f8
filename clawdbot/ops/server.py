"""The bot's own web server: one address for programs (``/healthz``, ``/readyz``, ``/metrics``) and people."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.log import server_logger as web_logger

from clawdbot.errors import ConfigError
from clawdbot.ops.guard import COOKIE, Asking, Guard

log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

OPEN = frozenset({"/healthz"})
"""What anybody may ask; nothing but "alive" is told there."""
SAFE = frozenset({"GET", "HEAD"})

HEADERS = {
    # Scripts, styles and pictures of this server alone: no text of a model or a person can load or run anything.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # "no-referrer" would let browsers send Origin: null from the way in.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Server": "ClawdBot",
}

LEAVE = 0.5
"""Seconds that open requests have at the end; streams of events would never end by themselves."""


def asking(request: web.Request) -> Asking:
    """The headers of ``request`` that count for the guard."""
    headers = request.headers
    return Asking(
        headers.get("Host", ""),
        headers.get("Origin", ""),
        headers.get("Authorization", ""),
        request.cookies.get(cookie_of(request), ""),
    )


def cookie_of(request: web.Request) -> str:
    """The cookie's name: a browser sends those of all ports of a host, and two bots may have one each."""
    try:
        port = request.url.port
    except ValueError:  # what came as Host names no place: whoever sent it has no cookie of ours
        port = None
    return f"{COOKIE}-{port}"


def guarded(guard: Guard, open_paths: frozenset[str] = OPEN) -> web.Application:
    """An application without routes that lets in whom ``guard`` lets in.

    ``open_paths`` ask for no cookie or token.
    """

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        came = asking(request)
        if request.path not in OPEN and not guard.names_this_server(came):
            raise web.HTTPForbidden(text="This server is not known under that name.")
        if request.method not in SAFE and not guard.from_own_page(came):
            raise web.HTTPForbidden(text="Only the bot's own page may ask that.")
        if request.path not in open_paths and not guard.knows(came):
            raise web.HTTPUnauthorized(text="The token is missing or wrong.", headers={"WWW-Authenticate": "Bearer"})
        return await handler(request)

    async def protect(request: web.Request, response: web.StreamResponse) -> None:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)

    app = web.Application(middlewares=[check])
    app.on_response_prepare.append(protect)
    return app


@asynccontextmanager
async def serving(app: web.Application, host: str, port: int) -> AsyncIterator[str]:
    """Serve ``app`` for the time of the block; the address that a browser takes. Port 0 is any that is free.

    Raises `ConfigError` when the address cannot be had.
    """
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=LEAVE)
    await runner.setup()
    web_logger.addFilter(_is_ours)
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            # asyncio's own sentence says the address again; names that lead nowhere have negative numbers.
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
            fault = f'port = {port}: the address "{host}" cannot be used: {reason}. Choose another port, or 0 for any.'
            raise ConfigError("[ops]", fault) from error
        yield _address(runner)
    finally:
        await asyncio.shield(runner.cleanup())
        web_logger.removeFilter(_is_ours)


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether an error in the log is one of the bot's: whoever looks for open ports sends what is no HTTP."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError | web.RequestPayloadError)


def _address(runner: web.AppRunner) -> str:
    host, port = runner.addresses[0][:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
