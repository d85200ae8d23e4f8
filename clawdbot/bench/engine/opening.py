"""The engine that a bench measures: a model by name, or a shape without weights."""

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from clawdbot.bench.engine.policies import Machine, Policy, start
from clawdbot.bench.engine.shapes import DUMMY, SHAPES, ShapeName, write
from clawdbot.engine import models
from clawdbot.engine.arguments import Profile
from clawdbot.engine.progress import Lines
from clawdbot.engine.vllm import VllmEngine, open_vllm
from clawdbot.ops.meter import read_nvml


def this_machine() -> Machine:
    """What the driver says."""
    gpus = read_nvml(())
    return Machine(gpus[0].memory_total if gpus else 0)


@asynccontextmanager
async def opened(
    model: str | ShapeName, policy: Policy, machine: Machine, profile: Profile
) -> AsyncIterator[VllmEngine]:
    """The engine for ``model``, started as ``policy`` wants it. Raises `EngineUnavailable`."""
    wanted = start(policy, machine, profile)
    async with started(model, "auto", wanted.args, wanted.profile) as engine:
        yield engine


@asynccontextmanager
async def started(
    model: str | ShapeName, device: str, args: Mapping[str, Any], profile: Profile
) -> AsyncIterator[VllmEngine]:
    """The engine for ``model`` with these arguments.

    A shape's folder lies among temporary files until the end of the block. Raises `EngineUnavailable`.
    """
    async with AsyncExitStack() as stack:
        if isinstance(model, ShapeName):
            above = stack.enter_context(TemporaryDirectory(prefix="clawdbot-bench-"))
            path, args = str(write(SHAPES[model], Path(above, model))), {**args, **DUMMY}
        else:
            path = models.resolve(model, Lines(sys.stderr))
        yield await stack.enter_async_context(open_vllm(path, device, args, profile))
