"""``clawdbot bench delivery``: what a person sees, and when, of answers that an engine writes by a script.

The whole bot runs, with its real adapters and the platforms' own SDKs, over real HTTP and WebSocket against a
simulated platform in another process. What the platform saw is held against what the engine wrote; the bot is not
asked. Then a minimal bot, which does nothing but show text, answers the same questions.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import SecretStr

from clawdbot import plugins
from clawdbot.app import open_app, serve
from clawdbot.bench.delivery.ideal import open_ideal
from clawdbot.bench.delivery.stage import Play, Record, open_stage
from clawdbot.bench.measures import NOTHING, Figures, Written, measure
from clawdbot.bench.scenes import Address, Platform, Tally
from clawdbot.bench.trace import Trace, asked
from clawdbot.clock import SystemClock
from clawdbot.engine.protocol import Request
from clawdbot.latency.timing import Summary, summary
from clawdbot.settings.config import AdapterTable, Allowed, SessionSettings, Settings, StoreSettings
from clawdbot.testing.engine import Script, ScriptedEngine, opened


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one bot achieved on one platform: the figures of every answer, and its calls."""

    figures: Sequence[Figures]
    tally: Tally

    @property
    def maps(self) -> dict[str, Summary]:
        """Percentiles over all answers, in seconds."""
        return {
            "to_engine": summary(one.to_engine for one in self.figures),
            "added_first_visible": summary(one.added_first_visible for one in self.figures),
            "tax": summary(one.tax for one in self.figures),
            "staleness": summary(one.staleness for one in self.figures),
            "freeze": summary(one.freeze for one in self.figures),
            "finish_lag": summary(one.finish_lag for one in self.figures),
        }

    @property
    def counts(self) -> dict[str, int]:
        """What was counted over all answers."""
        return {
            "calls": self.tally.calls,
            "refused": self.tally.refused,
            "lost": sum(one.lost for one in self.figures),
            "duplicated": sum(one.duplicated for one in self.figures),
            "ambiguous_sends": self.tally.ambiguous_sends,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """The bot and the minimal bot on one platform."""

    bot: Outcome
    ideal: Outcome

    def to_map(self) -> dict[str, object]:
        """As it stands in the JSON file."""
        own = {name: one.to_map() for name, one in self.bot.maps.items()}
        ideal = {f"ideal_{name}": one.to_map() for name, one in self.ideal.maps.items()}
        return {**own, **self.bot.counts, **ideal, **{f"ideal_{k}": v for k, v in self.ideal.counts.items()}}


async def compare(platform: Platform, trace: Trace, *, rtt: float, settling: float = 2.0) -> Comparison:
    """Let both bots answer the same questions, one bot after the other. Times in seconds; see `Play`."""
    play = Play(platform, trace, rtt, settling)
    return Comparison(await _bot(play), await _ideal(play))


async def _bot(play: Play) -> Outcome:
    engine = _engine(play.trace)
    async with open_stage(play) as stage:
        with TemporaryDirectory(prefix="clawdbot-bench-") as folder:
            settings = _settings(play, stage.address, Path(folder))
            async with _serving(settings, engine):
                record = await stage.play()
    return _outcome(play.trace, engine, record)


async def _ideal(play: Play) -> Outcome:
    engine = _engine(play.trace)
    async with open_stage(play) as stage, open_ideal(play.platform, stage.address, engine):
        record = await stage.play()
    return _outcome(play.trace, engine, record)


@asynccontextmanager
async def _serving(settings: Settings, engine: ScriptedEngine) -> AsyncIterator[None]:
    """Run the bot as ``clawdbot run`` does until the end of the block."""
    clock = SystemClock()
    stop = asyncio.Event()
    adapters = plugins.build(settings, plugins.installed())
    async with open_app(settings, lambda: opened(engine), clock, lambda timing: None) as app:
        serving = asyncio.create_task(serve(app, adapters, clock, stop, settings.sessions.drain))
        try:
            yield
        finally:
            stop.set()
            await serving


def _settings(play: Play, address: Address, folder: Path) -> Settings:
    adapter = play.platform.partition("-")[0]
    table = AdapterTable("the bench", address.options, SecretStr(address.token))
    at_once = SessionSettings().concurrent
    return Settings(
        sessions=SessionSettings(concurrent=max(at_once, len(play.trace.questions))),
        access={adapter: Allowed(users=address.people)},
        store=StoreSettings(path=folder / "clawdbot.sqlite3"),
        adapters={adapter: table},
    )


def _engine(trace: Trace) -> ScriptedEngine:
    questions = {question.number: question for question in trace.questions}

    def script(request: Request) -> Script:
        return Script(questions[asked(request.prompt)].tokens, trace.first, trace.gap)

    return ScriptedEngine(script, SystemClock())


def _outcome(trace: Trace, engine: ScriptedEngine, record: Record) -> Outcome:
    asked_at = {asked(request.prompt): engine.asked_at[request.id] for request in engine.requests}
    figures = []
    for question in trace.questions:
        if question.number in asked_at:
            written = Written(asked_at[question.number], question.tokens, trace.first, trace.gap)
            figures.append(measure(written, record.seen[question.number]))
        else:
            figures.append(NOTHING)
    return Outcome(figures, record.tally)
