"""``clawdbot bench overhead``: what the whole bot adds to the engine's own time to the first word.

The same engine answers the same kind of question twice, once called with a finished prompt and once through the
console adapter and `Bot.receive`: access, store, session, template and tokenizer, admission, the growing message drawn
as on a terminal. What is drawn goes nowhere, so that no real terminal's time is in it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from clawdbot import plugins
from clawdbot.app import App, open_app
from clawdbot.bench.engine.hearing import Heard, hear
from clawdbot.chat import Conversation, Event, Message, Plugin, Reply
from clawdbot.clock import Clock
from clawdbot.delivery.markdown import showable
from clawdbot.engine.host import OpenedEngine
from clawdbot.engine.protocol import Request, Sampling
from clawdbot.latency.observed import answers
from clawdbot.latency.timing import Summary, Timing, summary
from clawdbot.prompts.prompt import compose, room
from clawdbot.settings.config import AnswerSettings, Settings, StoreSettings

ANSWERS = AnswerSettings(temperature=0.0, max_tokens=8)
"""Short and greedy: only the first word matters."""


@dataclass(frozen=True, slots=True)
class Overhead:
    """Seconds from the question to the first text that a reader can read."""

    raw: Summary
    bot: Summary
    added: Summary
    """Of each pair the bot's time less the engine's own: what both halves of a pair wait for cancels out."""

    def to_map(self) -> dict[str, object]:
        """As it stands in the JSON file."""
        maps = {"raw_ttft": self.raw, "bot_ttft": self.bot, "added": self.added}
        return {**{name: one.to_map() for name, one in maps.items()}, "pairs": self.added.n}


async def compare(engine: OpenedEngine, clock: Clock, pairs: int) -> Overhead:
    """Ask ``pairs`` questions each way, in turns; whoever goes first changes every time.

    ``clock`` has to go with the machine's own: the console adapter brings that one.
    """
    raw: list[float | None] = []
    bot: list[float | None] = []
    with TemporaryDirectory(prefix="clawdbot-bench-") as folder:
        settings = Settings(answers=ANSWERS, store=StoreSettings(path=Path(folder) / "clawdbot.sqlite3"))
        timings: list[Timing] = []
        async with open_app(settings, lambda: _opened(engine), clock, answers(timings.append)) as app:
            console = Console(app, timings)
            await app.host.engine()
            for pair in range(pairs):
                if pair % 2:
                    bot.append(await console.ask(pair))
                    raw.append(await _directly(engine, clock, pair))
                else:
                    raw.append(await _directly(engine, clock, pair))
                    bot.append(await console.ask(pair))
    added = [later - sooner for sooner, later in zip(raw, bot, strict=True) if sooner is not None and later is not None]
    return Overhead(summary(raw), summary(bot), summary(added))


class Screen(StringIO):
    """A terminal that nobody looks at."""

    def isatty(self) -> bool:
        return True


class Console:
    """Somebody at the console of a running bot, who asks one question after the other."""

    def __init__(self, app: App, timings: list[Timing]) -> None:
        """``timings``: those of the bot's answers."""
        self._plugin: Plugin = plugins.load("console", plugins.installed(), "the bench")
        self._bot = app.bot
        self._sessions = app.sessions
        self._timings = timings
        self.screen = Screen()
        """All that was drawn."""

    async def ask(self, pair: int) -> float | None:
        """Seconds from the question to the first text on the screen; None if there was none."""

        async def receive(event: Event, reply: Reply) -> None:
            assert isinstance(event, Message), "a console has no other events"
            # A conversation of its own for each question, so that all prompts are equally long.
            alone = replace(event, conversation=Conversation("console", pair, private=True))
            await self._bot.receive(alone, reply)

        before = len(self._timings)
        with redirect_stdout(self.screen):
            await self._plugin.build(self._plugin.settings(once=question(2 * pair + 1))).run(receive)
        await self._sessions.idle()  # the timing comes when all is stored
        # A failed answer has none, and must not be taken for the one before.
        return self._timings[-1].first_visible if len(self._timings) > before else None


def question(number: int) -> str:
    """A question whose prompt is as long as that of every other number."""
    return f"What is there to know about the number {10_000 + number}?"


def readable(heard: Heard) -> float | None:
    """Seconds until there was text that the bot would show: two characters that a reader sees; None if never."""
    text = ""
    for at, chunk in heard.chunks:
        text += chunk.text
        if showable(text) >= 2:
            return at - heard.asked
    return None


async def _directly(engine: OpenedEngine, clock: Clock, pair: int) -> float | None:
    within = room(engine.info.context, ANSWERS.max_tokens, ANSWERS.history_share)
    made = await compose(engine.tokenizer, ANSWERS.system_prompt, [], question(2 * pair), within)
    sampling = Sampling(ANSWERS.max_tokens, ANSWERS.temperature, ANSWERS.top_p)
    heard = Heard(clock.now())
    await hear(engine, Request(f"raw/{pair}", made.tokens, sampling), heard, clock)
    return readable(heard)


@asynccontextmanager
async def _opened(engine: OpenedEngine) -> AsyncIterator[OpenedEngine]:
    yield engine
