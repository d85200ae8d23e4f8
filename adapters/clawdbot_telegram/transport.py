"""How calls travel to Telegram, and how files come from there: piece by piece, never more than is wanted."""

import asyncio
from pathlib import Path

import httpx
from telegram.request import HTTPXRequest

from clawdbot.errors import DeliveryError, Gone, Limited, Unreachable
from clawdbot_telegram.polling import wait_of
from clawdbot_telegram.translate import lost

UNSAID = 1.0
"""Seconds to wait after a refusal that does not say how long."""


class Transport(HTTPXRequest):
    """The library's own, which reads a whole file into memory whatever its size, with a `load` beside that."""

    async def load(self, path: str, most: int) -> bytes:
        """The content of the file at ``path``; of one that is longer than ``most`` bytes, so many and one more.

        ``path`` is a URL, or a file of this machine where a Bot API server of one's own works in its local mode.
        Raises `DeliveryError`.
        """
        if not path.startswith(("http://", "https://")):
            return await asyncio.to_thread(_read, Path(path), most)
        try:
            async with self._client.stream("GET", path) as answer:
                if answer.status_code != httpx.codes.OK:
                    raise _refused(answer.status_code, await answer.aread())
                return await _beginning(answer, most)
        except httpx.HTTPError as error:
            raise lost(error) from error


async def _beginning(answer: httpx.Response, most: int) -> bytes:
    data = bytearray()
    async for piece in answer.aiter_bytes():
        data += piece
        if len(data) > most:
            break
    return bytes(data[: most + 1])


def _refused(status: int, body: bytes) -> DeliveryError:
    if status == httpx.codes.TOO_MANY_REQUESTS:
        return Limited(wait_of(body) or UNSAID)
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return Unreachable(f"Telegram's files are out of order ({status}).")
    return Gone(f"Telegram does not give the file ({status}).")


def _read(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(most + 1)
    except OSError as error:
        raise Gone(f"The Bot API server's file cannot be read: {error.strerror}.") from error
