"""Which engine the settings ask for."""

import subprocess
import sys
from pathlib import Path

import pytest

from clawdbot.clock import SystemClock
from clawdbot.config import EngineSettings
from clawdbot.engine.opener import opener, prepare
from clawdbot.engine.progress import silent
from clawdbot.engine.remote.settings import RemoteSettings
from clawdbot.errors import EngineUnavailable
from clawdbot.testing.engine import Script
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
from clawdbot.config import EngineSettings
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
