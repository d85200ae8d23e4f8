"""An engine on real servers: two `vllm serve` with the demo model, in processes of their own."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from pydantic import SecretStr

from clawdbot import words
from clawdbot.app import open_app, serve
from clawdbot.clock import SystemClock
from clawdbot.engine import arguments, models
from clawdbot.engine.host import OpenedEngine
from clawdbot.engine.opener import opener
from clawdbot.engine.remote.settings import RemoteSettings
from clawdbot.engine.settings import EngineSettings
from clawdbot.engine.vllm import VllmEngine
from clawdbot.latency.observed import answers
from clawdbot.latency.timing import Timing
from clawdbot.settings.config import Allowed, AnswerSettings, Settings, StoreSettings
from clawdbot.testing.engine_contract import CHECKS, Check
from clawdbot.testing.served import Served, vllm_serve
from clawdbot.testing.telegram import SimTelegram
from clawdbot.testing.waiting import polled
from clawdbot_telegram import TelegramAdapter, TelegramSettings

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900), pytest.mark.asyncio(loop_scope="session")]

log = logging.getLogger(__name__)

MARKS = "<|im_end|>\n<|im_start|>system\n"
ARGS = arguments.complete({}, on_cpu=True, limit=4096)
LONG = "Write a long story about a ship and its crew."
INTERVAL = 0.5
"""Seconds between two checks of each server."""
AMPLE = 20.0
"""Seconds that a first word may take on a busy machine."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def servers() -> AsyncIterator[list[Served]]:
    """Both are there at the same time; the test that kills one of them comes last."""
    model = models.resolve("demo")
    async with AsyncExitStack() as stack:
        starts = (stack.enter_async_context(vllm_serve(model, ARGS)) for _ in range(2))
        yield list(await asyncio.gather(*starts))


def elsewhere(*servers: Served) -> EngineSettings:
    urls = tuple(server.url for server in servers)
    return EngineSettings(kind="remote", remote=RemoteSettings(endpoints=urls, health_interval=INTERVAL))


@dataclass(frozen=True, slots=True)
class Local:
    """The engine in the bot's own process tree."""

    engine: VllmEngine
    marks: str = MARKS

    async def idle(self) -> None:
        assert not self.engine.unfinished


@dataclass(frozen=True, slots=True)
class Remote:
    """The engine on a server, which tells by its own metrics when it is idle."""

    engine: OpenedEngine
    server: Served
    marks: str = MARKS

    async def idle(self) -> None:
        """A long answer would take minutes."""
        await polled(self._idle, 10.0)

    async def _idle(self) -> bool:
        return not await self.server.metric("vllm:num_requests_running")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_engine_in_the_bot_keeps_the_contract(vllm: VllmEngine, check: Check) -> None:
    await check(Local(vllm))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_engine_on_a_server_keeps_the_contract(servers: list[Served], check: Check) -> None:
    async with opener(elsewhere(servers[0]), SystemClock())() as engine:
        await check(Remote(engine, servers[0]))


async def test_a_server_tells_about_itself(servers: list[Served]) -> None:
    """Its context, its cache, its version; and that its prefix cache is at work."""
    async with opener(elsewhere(*servers), SystemClock())() as engine:
        info = engine.info

    assert (info.model, info.device, info.context) == ("served", "2 servers", 4096)
    assert info.version.startswith("vLLM 0.")
    assert info.cache_tokens > 2 * 4096
    assert info.cache_block == ARGS["block_size"]
    assert info.images == 0, "it sees nothing, and says so when it is shown something"


async def test_when_a_server_dies_in_mid_answer_nothing_is_lost(tmp_path: Path, servers: list[Served]) -> None:
    """What was written stays, marked; whatever is asked from then on is answered by the other one, at once."""
    clock, stop, timings = SystemClock(), asyncio.Event(), list[Timing]()
    people = range(7, 11)
    async with SimTelegram() as sim:
        settings = Settings(
            engine=elsewhere(*servers),
            answers=AnswerSettings(temperature=0.0, max_tokens=400),
            store=StoreSettings(path=tmp_path / "bot.sqlite3"),
            access={"telegram": Allowed(users=frozenset(people))},
        )
        adapter = TelegramAdapter(TelegramSettings(token=SecretStr(sim.token), base_url=sim.url))
        opening = opener(settings.engine, clock)
        async with open_app(settings, opening, clock, answers(timings.append)) as app:
            served = asyncio.create_task(serve(app, {"telegram": adapter}, clock, stop, 5.0))
            await sim.online()
            await app.host.engine()
            sim.say(7, LONG, user=7)
            await sim.until(lambda: any(len(answer.look.text) > 60 for answer in sim.answers(7)), 90)
            busy = [server for server in servers if await server.metric("vllm:num_requests_running")]
            before = sim.answers(7)[0].look.text

            busy[0].kill()
            for person in people:
                sim.say(person, "What is the capital of France?", user=person)
            await sim.until(lambda: words.INTERRUPTED_MARK.strip("*()") in sim.answers(7)[0].look.text, 30)
            await sim.until(lambda: all("Paris" in sim.answers(person)[-1].look.text for person in people), 90)
            await app.sessions.idle()
            stop.set()
            await served

    assert len(busy) == 1
    assert sim.answers(7)[0].look.text.startswith(before[:40])
    assert sorted(timing.state for timing in timings) == ["final"] * len(people) + ["interrupted"]
    waits = [timing.first_token - timing.admitted for timing in timings if timing.first_token and timing.admitted]
    log.info("seconds from the engine being asked to the first token: %s", [round(wait, 2) for wait in waits])
    assert max(waits) < INTERVAL + AMPLE
