"""SimDiscord: the simulated Discord as one local server, with a person's side to play."""

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from aiohttp import web

from clawdbot.clock import Clock, SystemClock
from clawdbot.testing.discord import payloads
from clawdbot.testing.discord.cdn import Cdn
from clawdbot.testing.discord.gateway import MESSAGE_CONTENT, Gateway
from clawdbot.testing.discord.interactions import Interactions
from clawdbot.testing.discord.payloads import Json
from clawdbot.testing.discord.records import Call, Channel, Interaction, Post, User
from clawdbot.testing.discord.rest import PREFIX, Rest
from clawdbot.testing.discord.windows import Rates, Windows
from clawdbot.testing.discord.world import NONCE_LIFE, World
from clawdbot.testing.faults import Faults
from clawdbot.testing.waiting import patience

TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4.simulated.abcdefghijklmnopqrstuvwxyz012"
"""What the simulated Discord takes for the bot's token."""


class SimDiscord:
    """Speaks Discord's gateway and REST to an unmodified client over real HTTP and WebSocket.

    ``async with SimDiscord() as sim:`` serves on a free local port; point the bot at ``sim.rest_url`` and
    ``sim.gateway_url``. ``rtt`` is the round trip of every call in seconds: half of it passes before the call has its
    effect, and events travel for half of it too. A nonce is recognised for ``nonce_life`` seconds. There is one guild
    with the channel ``sim.channel`` and one person, ``sim.user``. A ``public`` bot may be invited by anybody.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        faults: Faults | None = None,
        rates: Rates | None = None,
        rtt: float = 0.0,
        token: str = TOKEN,
        message_content: bool = True,
        public: bool = False,
        heartbeat: float = 41.25,
        nonce_life: float = NONCE_LIFE,
    ) -> None:
        self.clock = clock or SystemClock()
        self.faults = faults or Faults()
        self.token = token
        allowed = MESSAGE_CONTENT if message_content else 0
        self.gateway = Gateway(self.clock, token, allowed_intents=allowed, heartbeat=heartbeat, rtt=rtt)
        self.world = World(self.clock, self._emit)
        self.world.nonce_life = nonce_life
        self.interactions = Interactions(self.world)
        self.windows = Windows(rates or Rates())
        self._rest = Rest(
            self.world,
            self.interactions,
            self.windows,
            self.faults,
            token=token,
            rtt=rtt,
            message_content=message_content,
            public=public,
        )
        self._changed = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self.cdn = Cdn(self.world, self.faults, rtt, self._rest.calls, self._changed.set)
        self.gateway.bot = payloads.of_user(self.world.bot)
        self.gateway.guild = self.world.guild_json
        self.gateway.changed = self._rest.changed = self._changed.set
        self.channel = self.world.add_channel("general")
        self.user = self.world.add_user("ada")
        self.rest_url = ""
        self.gateway_url = ""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=32 << 20)
        app.router.add_get("/gateway/", self.gateway.serve)
        self._rest.install(app)
        self.cdn.install(app)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        port = self._runner.addresses[0][1]
        self.cdn.base = f"http://127.0.0.1:{port}"
        self.rest_url = f"http://127.0.0.1:{port}{PREFIX}"
        self.gateway_url = self.gateway.url = f"ws://127.0.0.1:{port}/gateway/"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.gateway.close()
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def bot(self) -> User:
        return self.world.bot

    @property
    def calls(self) -> list[Call]:
        """Every REST call of the bot's, in the order of arrival."""
        return self._rest.calls

    def calls_of(self, name: str) -> list[Call]:
        """The calls of one name, for example "PATCH message"."""
        return [call for call in self.calls if call.name == name]

    async def until(self, condition: Callable[[], bool], seconds: float = 10.0) -> None:
        """Wait until ``condition`` holds; it is looked at after everything that happens here.

        Raises TimeoutError after ``seconds`` of real time, which says what the bot's messages are.
        """
        async with patience(seconds, self._shown):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def online(self) -> None:
        """Wait until the bot is connected."""
        await self.until(lambda: self.gateway.connected)

    def add_channel(self, name: str, *, voice: bool = False) -> Channel:
        """A further text or voice channel of the guild."""
        return self.world.add_channel(name, voice=voice)

    def add_thread(self, channel: Channel, name: str) -> Channel:
        """A thread under ``channel``."""
        return self.world.add_channel(name, parent=channel.id)

    def add_user(self, name: str, *, bot: bool = False) -> User:
        """A further person, or another bot."""
        return self.world.add_user(name, bot=bot)

    def private(self, user: User | None = None) -> Channel:
        """The private chat of a person and the bot."""
        return self.world.private(user or self.user)

    def say(
        self,
        channel: Channel,
        text: str,
        *,
        user: User | None = None,
        mention_bot: bool = True,
        reply_to: Post | None = None,
        files: Mapping[str, bytes] | None = None,
        more: Json | None = None,
    ) -> Post:
        """A person writes; in a guild with a mention of the bot before the text, unless told otherwise.

        ``files`` are attached, by name; ``more`` are fields of the message object that are not simulated.
        """
        mentioned = f"<@{self.bot.id}> {text}" if mention_bot and channel.guild else text
        answered = reply_to.id if reply_to else None
        return self.world.write(user or self.user, channel, mentioned, answered, tuple((files or {}).items()), more)

    def edit_question(self, post: Post, text: str) -> None:
        """The author changes what they wrote; the mention of the bot has to be in ``text`` again."""
        self.world.rewrite(self.world.channels[post.channel], post, text)

    def delete_question(self, post: Post) -> None:
        """Somebody deletes a message."""
        self.world.remove(self.world.channels[post.channel], post)

    def repeat(self, post: Post) -> None:
        """Tell the bot of a message once more."""
        self.world.repeat(self.world.channels[post.channel], post)

    def type(self, channel: Channel, *, user: User | None = None) -> None:
        """A person starts to type."""
        who = user or self.user
        event: Json = {"channel_id": str(channel.id), "user_id": str(who.id), "timestamp": int(self.clock.wall())}
        if channel.guild:
            event |= {"guild_id": str(channel.guild), **self.world.who(who, channel)}
        self._emit("TYPING_START", event, channel)

    def slash(self, channel: Channel, name: str, user: User | None = None, /, **options: str) -> Interaction:
        """A person calls a slash command. Raises LookupError when it is not registered."""
        return self.interactions.slash(channel, name, user or self.user, options)

    def complete(
        self, channel: Channel, name: str, option: str, typed: str = "", user: User | None = None
    ) -> Interaction:
        """A person types the argument of a slash command. Raises LookupError when the bot is not asked about it."""
        return self.interactions.complete(channel, name, option, typed, user or self.user)

    def press(self, post: Post, custom_id: str, user: User | None = None) -> Interaction:
        """A person presses the button whose id that is, or begins with it and a colon.

        Raises LookupError when the message does not show it.
        """
        return self.interactions.press(self.world.channels[post.channel], post, custom_id, user or self.user)

    def answers(self, channel: Channel) -> list[Post]:
        """The bot's messages that everybody sees in ``channel`` now, oldest first."""
        return [post for post in channel.screen if post.author == self.bot]

    def _shown(self) -> dict[str, list[str]]:
        """By the name of the channel what the bot's messages say."""
        found = {channel.name: self.answers(channel) for channel in self.world.channels.values()}
        return {name: [post.text for post in posts] for name, posts in found.items() if posts}

    def _emit(self, event: str, data: Json, channel: Channel | None) -> None:
        private = channel is not None and not channel.guild
        self.gateway.dispatch(event, data, private=private)
        self._changed.set()
