"""Answers as messages in a channel."""

from collections.abc import Callable
from io import BytesIO
from typing import Any

import discord

from clawdbot.chat import Frame, Limits
from clawdbot_discord.controls import controls
from clawdbot_discord.render import render
from clawdbot_discord.settings import DiscordSettings
from clawdbot_discord.translate import one_call

Connected = Callable[[], discord.Client]
"""The client that is logged in at present. Raises `Unreachable` when there is none."""


class ChannelReply:
    """A `Reply` in a channel, a thread or a private chat, to the message ``question`` (0: to none in particular)."""

    def __init__(self, connected: Connected, settings: DiscordSettings, channel: int, question: int = 0) -> None:
        self._connected = connected
        self._settings = settings
        self._channel = channel
        self._question = question
        self._begun = False
        """Whether something was sent: only the first part points at the question."""

    @property
    def ref(self) -> str:
        return f"{self._channel}:{self._question}"

    @property
    def limits(self) -> Limits:
        return self._settings.limits(self._channel)

    async def send(self, frame: Frame, key: str) -> "ChannelPost":
        target = self._connected().get_partial_messageable(self._channel)
        options = shown(frame)
        if self._question and not self._begun:
            options["reference"] = discord.MessageReference(
                message_id=self._question, channel_id=self._channel, fail_if_not_exists=False
            )
        async with one_call(self._settings.call_timeout):
            # A link preview that comes and goes moves the text below it: none before the last frame.
            sent = await target.send(
                nonce=key, mention_author=False, suppress_embeds=not frame.state.lasting, files=files(frame), **options
            )
        self._begun = True
        return ChannelPost(self._connected, self._settings, self._channel, sent.id, sent)

    def post(self, ref: str) -> "ChannelPost":
        return ChannelPost(self._connected, self._settings, self._channel, int(ref))

    async def typing(self) -> None:
        target = self._connected().get_partial_messageable(self._channel)
        async with one_call(self._settings.call_timeout):
            await target.typing()


class ChannelPost:
    """A `Post` that everybody in the channel sees; ``sent`` is what Discord gave back when it was new."""

    def __init__(
        self,
        connected: Connected,
        settings: DiscordSettings,
        channel: int,
        message: int,
        sent: discord.Message | None = None,
    ) -> None:
        self._connected = connected
        self._settings = settings
        self._channel = channel
        self._message = message
        self._sent = sent

    @property
    def ref(self) -> str:
        return str(self._message)

    async def edit(self, frame: Frame) -> None:
        options = shown(frame, clear=True)
        if frame.files:
            options["attachments"] = files(frame)
        async with one_call(self._settings.call_timeout):
            if self._sent is not None and frame.state.lasting and self._sent.flags.suppress_embeds:
                await self._sent.edit(suppress=False, **options)
                return
            # `Message.edit` sends flags with every frame, which would bring the link previews back.
            channel = self._connected().get_partial_messageable(self._channel)
            await channel.get_partial_message(self._message).edit(**options)


def shown(frame: Frame, *, clear: bool = False) -> dict[str, Any]:
    """Text and buttons of ``frame`` as discord.py's calls take them; with ``clear`` no buttons means to remove them."""
    options: dict[str, Any] = {"content": render(frame.text)}
    buttons = controls(frame)
    if buttons is not None or clear:
        options["view"] = buttons
    return options


def files(frame: Frame) -> list[discord.File]:
    """What ``frame`` attaches, to be read once."""
    return [discord.File(BytesIO(file.data), filename=file.name) for file in frame.files]
