"""The bot's own web server: one address for programs (``/healthz``, ``/readyz``, ``/metrics``) and people."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from traceback import walk_tb

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.log import server_logger as web_logger

from clawdbot.errors import ConfigError
from clawdbot.ops.door import OPEN, Door

HEADERS = {
    # Scripts, styles and pictures of this server alone: no text of a model or a person can load or run anything, and no
    # script can make markup of a text.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    # "no-referrer" would let browsers send Origin: null from the way in.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Server": "ClawdBot",
}

LARGEST_BODY = 2**20
"""Bytes that a request may bring, unpacked: a question of 100,000 characters, in whatever script."""
MOST_CONNECTIONS = 256
"""At a time, an open page has two. Each is a file of the process, and the platforms and the database need some, too."""
IDLE = 20.0
"""Seconds that a connection may take for its next request, or its first."""
LEAVE = 0.5
"""Seconds that open requests have at the end; streams of events would never end by themselves."""


def guarded(door: Door, open_paths: Collection[str] = OPEN) -> web.Application:
    """An application without routes that ``door`` lets requests into; ``open_paths`` ask for no cookie or token."""

    async def protect(request: web.Request, response: web.StreamResponse) -> None:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)

    app = web.Application(middlewares=[door.checks(open_paths)], client_max_size=LARGEST_BODY)
    app.on_response_prepare.append(protect)
    return app


@asynccontextmanager
async def serving(app: web.Application, host: str, port: int) -> AsyncIterator[str]:
    """Serve ``app`` for the time of the block; the address that a browser takes. Port 0 is any that is free.

    Raises `ConfigError` when the address cannot be had.
    """
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=LEAVE, keepalive_timeout=IDLE)
    await runner.setup()
    web_logger.addFilter(_is_ours)
    try:
        listening = await _listening(runner, host, port)
        try:
            yield _address(listening)
        finally:
            listening.close()
    finally:
        await asyncio.shield(runner.cleanup())
        web_logger.removeFilter(_is_ours)


async def _listening(runner: web.AppRunner, host: str, port: int) -> asyncio.Server:
    """Takes connections, as many as there may be."""
    served = runner.server
    assert served is not None, "set up"

    def protocol() -> asyncio.Protocol:
        return served() if len(served.connections) < MOST_CONNECTIONS else _Full()

    try:
        return await asyncio.get_running_loop().create_server(protocol, host, port)
    except OSError as error:
        # asyncio's own sentence says the address again; names that lead nowhere have negative numbers.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        fault = f'port = {port}: the address "{host}" cannot be used: {reason}. Choose another port, or 0 for any.'
        raise ConfigError("[ops]", fault) from error


class _Full(asyncio.Protocol):
    """What a connection too many gets."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether an error in the log is one of the bot's: whoever looks for open ports sends what is no HTTP.

    What never reached the bot's code is not, either: before that the library answers some headers by itself.
    """
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return True
    if isinstance(error, HttpProcessingError | web.RequestPayloadError):
        return False
    reached = (frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__))
    return any(module.startswith("clawdbot") for module in reached)


def _address(listening: asyncio.Server) -> str:
    host, port = listening.sockets[0].getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
