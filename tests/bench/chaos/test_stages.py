"""The stages with real adapters, and with real processes, in small."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from clawdbot.bench.chaos.bot import Orders
from clawdbot.bench.chaos.kill import Cast, run_kills
from clawdbot.bench.chaos.scenes import open_chaos
from clawdbot.bench.chaos.sdk import run_sdk
from clawdbot.bench.chaos.victim import Victim
from clawdbot.errors import AdapterError
from clawdbot.testing.waiting import polled

KILLS = 2


async def test_answers_through_the_real_sdks_stand_faults(tmp_path: Path) -> None:
    told: list[int] = []

    found = await run_sdk(8, 3, 0.3, tmp_path, told.append, settling=0.3)

    assert (found.answers, found.clean, found.suspects) == (8, True, ())
    assert sum(found.faults.values()) > 3
    assert told[-1] == 8


async def test_answers_stand_a_killed_process(tmp_path: Path) -> None:
    told: list[int] = []

    found = await run_kills(KILLS, 3, tmp_path, told.append, settling=0.3)

    assert (found.answers, found.clean, found.suspects) == (5 * KILLS, True, ())
    assert sum(many for kind, many in found.faults.items() if kind.startswith("kill_")) == KILLS
    assert told == [1, 2]


@pytest.mark.parametrize("deaf", [False, True])
async def test_an_engine_process_that_outlives_its_bot_is_counted(
    tmp_path: Path, deaf: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped process cannot notice that its bot is dead."""
    monkeypatch.setattr("clawdbot.bench.chaos.victim.ENGINE_GONE", 10.0 if not deaf else 0.3)
    async with open_chaos("telegram", None, 1, 0.0) as scene:
        orders = Orders(
            {"telegram": scene.address}, {"telegram": scene.allowed}, tmp_path / "bot.sqlite3", Cast(1, "telegram")
        )
        victim = await Victim.start(orders)
        await scene.online()
        engines = await engine_of(victim)
        if deaf:
            os.kill(engines.pid, signal.SIGSTOP)

        left = await victim.kill()

        assert left == deaf
        if deaf:
            engines.kill()


async def test_a_bot_that_ends_by_itself_is_told_apart_from_a_killed_one(tmp_path: Path) -> None:
    victim = await Victim.start(Orders({}, {}, tmp_path, Cast(1, "telegram")))  # a folder is no database
    await polled(lambda: not victim.alive)

    with pytest.raises(AdapterError):
        await victim.kill()


async def engine_of(victim: Victim) -> psutil.Process:
    (engine,) = await polled(psutil.Process(victim.pid).children)
    return engine
