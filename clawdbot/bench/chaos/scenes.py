"""The simulated platforms as bench chaos needs them: places that open when somebody asks, and screens to judge."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from clawdbot.bench.chaos.judge import Shown
from clawdbot.bench.scenes import SENDS, SHOWING, Address, Platform
from clawdbot.settings.config import Allowed
from clawdbot.testing.discord import Post, SimDiscord
from clawdbot.testing.faults import Faults, Plan, Trouble
from clawdbot.testing.telegram import Shown as TelegramShown
from clawdbot.testing.telegram import SimTelegram

READS = ("getUpdates", "GET messages")
"""The calls by which a bot hears."""
FAULTY = (*SHOWING, *READS)
"""The calls that go wrong."""
SIZES: dict[Platform, int] = {"discord": 2000, "telegram": 4096}
"""Characters of one message."""
FIRST_PERSON = 1001
ONLINE, ONLINE_TRIES = 60.0, 6
"""Seconds that a bot may take to connect, and in how many stretches they are waited for."""


class ChaosScene(Protocol):
    """One simulated platform. Each question has a place and an asker of its own."""

    @property
    def faults(self) -> Faults: ...

    @property
    def address(self) -> Address: ...

    @property
    def allowed(self) -> Allowed:
        """Who may talk to the bot."""
        ...

    async def online(self) -> None:
        """Wait until the bot is connected. Raises TimeoutError after a minute."""
        ...

    def ask(self, number: int, text: str) -> None:
        """Open a place and post a question there."""
        ...

    def repeat(self, number: int) -> None:
        """Deliver a question once more."""
        ...

    def drop(self) -> bool:
        """Break the bot's connection; whether there is one that can break."""
        ...

    def screen(self, number: int) -> list[Shown]:
        """The bot's messages below a question."""
        ...

    def unanswered_sends(self, number: int) -> int:
        """Sends below a question that had their effect and got no answer, 0 where a repetition is recognised."""
        ...

    def close(self, number: int) -> None:
        """Note that a question was answered long ago: where that costs a bot's start something, its place goes."""
        ...


class DiscordChaos:
    """A guild's channel for each question."""

    def __init__(self, sim: SimDiscord) -> None:
        self._sim = sim
        self._questions: dict[int, Post] = {}

    @property
    def faults(self) -> Faults:
        return self._sim.faults

    @property
    def address(self) -> Address:
        options = {"api_url": self._sim.rest_url, "gateway_url": self._sim.gateway_url}
        return Address(self._sim.token, options, frozenset())

    @property
    def allowed(self) -> Allowed:
        return Allowed(guilds=frozenset({self._sim.world.guild}))

    async def online(self) -> None:
        await self._sim.until(lambda: self._sim.gateway.connected, ONLINE)

    def ask(self, number: int, text: str) -> None:
        channel, person = self._sim.add_channel(f"room-{number}"), self._sim.add_user(f"person-{number}")
        self._questions[number] = self._sim.say(channel, text, user=person)

    def repeat(self, number: int) -> None:
        self._sim.repeat(self._questions[number])

    def drop(self) -> bool:
        connected = self._sim.gateway.connected
        self._sim.gateway.drop()
        return connected

    def screen(self, number: int) -> list[Shown]:
        channel = self._sim.world.channels[self._questions[number].channel]
        return [
            Shown(_read(post.text, post.now.files), growing=post.now.growing) for post in self._sim.answers(channel)
        ]

    def unanswered_sends(self, number: int) -> int:
        return 0

    def close(self, number: int) -> None:
        # A bot that starts reads every channel.
        self._sim.world.channels[self._questions[number].channel].gone = True


class TelegramChaos:
    """A private chat for each question."""

    def __init__(self, sim: SimTelegram, places: int) -> None:
        """``places``: the most questions that there will be."""
        self._sim = sim
        self._people = range(FIRST_PERSON, FIRST_PERSON + places)
        self._questions: dict[int, TelegramShown] = {}

    @property
    def faults(self) -> Faults:
        return self._sim.faults

    @property
    def address(self) -> Address:
        return Address(self._sim.token, {"base_url": self._sim.url}, frozenset(self._people))

    @property
    def allowed(self) -> Allowed:
        return Allowed(users=frozenset(self._people))

    async def online(self) -> None:
        # The simulator waits for ten seconds; a bot on a busy machine may take longer to start.
        for _ in range(ONLINE_TRIES - 1):
            with suppress(TimeoutError):
                return await self._sim.online()
        return await self._sim.online()

    def ask(self, number: int, text: str) -> None:
        self._questions[number] = self._sim.say(self._people[number], text)

    def repeat(self, number: int) -> None:
        self._sim.repeat(self._questions[number])

    def drop(self) -> bool:
        return False

    def screen(self, number: int) -> list[Shown]:
        return [
            Shown(
                _read(one.text, ((one.look.file.name, one.look.file.data),) if one.look.file else ()),
                growing=one.look.growing,
            )
            for one in self._sim.answers(self._people[number])
        ]

    def unanswered_sends(self, number: int) -> int:
        acted = {trouble.value for trouble in Trouble if trouble.acted}
        sends = (call for call in self._sim.calls if call.chat == self._people[number] and call.method in SENDS)
        return sum(call.description in acted for call in sends)

    def close(self, number: int) -> None:
        pass


@asynccontextmanager
async def open_chaos(platform: Platform, plan: Plan | None, places: int, rtt: float) -> AsyncIterator[ChaosScene]:
    """The scene of a platform, being served; ``plan`` decides about the calls, ``rtt`` is their round trip."""
    if platform == "discord":
        async with SimDiscord(faults=Faults(plan), rtt=rtt) as discord:
            yield DiscordChaos(discord)
    else:
        async with SimTelegram(faults=Faults(plan), rtt=rtt) as telegram:
            yield TelegramChaos(telegram, places)


def _read(text: str, files: Sequence[tuple[str, bytes]]) -> str:
    return "\n".join((text, *(data.decode(errors="replace") for _, data in files)))
