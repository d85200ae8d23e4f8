"""The engine that a bench measures: a model by name, or a shape without weights."""

import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
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
    """The engine for ``model`` with these arguments. Raises `EngineUnavailable`."""
    with located(model) as (path, loading):
        async with open_vllm(path, device, {**args, **loading}, profile) as engine:
            yield engine


@contextmanager
def located(model: str | ShapeName) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The folder of ``model``, or its name on the hub, and the engine's arguments for how it is loaded.

    A shape's folder lies among temporary files until the end of the block. Raises `EngineUnavailable`.
    """
    if isinstance(model, ShapeName):
        with TemporaryDirectory(prefix="clawdbot-bench-") as above:
            yield str(write(SHAPES[model], Path(above, model))), DUMMY
    else:
        yield models.resolve(model, Lines(sys.stderr)), {}
