"""The simulated Telegram as a platform on which every adapter's contract can be checked."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from clawdbot.chat import Adapter, Rate
from clawdbot.testing.contract import Ability
from clawdbot.testing.faults import Fault, Trouble
from clawdbot.testing.telegram.files import Sent
from clawdbot.testing.telegram.rules import Allowance
from clawdbot.testing.telegram.sim import SimTelegram
from clawdbot.testing.telegram.world import Shown

PERSON = 7
FORUM = -100
GENEROUS = (Rate(1000, 1.0),)


class TelegramHarness:
    """A `Harness`: ``build`` makes the adapter for a simulated Telegram, which here limits only on demand.

    Place 0 is a private chat, 1 a topic of a forum, 2 its General topic; the bot is mentioned where it has to be, and
    its privacy mode, which would keep mentions back, is off.
    """

    can = frozenset(Ability)

    def __init__(self, build: Callable[[SimTelegram], Adapter]) -> None:
        self._build = build
        self.sim = SimTelegram(allowance=Allowance(private=GENEROUS, group=GENEROUS), privacy=False)
        self._places: list[tuple[int, int]] = []
        """Chat and topic of each place."""

    async def __aenter__(self) -> Self:
        await self.sim.__aenter__()
        self.sim.group(FORUM, forum=True)
        self._places = [(PERSON, 0), (FORUM, self.sim.open_topic(FORUM, PERSON)), (FORUM, 0)]
        self.adapter = self._build(self.sim)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.sim.__aexit__(kind, error, trace)

    async def online(self) -> None:
        await self.sim.online()

    def say(self, text: str, place: int = 0) -> None:
        chat, topic = self._places[place]
        mention = "" if chat == PERSON else f"@{self.sim.bot.username} "
        self.sim.say(chat, mention + text, user=PERSON, topic=topic)

    def send_file(self, text: str, name: str, data: bytes, place: int = 0) -> None:
        chat, topic = self._places[place]
        mention = "" if chat == PERSON else f"@{self.sim.bot.username} "
        self.sim.send(
            chat, Sent("document", name, "text/plain", data), caption=mention + text, user=PERSON, topic=topic
        )

    def screen(self, place: int = 0) -> list[str]:
        return [shown.text for shown in self.sim.answers(*self._places[place])]

    def controls(self, place: int = 0) -> list[str]:
        return [button.partition(":")[0] for button in self._last(place).look.buttons]

    def press(self, control: str, place: int = 0) -> None:
        self.sim.press(self._last(place), control, PERSON)

    def refuse(self, seconds: float) -> None:
        self.sim.faults.add("editMessageText", Fault(Trouble.LIMITED, seconds))

    def delete(self, place: int = 0) -> None:
        self.sim.delete_question(self._last(place))

    async def until(self, condition: Callable[[], bool]) -> None:
        await self.sim.until(condition)

    def _last(self, place: int) -> Shown:
        return self.sim.answers(*self._places[place])[-1]
