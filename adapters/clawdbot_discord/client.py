"""One session with Discord: discord.py's events in, the core's events out."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import discord
from discord import app_commands
from discord.http import Route

from clawdbot.chat import Conversation, Deleted, Edited, Event, Message, Person, Pressed, Receive, Reply, Typing
from clawdbot.clock import until
from clawdbot.errors import AdapterError, DeliveryError
from clawdbot.menu import Suggest, nothing
from clawdbot_discord import events, slash
from clawdbot_discord.backlog import Backlog, Gap
from clawdbot_discord.command import CommandReply
from clawdbot_discord.controls import control_of, ids_of
from clawdbot_discord.line import Line
from clawdbot_discord.missed import PAGE, Missed
from clawdbot_discord.reply import ChannelReply
from clawdbot_discord.settings import DiscordSettings
from clawdbot_discord.translate import one_call
from clawdbot_discord.wire import http_for

log = logging.getLogger(__name__)

CACHED_MESSAGES = 200
"""discord.py keeps so many, to tell an edit of the text from a link preview that arrived."""
WARM_CONNECTIONS = 2
"""So many connections are kept open: a typing sign must not keep the first word waiting for a new one."""

OUT_OF_USE = "This button has no use any more."

_Place = discord.TextChannel | discord.Thread | discord.VoiceChannel | discord.StageChannel


class Session(discord.Client):
    """A client that hands everything said to the bot to ``receive``; good for one connection's life.

    ``backlog`` outlives it: what was said while no session could be resumed is fetched over REST.
    """

    def __init__(self, receive: Receive, line: Line, backlog: Backlog, suggest: Suggest = nothing) -> None:
        settings = line.settings
        # discord.py warns at every start that voice needs further packages; nothing here speaks.
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False
        super().__init__(
            intents=_intents(settings),
            allowed_mentions=discord.AllowedMentions.none(),
            max_messages=CACHED_MESSAGES,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            shard_id=settings.shard[0],
            shard_count=settings.shard[1],
        )
        # discord.py offers no way to pass an HTTP client in; the two attributes are all that hold one by now.
        self.http = self._connection.http = http_for(self.loop, settings.api_url, settings.gateway_url)
        self.tree = app_commands.CommandTree(self)
        slash.fill(self.tree, self._called, suggest)
        self._receive = receive
        self._settings = settings
        self._clock = line.clock
        self._line = line
        self._backlog = backlog
        self._missed = Missed(backlog, line.clock, self._fetch, self._take)
        self._online = asyncio.Event()
        self._offline = asyncio.Event()

    @property
    def online(self) -> bool:
        """Whether the gateway brings what is said."""
        return self._online.is_set()

    async def watch(self) -> None:
        """Raise `AdapterError` when the gateway stays away for longer than the settings allow.

        discord.py waits up to 17 minutes between tries; a session cannot be resumed after one.
        """
        while True:
            if not await until(self._online, self._settings.patience, self._clock):
                raise AdapterError(f"Discord's gateway was out of reach for {self._settings.patience:g} s.")
            await self._offline.wait()

    async def keep_warm(self) -> None:
        """Keep connections open between answers, so that none waits for DNS, TCP and TLS.

        An outage is told once when it begins and once when it ends, not at every call.
        """
        failing = False
        while self._settings.keep_warm:
            try:
                async with one_call(self._settings.call_timeout):
                    calls = (self.http.request(Route("GET", "/gateway")) for _ in range(WARM_CONNECTIONS))
                    await asyncio.gather(*calls)
            except DeliveryError as error:
                if not failing:
                    log.warning("Discord: connections cannot be kept warm: %s", error)
                failing = True
            else:
                if failing:
                    log.info("Discord: connections are kept warm again")
                failing = False
            await self._clock.sleep(self._settings.keep_warm)

    async def catch_up(self) -> None:
        """Fetch what was said while no session listened."""
        await self._missed.run()

    async def show_presence(self) -> None:
        """Keep the line below the bot's name up to date."""
        if self._settings.presence:
            await self._line.presence.run(self._show_line)

    async def register(self) -> None:
        """Tell Discord about the slash commands, where it knows others."""
        guild = discord.Object(self._settings.command_guild) if self._settings.command_guild else None
        async with self._minor_call("registering the slash commands"):
            await slash.register(self.tree, guild)

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        if not initial:
            await self._clock.sleep(self._settings.identify_delay)

    async def on_connect(self) -> None:
        self._backlog.begin()
        self._line.presence.begin()
        self._set_online(True)
        log.info("Discord: connected as %s (%d)", self.user, self._me)
        if self._settings.lookback:
            self._missed.add(self._backlog.private_gaps(self._oldest))

    async def on_guild_available(self, guild: discord.Guild) -> None:
        # discord.py says "ready" only some seconds later, and even after the client was closed.
        if self._settings.lookback:
            self._missed.add(self._backlog.gaps(guild.id, _newest(guild), self._oldest))

    async def on_resumed(self) -> None:
        self._set_online(True)
        self._line.presence.begin()

    async def on_disconnect(self) -> None:
        self._set_online(False)

    async def on_message(self, message: discord.Message) -> None:
        await self._take(message)

    async def on_raw_message_edit(self, event: discord.RawMessageUpdateEvent) -> None:
        message, before = event.message, event.cached_message
        if message.edited_at is None or (before is not None and before.content == message.content):
            return
        if events.is_talk(message):
            said = events.question(message, self._me, self._clock.now())
            said = replace(said, version=message.edited_at.isoformat(), sent_at=message.edited_at.timestamp())
            heard = Edited(said, events.addressed(message, self._me))
            await self._receive(heard, self._reply(message.channel.id, message.id))

    async def on_raw_message_delete(self, event: discord.RawMessageDeleteEvent) -> None:
        await self._deleted(event.channel_id, event.guild_id, event.message_id)

    async def on_raw_bulk_message_delete(self, event: discord.RawBulkMessageDeleteEvent) -> None:
        for message in event.message_ids:
            await self._deleted(event.channel_id, event.guild_id, message)

    async def on_raw_typing(self, event: discord.RawTypingEvent) -> None:
        user = event.user
        if self._settings.typing_events and event.user_id != self._me and not (user and user.bot):
            where = events.conversation(event.channel_id, event.guild_id)
            # In private Discord sends the number alone, and only that counts.
            by = events.person(user) if user else Person(event.user_id, "")
            await self._receive(Typing(where, by), self._reply(event.channel_id))

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        if interaction.type is not discord.InteractionType.component or interaction.message is None:
            return
        pressed_id = interaction.custom_id or ""
        # Whoever could press what is not there would withdraw an answer that is long over.
        control = control_of(pressed_id) if pressed_id in ids_of(interaction.message) else None
        if control is None:
            async with self._minor_call("answering a button"):
                await interaction.response.send_message(OUT_OF_USE, ephemeral=True)
            return
        self._line.places.open(interaction.channel_id or 0)
        pressed = Pressed(_where(interaction), events.person(interaction.user), control, str(interaction.message.id))
        durable = self._hand_over(pressed, self._command_reply(interaction))
        async with self._minor_call("acknowledging a button"):
            await interaction.response.defer()
        await durable

    @property
    def _me(self) -> int:
        return self.user.id if self.user else 0

    async def _show_line(self, text: str) -> None:
        """Show ``text`` below the bot's name. Raises `DeliveryError`."""
        await self._online.wait()
        async with one_call(self._settings.call_timeout):
            await self.change_presence(activity=discord.CustomActivity(name=text))

    def _set_online(self, online: bool) -> None:
        (self._online.set if online else self._online.clear)()
        (self._offline.clear if online else self._offline.set)()

    @asynccontextmanager
    async def _minor_call(self, what: str) -> AsyncIterator[None]:
        """Around a call without which the bot goes on."""
        try:
            async with one_call(self._settings.call_timeout):
                yield
        except DeliveryError as error:
            log.warning("Discord: %s failed: %s", what, error)

    async def _take(self, message: discord.Message) -> None:
        received_at = self._clock.now()
        channel, guild = message.channel.id, message.guild.id if message.guild else 0
        self._backlog.hear(guild, channel, message.id)
        if events.addressed(message, self._me) and self._backlog.claim(message.id):
            self._line.places.open(channel)
            await self._receive(events.question(message, self._me, received_at), self._reply(channel, message.id))

    @property
    def _oldest(self) -> int:
        """The id of a message that is just old enough not to be answered any more."""
        moment = datetime.fromtimestamp(self._clock.wall() - self._settings.lookback, UTC)
        return discord.utils.time_snowflake(moment)

    async def _fetch(self, gap: Gap) -> list[discord.Message]:
        place = self.get_partial_messageable(gap.channel, guild_id=gap.guild or None)
        async with one_call(self._settings.call_timeout):
            history = place.history(after=discord.Object(gap.after), limit=PAGE, oldest_first=True)
            return [message async for message in history]

    async def _deleted(self, channel: int, guild: int | None, message: int) -> None:
        where = events.conversation(channel, guild)
        await self._receive(Deleted(where, events.message_id(channel, message)), self._reply(channel))

    async def _called(self, interaction: discord.Interaction, text: str) -> None:
        self._line.places.open(interaction.channel_id or 0)
        reply = self._command_reply(interaction)
        said = Message(
            id=events.message_id(interaction.channel_id or 0, interaction.id),
            conversation=_where(interaction),
            author=events.person(interaction.user),
            text=text,
            received_at=self._clock.now(),
            sent_at=interaction.created_at.timestamp(),
        )
        durable = self._hand_over(said, reply)
        async with self._minor_call("acknowledging a command"):
            await reply.acknowledge_in_time(private=slash.PRIVATE)
        await durable

    def _hand_over(self, event: Event, reply: Reply) -> asyncio.Future[None]:
        """Give ``event`` to the core at once and go on."""
        return asyncio.ensure_future(self._receive(event, reply))

    def _reply(self, channel: int, message: int = 0) -> ChannelReply:
        return ChannelReply(self._line, channel, message)

    def _command_reply(self, interaction: discord.Interaction) -> CommandReply:
        return CommandReply(interaction, self._line)


def _intents(settings: DiscordSettings) -> discord.Intents:
    intents = discord.Intents(guilds=True, messages=True, message_content=True)
    intents.typing = settings.typing_events
    return intents


def _newest(guild: discord.Guild) -> list[tuple[int, int]]:
    """The channels and threads of ``guild`` that the bot may read, with their newest messages."""
    places: list[_Place] = [*guild.text_channels, *guild.threads, *guild.voice_channels, *guild.stage_channels]
    return [
        (place.id, place.last_message_id)
        for place in places
        if place.last_message_id is not None and place.permissions_for(guild.me).read_message_history
    ]


def _where(interaction: discord.Interaction[Any]) -> Conversation:
    return events.conversation(interaction.channel_id or 0, interaction.guild_id)
