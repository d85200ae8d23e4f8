"""The simulated platforms as a bench needs them: places where people ask, and a record of what they saw."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, Protocol

from clawdbot.bench.measures import Look, Seen, letters
from clawdbot.testing.discord import Post, SimDiscord
from clawdbot.testing.telegram import DRAFT_LIFE, Draft, Shown, SimTelegram, Verdict
from clawdbot.testing.telegram import Look as TelegramLook
from clawdbot.words import REST

Platform = Literal["discord", "telegram", "telegram-groups", "telegram-drafts"]
"""Where people ask: in channels of a guild, in private chats, in groups, in private chats where answers are drafts."""

SENDS = ("POST message", "sendMessage", "sendPhoto", "sendDocument")
EDITS = ("PATCH message", "editMessageText", "editMessageCaption")
SHOWING = (*SENDS, *EDITS, "sendMessageDraft", "POST typing", "sendChatAction")
"""The calls by which a bot shows something, as the simulators name them."""


@dataclass(frozen=True, slots=True)
class Address:
    """How a bot reaches the platform, and whose questions it has to answer."""

    token: str
    options: Mapping[str, Any]
    """The keys of the adapter's table, which lead to the simulator and say how answers grow there."""
    people: frozenset[int]


@dataclass(frozen=True, slots=True)
class Tally:
    """The bot's calls that showed something, or should have."""

    by_name: Mapping[str, int]
    refused: int
    """Answered with 429."""
    ambiguous_sends: int
    """Sends that the bot got no answer for."""

    @property
    def calls(self) -> int:
        """How many there were."""
        return sum(self.by_name.values())


class Simulator(Protocol):
    """What all simulated platforms offer to whoever looks on."""

    async def online(self) -> None:
        """Wait until the bot is connected."""
        ...

    async def until(self, condition: Callable[[], bool], seconds: float) -> object:
        """Wait until ``condition`` holds, which is asked after every change. Raises TimeoutError."""
        ...


class Scene(Protocol):
    """One simulated platform. Questions go by their number, and each has a place of its own."""

    @property
    def sim(self) -> Simulator: ...

    @property
    def address(self) -> Address: ...

    def ask(self, number: int, text: str) -> None:
        """Post a question."""
        ...

    def seen(self, number: int) -> Seen:
        """All that was to be seen of a question and its answer until now."""
        ...

    def tally(self) -> Tally:
        """The bot's calls until now."""
        ...


class DiscordScene:
    """A guild's channel for each question."""

    def __init__(self, sim: SimDiscord, places: int) -> None:
        self.sim = sim
        self.places = [sim.add_channel(f"room-{number}") for number in range(places)]
        self._people = [sim.add_user(f"person-{number}") for number in range(places)]
        self._questions: dict[int, Post] = {}

    @property
    def address(self) -> Address:
        options = {"api_url": self.sim.rest_url, "gateway_url": self.sim.gateway_url}
        return Address(self.sim.token, options, frozenset(person.id for person in self._people))

    def ask(self, number: int, text: str) -> None:
        self._questions[number] = self.sim.say(self.places[number], text, user=self._people[number])

    def seen(self, number: int) -> Seen:
        answers = self.sim.answers(self.places[number])
        parts = tuple(tuple(Look(one.at, _read(one.text, one.files)) for one in post.history) for post in answers)
        return Seen(self._questions[number].history[0].at, parts, self.sim.clock.now())

    def tally(self) -> Tally:
        calls = [call for call in self.sim.calls if call.name in SHOWING]
        return Tally(
            Counter(call.name for call in calls),
            refused=sum(call.status == 429 for call in self.sim.calls),
            ambiguous_sends=sum(call.status == 0 and call.name in SENDS for call in calls),
        )


class TelegramScene:
    """A private chat for each question, or a group in which the bot is mentioned; ``drafts``: answers grow as such."""

    def __init__(self, sim: SimTelegram, places: int, *, groups: bool = False, drafts: bool = False) -> None:
        self.sim = sim
        self._drafts = drafts
        self._people = range(1001, 1001 + places)
        self.places = [sim.group(-person) if groups else person for person in self._people]
        self._mention = f"@{sim.bot.username} " if groups else ""
        self._questions: dict[int, Shown] = {}

    @property
    def address(self) -> Address:
        options = {"base_url": self.sim.url, "drafts": self._drafts}
        return Address(self.sim.token, options, frozenset(self._people))

    def ask(self, number: int, text: str) -> None:
        self._questions[number] = self.sim.say(self.places[number], f"{self._mention}{text}", user=self._people[number])

    def seen(self, number: int) -> Seen:
        place, now = self.places[number], self.sim.clock.now()
        messages = [[Look(one.at, _told(one)) for one in shown.looks] for shown in self.sim.answers(place)]
        drafts = [look for draft in self.sim.drafts(place) for look in _lived(draft, now)]
        return Seen(self._questions[number].at, with_drafts(messages, drafts), now)

    def tally(self) -> Tally:
        calls = [call for call in self.sim.calls if call.method in SHOWING]
        return Tally(
            Counter(call.method for call in calls),
            refused=sum(call.verdict is Verdict.LIMITED for call in self.sim.calls),
            ambiguous_sends=sum(call.code == 0 and call.method in SENDS for call in calls),
        )


def with_drafts(messages: Sequence[Sequence[Look]], drafts: Sequence[Look]) -> tuple[tuple[Look, ...], ...]:
    """The looks of each message, with those of the drafts that it was before it was posted.

    A draft that is no message yet is one more part.
    """
    parts: list[tuple[Look, ...]] = []
    begun = -inf
    for looks in messages:
        posted = looks[0].at
        parts.append((*(draft for draft in drafts if begun <= draft.at < posted), *looks))
        begun = posted
    growing = tuple(draft for draft in drafts if draft.at >= begun)
    return (*parts, growing) if any(look.text for look in growing) else tuple(parts)


def _lived(draft: Draft, now: float) -> Iterator[Look]:
    """What the draft showed, and that it was gone where nothing took its place."""
    yield Look(draft.at, draft.text)
    if draft.ended_at is None and not draft.shown(now):
        yield Look(draft.at + DRAFT_LIFE, "")


def _told(look: TelegramLook) -> str:
    return _read(look.text, ((look.file.name, look.file.data),) if look.file else ())


def _read(text: str, files: Sequence[tuple[str, bytes]]) -> str:
    """What a message tells of an answer: its text and its file, but not the words that point at the file."""
    said = "" if letters(text) == letters(REST) else text
    return "\n".join((said, *(data.decode(errors="replace") for _, data in files)))


@asynccontextmanager
async def open_scene(platform: Platform, *, places: int, rtt: float) -> AsyncIterator[Scene]:
    """The scene of a platform, being served; ``rtt`` is the round trip of every call in seconds."""
    if platform == "discord":
        async with SimDiscord(rtt=rtt) as discord:
            yield DiscordScene(discord, places)
    else:
        groups, drafts = platform == "telegram-groups", platform == "telegram-drafts"
        # A bot that is to answer when it is mentioned has its privacy mode off.
        async with SimTelegram(rtt=rtt, privacy=not groups) as telegram:
            yield TelegramScene(telegram, places, groups=groups, drafts=drafts)
