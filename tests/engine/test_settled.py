"""While an engine is up garbage is looked for seldom, and the database's threads need not wait long for the loop's."""

import gc
import sys

import pytest

from clawdbot.engine.settled import SWITCH, THRESHOLDS, Settled
from clawdbot.testing.clock import ManualClock
from clawdbot.testing.engine import ScriptedEngine, opened
from clawdbot.testing.rig import echo


async def test_what_is_loaded_is_not_looked_through_while_the_engine_is_up(clock: ManualClock) -> None:
    """A full look at all modules would hold the loop; when the engine is gone everything is as it was."""
    usual = gc.get_threshold()
    engine = ScriptedEngine(echo, clock)

    async with Settled().around(lambda: opened(engine))() as up:
        during = (up, gc.get_freeze_count() > 10_000, gc.get_threshold())

    assert during == (engine, True, THRESHOLDS)
    assert (gc.get_freeze_count(), gc.get_threshold()) == (0, usual)


async def test_threads_take_turns_quickly_while_the_engine_is_up(clock: ManualClock) -> None:
    """A statement of the database must not wait 5 ms for a busy event loop, twice."""
    usual = sys.getswitchinterval()

    async with Settled().around(lambda: opened(ScriptedEngine(echo, clock)))():
        during = sys.getswitchinterval()

    assert during == pytest.approx(SWITCH)
    assert sys.getswitchinterval() == usual


async def test_the_last_of_several_engines_leaves_everything_as_it_was(clock: ManualClock) -> None:
    """In whichever order they go: one that dies must not let the others' loop be held up."""
    usual, settled = (gc.get_threshold(), sys.getswitchinterval()), Settled()
    first, second = (settled.around(lambda: opened(ScriptedEngine(echo, clock)))() for _ in range(2))

    await first.__aenter__()
    await second.__aenter__()
    await first.__aexit__(None, None, None)
    during = (gc.get_threshold(), gc.get_freeze_count() > 10_000)
    await second.__aexit__(None, None, None)

    assert during == (THRESHOLDS, True)
    assert (gc.get_threshold(), sys.getswitchinterval(), gc.get_freeze_count()) == (*usual, 0)
