"""Files of Telegram's are read as far as they are wanted, whatever was said about their size."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from clawdbot import words
from clawdbot.errors import Gone
from clawdbot.testing.telegram import Sent, SimTelegram
from clawdbot_telegram.transport import Transport

from .telegram_bot import TelegramBot

ADA = 1


class Endless(httpx.AsyncByteStream):
    """A file that has always one more kilobyte."""

    def __init__(self) -> None:
        self.given = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            self.given += 1
            yield bytes(1000)


async def test_of_a_file_without_end_no_more_is_held_than_is_wanted() -> None:
    """And one byte more, which says that this is not all."""
    file = Endless()
    answering = httpx.MockTransport(lambda request: httpx.Response(200, stream=file))
    async with Transport(httpx_kwargs={"transport": answering}) as transport:
        data = await transport.load("https://example.org/file/documents/1.txt", 2500)

    assert (len(data), file.given) == (2501, 3)


async def test_a_server_on_this_machine_hands_over_a_name(tmp_path: Path) -> None:
    """A Bot API server of one's own does that in its local mode."""
    notes = tmp_path / "notes.txt"
    notes.write_bytes(b"Herons are birds.")
    async with Transport() as transport:
        assert await transport.load(str(notes), 100) == b"Herons are birds."
        assert await transport.load(str(notes), 5) == b"Herons"
        with pytest.raises(Gone):
            await transport.load(str(tmp_path / "none.txt"), 100)


async def test_a_large_file_whose_size_nobody_told_is_refused(tmp_path: Path) -> None:
    """Its sender is told the limit, and the model is not asked."""
    async with SimTelegram() as sim:
        bot = TelegramBot(sim, tmp_path)
        async with bot.running() as app:
            sim.send(ADA, Sent("document", "log.txt", "text/plain", b"x" * 1_500_000, sized=False))
            await sim.until(lambda: bool(sim.answers(ADA)))
            await app.sessions.idle()

    told = words.FILE_TOO_LARGE.format(name="log.txt", size="more than 1.0 MB", limit="1.0 MB")
    assert [shown.text for shown in sim.answers(ADA)] == [told]
    assert bot.requests == []
