"""The simulated Discord as a platform on which every adapter's contract can be checked."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from clawdbot.chat import Adapter
from clawdbot.testing.contract import Ability
from clawdbot.testing.discord.records import Channel, Post
from clawdbot.testing.discord.server import SimDiscord
from clawdbot.testing.faults import Fault, Trouble


class DiscordHarness:
    """A `Harness`: ``build`` makes the adapter for a simulated Discord; ``buttons``: its controls by how ids begin.

    Place 0 is a guild's channel, 1 a thread under it, 2 a private chat.
    """

    can = frozenset(Ability)

    def __init__(
        self, build: Callable[[SimDiscord], Adapter], buttons: dict[str, str], sim: SimDiscord | None = None
    ) -> None:
        self._build = build
        self._buttons = buttons
        self.sim = sim or SimDiscord()
        self._places: list[Channel] = []

    async def __aenter__(self) -> Self:
        await self.sim.__aenter__()
        sim = self.sim
        self._places = [sim.channel, sim.add_thread(sim.channel, "birds"), sim.private()]
        self.adapter = self._build(sim)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.sim.__aexit__(kind, error, trace)

    async def online(self) -> None:
        await self.sim.online()

    def say(self, text: str, place: int = 0) -> None:
        self.sim.say(self._places[place], text)

    def send_file(self, text: str, name: str, data: bytes, place: int = 0) -> None:
        self.sim.say(self._places[place], text, files={name: data})

    def screen(self, place: int = 0) -> list[str]:
        return [post.text for post in self.sim.answers(self._places[place])]

    def controls(self, place: int = 0) -> list[str]:
        shown = self._last(place).now.buttons
        return [name for button in shown for start, name in self._buttons.items() if f"{button}:".startswith(start)]

    def press(self, control: str, place: int = 0) -> None:
        button = next(key for key, value in self._buttons.items() if value == control)
        self.sim.press(self._last(place), button)

    def refuse(self, seconds: float) -> None:
        self.sim.faults.add("PATCH message", Fault(Trouble.LIMITED, seconds))

    def delete(self, place: int = 0) -> None:
        self.sim.delete_question(self._last(place))

    async def until(self, condition: Callable[[], bool]) -> None:
        await self.sim.until(condition)

    def _last(self, place: int) -> Post:
        return self.sim.answers(self._places[place])[-1]
