"""Engines of a bot that is gone: they would hold gigabytes of memory until somebody ends them."""

import contextlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import psutil

from clawdbot.engine.process import PARENT
from clawdbot.ops.doctor.finding import Finding, ok, warn

TITLE = "VLLM::"
"""How vLLM's processes call themselves. The title is written over the environment, which then tells no owner."""
REAPERS = {"systemd", "init", "tini", "docker-init", "dumb-init", "catatonit"}
"""What takes up processes whose parent has ended."""


@dataclass(frozen=True, slots=True)
class Running:
    """A process that may be an engine's."""

    pid: int
    title: str
    owner: int | None
    """The bot that it says to belong to."""
    orphan: bool
    """Whether the process that made it is gone: what takes up orphans is its parent."""


def leftovers(about: str, processes: Iterable[Running], alive: Collection[int]) -> Finding:
    """Whether engines of bots that are gone still hold memory; ``alive`` are the numbers of all processes."""
    left = [process.pid for process in processes if _left(process, alive)]
    if left:
        numbers = " ".join(map(str, sorted(left)))
        return warn(about, f"Engines of a bot that is gone still hold memory: {numbers}.", f"End them: kill {numbers}")
    return ok(about, "No engine of an earlier bot is left over.")


def _left(process: Running, alive: Collection[int]) -> bool:
    if process.owner is not None:
        return process.owner not in alive
    return process.orphan and process.title.startswith(TITLE)


def running() -> list[Running]:
    """The processes of this machine that this user may look at."""
    found: list[Running] = []
    for process in psutil.process_iter():
        # One that ends meanwhile, or is somebody else's, is none of ours.
        with contextlib.suppress(psutil.Error), process.oneshot():
            found.append(_running(process))
    return found


def _running(process: psutil.Process) -> Running:
    owner = process.environ().get(PARENT, "")
    parent = process.parent()
    orphan = parent is None or parent.name() in REAPERS
    title = " ".join(process.cmdline()).strip(" \0")
    return Running(process.pid, title, int(owner) if owner.isdecimal() else None, orphan)
