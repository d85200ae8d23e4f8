"""What an adapter is whose people come through the bot's own web server, and how it sends them news."""

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol, runtime_checkable

from aiohttp import web


@runtime_checkable
class Hosted(Protocol):
    """Such an adapter. Whoever reaches its routes was let in by the server, as the bot's owner."""

    @property
    def script(self) -> str:
        """The path of a JavaScript module that the bot's page loads."""
        ...

    def routes(self) -> Sequence[web.AbstractRouteDef]:
        """What it answers; all paths begin with its name."""
        ...


News = tuple[str, Any]
"""An event's name and what it tells, to be written as JSON."""


async def stream(request: web.Request, news: AsyncIterator[News | None]) -> web.StreamResponse:
    """Answer with server-sent events until the reader is gone.

    ``news`` yields None now and then where nothing happens: only a write shows that nobody reads any more.
    """
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    await response.prepare(request)
    try:
        async for one in news:
            await response.write(written(one))
    except ConnectionResetError:
        pass  # that is how a reader leaves
    return response


def written(one: News | None) -> bytes:
    """An event as it goes over the wire; a comment for None."""
    if one is None:
        return b":\n\n"
    name, told = one
    # Half a character is no UTF-8; whoever writes one must not end every page that it would be shown on.
    return f"event: {name}\ndata: {json.dumps(told, ensure_ascii=False)}\n\n".encode(errors="replace")
