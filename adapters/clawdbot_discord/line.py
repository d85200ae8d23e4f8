"""What all replies of one adapter share: the session of the moment, and what earlier calls have taught."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import discord

from clawdbot.clock import Clock
from clawdbot.errors import Forbidden, Gone, Unreachable
from clawdbot_discord.places import Places
from clawdbot_discord.presence import Presence
from clawdbot_discord.settings import DiscordSettings
from clawdbot_discord.translate import CLOSING, code_of, one_call
from clawdbot_discord.wire import Crowded


class Line:
    """The way to Discord; it outlives the sessions."""

    def __init__(self, settings: DiscordSettings, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock
        self.places = Places()
        self.presence = Presence(clock)
        self.client: discord.Client | None = None
        """The client that is logged in at present."""

    @asynccontextmanager
    async def write(self, channel: int) -> AsyncIterator[discord.Client]:
        """Around one call that shows something in ``channel``, given up after as long as the settings say.

        Raises `DeliveryError`, where it is known to be refused without a call.
        """
        self.places.check(channel, self.clock.now())
        try:
            async with self.read() as client:
                yield client
        except Crowded as refusal:
            self.places.crowd(channel, self.clock.now() + refusal.retry_after)
            raise
        except (Forbidden, Gone) as error:
            if code_of(error) in CLOSING:
                self.places.close(channel, error)
            raise

    @asynccontextmanager
    async def read(self, seconds: float | None = None) -> AsyncIterator[discord.Client]:
        """Around one call that changes nothing, given up after ``seconds``, or as long as the settings say.

        Raises `DeliveryError`. What it is refused for says nothing about calls that write: who may not read a
        channel's history may well answer there, and the other way round.
        """
        if self.client is None:
            raise Unreachable("There is no connection to Discord at present.")
        async with one_call(seconds or self.settings.call_timeout):
            yield self.client
