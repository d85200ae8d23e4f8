"""Answers to slash commands and pressed buttons, which can be for the asker's eyes only."""

import asyncio

import discord

from clawdbot.chat import Frame, Limits
from clawdbot.clock import until
from clawdbot.errors import Forbidden, Gone, Unsure
from clawdbot_discord.controls import controls
from clawdbot_discord.line import Line
from clawdbot_discord.render import drawn
from clawdbot_discord.reply import ChannelPost, ChannelReply, files, shown
from clawdbot_discord.translate import ALREADY_ACKNOWLEDGED, one_call

LIFE = 14.5 * 60
"""Seconds in which an interaction is answered through itself: Discord's 15 minutes without the last half."""
TOO_LATE = "The time in which the command could be answered in private is over."


class CommandReply:
    """A `Reply` through an interaction: a slash command, or a pressed button that was acknowledged.

    What comes first answers the interaction itself; what else there is to say, such as an apology, follows it. When its
    time is over, what everybody may see goes to the channel; what is private has no way any more.
    """

    def __init__(self, interaction: discord.Interaction, line: Line) -> None:
        self._interaction = interaction
        self._settings = line.settings
        self._clock = line.clock
        self._ends = line.clock.now() + LIFE
        self._channel = ChannelReply(line, interaction.channel_id or 0, since=interaction.id)
        self._one_at_a_time = asyncio.Lock()
        self._acknowledged = asyncio.Event()
        self._first_key: str | None = None
        """The key of what answers the interaction itself; empty where that is done."""
        if interaction.type is not discord.InteractionType.application_command:
            self._first_key = ""
            self._acknowledged.set()

    @property
    def ref(self) -> str:
        return self._channel.ref

    @property
    def limits(self) -> Limits:
        return self._settings.command_limits(self._interaction.id)

    @property
    def alive(self) -> bool:
        """Whether the interaction can still be answered."""
        return self._clock.now() < self._ends

    async def acknowledge_in_time(self, *, private: bool) -> None:
        """Wait for an answer, and tell Discord that one is coming when there is none yet. Raises `DeliveryError`."""
        if await until(self._acknowledged, self._settings.defer_after, self._clock):
            return
        async with self._one_at_a_time:
            if self._acknowledged.is_set():
                return
            async with one_call(self._settings.call_timeout):
                await self._interaction.response.defer(ephemeral=private, thinking=True)
            self._acknowledged.set()

    async def send(self, frame: Frame, key: str) -> "CommandPost | ChannelPost":
        if self.alive:
            try:
                return CommandPost(self, await self._through(frame, key), private=frame.private)
            except Gone:
                if self._acknowledged.is_set() or frame.private:
                    raise
                # Discord gave up waiting before the first answer came: the interaction is dead from the start.
                self._ends = self._clock.now()
        if frame.private:
            raise Gone(TOO_LATE)
        return await self._channel.send(frame, key)

    def post(self, ref: str) -> "CommandPost":
        return CommandPost(self, int(ref), private=False)

    async def typing(self) -> None:
        """Do nothing: Discord itself says that the bot is thinking once the command is acknowledged."""

    async def rewrite(self, message: int, frame: Frame, *, private: bool) -> None:
        """Let the message with that number show ``frame``. Raises `DeliveryError`."""
        if not self.alive:
            if private:
                raise Gone(TOO_LATE)
            await self._channel.post(str(message)).edit(frame)
            return
        options = shown(frame, clear=True)
        if frame.files:
            options["attachments"] = files(frame)
        async with one_call(self._settings.call_timeout):
            await self._interaction.followup.edit_message(message, **options)

    async def _through(self, frame: Frame, key: str) -> int:
        """Post a message through the interaction; its number."""
        async with self._one_at_a_time, one_call(self._settings.call_timeout):
            if self._first_key in (None, key):
                self._first_key = key
                return await self._answer(frame)
        return await self._landed(frame, key) or await self._follow(frame, key)

    async def _answer(self, frame: Frame) -> int:
        """Answer the interaction itself, or fill in what was deferred; the number of the message."""
        if not self._acknowledged.is_set():
            try:
                done = await self._interaction.response.send_message(
                    ephemeral=frame.private, files=files(frame), **shown(frame)
                )
            except discord.HTTPException as error:
                # The try before this one was taken although no answer came back: what follows says the same again.
                if error.code != ALREADY_ACKNOWLEDGED:
                    raise
            else:
                self._acknowledged.set()
                return int(done.message_id or 0)
            self._acknowledged.set()
        edited = await self._interaction.edit_original_response(
            content=drawn(frame), view=controls(frame), attachments=files(frame)
        )
        return edited.id

    async def _landed(self, frame: Frame, key: str) -> int | None:
        """The number of the message that `_follow` has posted by a call whose answer was lost.

        Discord takes no nonce there, so it is looked up in the channel; in vain where the bot may not read it. What
        only the asker sees is in no channel: of that another copy comes.
        """
        if frame.private or not self._channel.in_doubt(key):
            return None
        try:
            found = await self._channel.look_up(frame, key)
        except Forbidden:
            return None
        return found.id if found else None

    async def _follow(self, frame: Frame, key: str) -> int:
        """Say something behind the answer to the interaction; the number of the message."""
        started = self._clock.now()
        try:
            async with self._one_at_a_time, one_call(self._settings.call_timeout):
                sent = await self._interaction.followup.send(
                    wait=True, ephemeral=frame.private, files=files(frame), **shown(frame, key)
                )
                return sent.id
        except Unsure:
            self._channel.doubt(frame, key, started)
            raise


class CommandPost:
    """A `Post` that answers an interaction."""

    def __init__(self, reply: CommandReply, message: int, *, private: bool) -> None:
        self._reply = reply
        self._message = message
        self._private = private

    @property
    def ref(self) -> str:
        return str(self._message)

    async def edit(self, frame: Frame) -> None:
        await self._reply.rewrite(self._message, frame, private=self._private)
