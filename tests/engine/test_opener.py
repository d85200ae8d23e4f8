"""Which engine the settings ask for."""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from clawdbot.clock import SystemClock
from clawdbot.engine.opener import Openers, opener, prepare
from clawdbot.engine.progress import silent
from clawdbot.engine.remote.settings import RemoteSettings
from clawdbot.engine.settings import EngineSettings
from clawdbot.errors import EngineUnavailable
from clawdbot.settings.config import Settings
from clawdbot.testing.engine import CharacterTokenizer, Script, ScriptedEngine
from clawdbot.testing.rig import echo
from clawdbot.testing.serving import SimVllm

WITHOUT_VLLM = """
import asyncio, sys
from importlib.machinery import PathFinder

class Hiding(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in ("vllm", "torch") else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Hiding

from clawdbot.cli import main
from clawdbot.clock import SystemClock
from clawdbot.engine.settings import EngineSettings
from clawdbot.engine.opener import opener
from clawdbot.engine.remote.settings import RemoteSettings
from clawdbot.testing.engine import Script
from clawdbot.testing.serving import SimVllm

async def talk():
    async with SimVllm(lambda request: Script(["Hello."])) as sim:
        remote = RemoteSettings(endpoints=(sim.url,), tokenizer=sys.argv[1])
        async with opener(EngineSettings(kind="remote", remote=remote), SystemClock())() as engine:
            print(engine.info.model, await engine.tokenizer.encode("Hello"))

try:
    asyncio.run(talk())
finally:
    print(*{"vllm", "torch"} & set(sys.modules))
"""


def test_a_remote_engine_brings_no_model_to_this_machine() -> None:
    prepare(EngineSettings(kind="remote", model="/no/such/folder"), silent)

    with pytest.raises(EngineUnavailable):
        prepare(EngineSettings(model="/no/such/folder"), silent)


async def test_servers_have_the_time_of_a_start_to_appear() -> None:
    async with SimVllm(lambda request: Script(["Hello."])) as sim:
        sim.ill = True
        remote = RemoteSettings(endpoints=(sim.url,), health_interval=0.02)
        settings = EngineSettings(kind="remote", remote=remote, start_timeout=0.1)
        with pytest.raises(EngineUnavailable, match="did not start within"):
            await opener(settings, SystemClock())().__aenter__()


@pytest.mark.engine
def test_a_bot_whose_engine_is_elsewhere_needs_neither_vllm_nor_torch(tmp_path: Path) -> None:
    """Only the model's tokenizer; here it disagrees with the simulated server's, which is as far as it has to come."""
    from clawdbot.engine import models

    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_VLLM, models.resolve("demo")], capture_output=True, text=True, check=False
    )

    assert "tokenizes otherwise than the tokenizer here" in ran.stderr
    assert ran.stdout == "\n"


async def test_engines_in_the_bot_start_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM measures the free memory while it starts: two at a time would take each other's."""
    starting, seen = 0, []

    @asynccontextmanager
    async def open_slowly(*chosen: object, **options: object) -> AsyncIterator[ScriptedEngine]:
        nonlocal starting
        starting += 1
        for _ in range(20):
            await asyncio.to_thread(lambda: None)
            seen.append(starting)
        starting -= 1
        yield ScriptedEngine(echo, SystemClock())

    monkeypatch.setattr("clawdbot.engine.opener.open_vllm", open_slowly)
    monkeypatch.setattr("clawdbot.engine.models.resolve", lambda name, progress: name)
    default, others = Openers(SystemClock()).all(Settings(models={"large": EngineSettings(), "huge": EngineSettings()}))
    async with AsyncExitStack() as stack:
        await asyncio.gather(*(stack.enter_async_context(opened()) for opened in (default, *others.values())))

    assert set(seen) == {1}


async def test_one_that_wakes_waits_for_one_that_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """They have one lock for the memory, held for the whole start and free again after it."""
    held: list[bool] = []
    locks: list[asyncio.Lock] = []

    @asynccontextmanager
    async def open_vllm(*chosen: object, memory: asyncio.Lock, **options: object) -> AsyncIterator[ScriptedEngine]:
        locks.append(memory)
        held.append(memory.locked())
        yield ScriptedEngine(echo, SystemClock())

    monkeypatch.setattr("clawdbot.engine.opener.open_vllm", open_vllm)
    monkeypatch.setattr("clawdbot.engine.models.resolve", lambda name, progress: name)
    default, others = Openers(SystemClock()).all(Settings(models={"large": EngineSettings()}))
    async with default(), others["large"]():
        held.append(locks[0].locked())

    assert locks[0] is locks[1]
    assert held == [True, True, False]


@pytest.mark.parametrize(
    ("at", "named"), [("engine", "[engine] start_timeout"), ("models.a", "[models.a] start_timeout")]
)
async def test_what_to_mend_is_named_by_its_table(at: str, named: str) -> None:
    async with SimVllm(lambda request: Script(["Hello."])) as sim:
        sim.ill = True
        remote = RemoteSettings(endpoints=(sim.url,), health_interval=0.02)
        settings = EngineSettings(kind="remote", remote=remote, start_timeout=0.1)
        with pytest.raises(EngineUnavailable) as caught:
            await Openers(SystemClock()).opener(settings, at)().__aenter__()

    assert named in caught.value.remedy


async def test_tokenizers_are_loaded_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that import transformers at the same time: one finds it half there, and its model would be down."""
    loading, seen = 0, []

    def load(name: str) -> CharacterTokenizer:
        nonlocal loading
        loading += 1
        for _ in range(20):
            time.sleep(0.001)  # as an import does, it lets other threads work
            seen.append(loading)
        loading -= 1
        return CharacterTokenizer()

    monkeypatch.setattr("clawdbot.engine.opener.load_tokenizer", load)
    async with SimVllm(lambda request: Script(["Hello."])) as sim, AsyncExitStack() as stack:
        remote = EngineSettings(kind="remote", remote=RemoteSettings(endpoints=(sim.url,)))
        default, others = Openers(SystemClock()).all(Settings(engine=remote, models={"a": remote, "b": remote}))
        await asyncio.gather(*(stack.enter_async_context(opened()) for opened in (default, *others.values())))

    assert set(seen) == {1}
