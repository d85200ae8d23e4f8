"""What a Discord message holds besides text, and how its files are loaded."""

import discord

from clawdbot.attached import Attachment
from clawdbot.errors import Forbidden, Gone
from clawdbot_discord.line import Line


def attached(message: discord.Message) -> tuple[Attachment, ...]:
    """The files of a message, those of a forwarded one included."""
    where = f"{message.channel.id}:{message.id}"
    return tuple(
        Attachment(
            "a voice message" if file.is_voice_message() else file.filename,
            file.content_type or "",
            file.size,
            f"{where}:{file.id} {file.url}",
        )
        for file in _files(message)
    )


def beside(message: discord.Message) -> tuple[str, ...]:
    """What else it is, in words."""
    return (*(("a sticker",) if message.stickers else ()), *(("a poll",) if message.poll else ()))


async def load(line: Line, ref: str) -> bytes:
    """The content of a file, by `Attachment.ref`.

    Its address is good for about a day; then the message is looked up, which has a new one. Raises `DeliveryError`.
    """
    names, _, url = ref.partition(" ")
    channel, message, number = map(int, names.split(":"))
    try:
        return await _download(line, url)
    except (Forbidden, Gone):
        fresh = await _look_up(line, channel, message, number)
        if fresh == url:
            raise
        return await _download(line, fresh)


async def _download(line: Line, url: str) -> bytes:
    async with line.read(line.settings.download_timeout) as client:
        return await client.http.get_from_cdn(url)


async def _look_up(line: Line, channel: int, message: int, number: int) -> str:
    """The present address of a file. Raises `DeliveryError`: `Gone` without the message or the file."""
    async with line.read() as client:
        found = await client.get_partial_messageable(channel).fetch_message(message)
    urls = [file.url for file in _files(found) if file.id == number]
    if not urls:
        raise Gone("The file is in the message no more.")
    return urls[0]


def _files(message: discord.Message) -> list[discord.Attachment]:
    return [*message.attachments, *(file for forwarded in message.message_snapshots for file in forwarded.attachments)]
