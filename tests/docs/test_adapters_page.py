"""The example of docs/adapters.md, as it stands there."""

import asyncio
import itertools
import json
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import SecretStr

from clawdbot.app import open_app, serve
from clawdbot.chat import Adapter, Plugin
from clawdbot.clock import SystemClock
from clawdbot.settings.config import Allowed, AnswerSettings, Settings, StoreSettings
from clawdbot.testing.contract import CHECKS, Ability, Check, running
from clawdbot.testing.engine import ScriptedEngine, opened
from clawdbot.testing.rig import echo
from clawdbot.testing.waiting import patience, polled

PAGE = Path(__file__).parents[2] / "docs" / "adapters.md"
TOKEN = "made up"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    """The page's one block of Python as a module."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    module = ModuleType("clawdbot_lines")
    exec(compile(code, str(PAGE), "exec"), module.__dict__)
    return module


class LinesHarness:
    """Two rooms with a client in each, which says and sees everything."""

    can = frozenset({Ability.PLACES, Ability.CONTROLS, Ability.LIMIT, Ability.RETURN})

    def __init__(self, example: ModuleType) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        plugin: Plugin = example.plugin
        self.adapter: Adapter = plugin.build(plugin.settings(token=SecretStr(TOKEN), port=self.port))
        self._writers: list[asyncio.StreamWriter] = []
        self._posts: list[dict[str, dict[str, Any]]] = [{}, {}]
        """What each client sees: the latest of every post."""
        self._news = asyncio.Event()
        self._reading: list[asyncio.Task[None]] = []
        self._numbers = itertools.count()

    async def online(self) -> None:
        self.close()
        for room in range(2):
            reader, writer = await self._connect()
            self._writers.append(writer)
            self._tell(room, room=room, token=TOKEN, person=1, name="ada")
            self._reading.append(asyncio.create_task(self._read(reader, self._posts[room])))

    def say(self, text: str, place: int = 0) -> None:
        self._tell(place, id=str(next(self._numbers)), say=text)

    def screen(self, place: int = 0) -> list[str]:
        return [post["text"] for post in self._posts[place].values()]

    def controls(self, place: int = 0) -> list[str]:
        return [control for post in list(self._posts[place].values())[-1:] for control in post["controls"]]

    def press(self, control: str, place: int = 0) -> None:
        self._tell(place, press=control, post=list(self._posts[place])[-1])

    def refuse(self, seconds: float) -> None:
        raise NotImplementedError("A room refuses nothing.")

    def delete(self, place: int = 0) -> None:
        raise NotImplementedError("Nothing can be removed from a room.")

    async def until(self, condition: Callable[[], bool]) -> None:
        async with patience(10, lambda: self._posts):
            while not condition():
                self._news.clear()
                await self._news.wait()

    def close(self) -> None:
        """Let both clients leave."""
        for reading in self._reading:
            reading.cancel()
        for writer in self._writers:
            writer.close()
        self._reading.clear()
        self._writers.clear()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await polled(self._try_to_connect)

    async def _try_to_connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """None while it does not listen yet."""
        try:
            return await asyncio.open_connection("127.0.0.1", self.port)
        except ConnectionRefusedError:
            return None

    def _tell(self, place: int, **told: object) -> None:
        self._writers[place].write(json.dumps(told).encode() + b"\n")

    async def _read(self, reader: asyncio.StreamReader, posts: dict[str, dict[str, Any]]) -> None:
        while line := await reader.readline():
            post = json.loads(line)
            posts[post["post"]] = post
            self._news.set()


@asynccontextmanager
async def lines(example: ModuleType) -> AsyncIterator[LinesHarness]:
    harness = LinesHarness(example)
    try:
        yield harness
    finally:
        harness.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_example_keeps_the_contract(example: ModuleType, check: Check) -> None:
    async with lines(example) as harness:
        if not CHECKS[check] <= harness.can:
            pytest.skip("the platform cannot do that")
        await check(harness)


async def test_the_example_carries_a_whole_answer(example: ModuleType, tmp_path: Path) -> None:
    """From a line to the bot and back, with a second client that sees it, too."""
    settings = Settings(
        answers=AnswerSettings(system_prompt=""),
        access={"lines": Allowed(users=frozenset({1}))},
        store=StoreSettings(path=tmp_path / "clawdbot.sqlite3"),
    )
    clock, stop = SystemClock(), asyncio.Event()
    engine = ScriptedEngine(echo, clock)
    async with lines(example) as harness, open_app(settings, lambda: opened(engine), clock, lambda timing: None) as app:
        serving = asyncio.create_task(serve(app, {"lines": harness.adapter}, clock, stop, 0.0))
        await harness.online()
        harness.say("Hello")
        await harness.until(lambda: harness.screen() == ["You said: ada: Hello"])
        assert harness.screen(1) == []
        stop.set()
        await serving


async def test_who_does_not_know_the_token_hears_and_says_nothing(example: ModuleType) -> None:
    async with lines(example) as harness, running(harness) as ears:
        reader, writer = await asyncio.open_connection("127.0.0.1", harness.port)
        writer.write(b'{"room": 0, "token": "guessed", "person": 1}\n{"id": "1", "say": "Hello"}\n')
        assert await reader.read() == b""
        assert ears.heard == []
        writer.close()
